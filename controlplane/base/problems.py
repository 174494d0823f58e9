"""The one shape of errors: application/problem+json (RFC 9457) with a stable code, field errors and translations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise
CONTENT_TYPE = "application/problem+json"
PLACE = re.compile(r"%\((\w+)\)s")

# What a code says when the raiser says nothing; %(name)s come from params.
MESSAGES: dict[str, Text] = {
    "invalid": _("The request is not valid."),
    "malformed": _("The request body is not valid JSON."),
    "not-authenticated": _("Sign in, or send a token."),
    "token-invalid": _("This token is not valid or has expired."),
    "forbidden": _("You may not do this."),
    "not-found": _("There is no such object, or you may not see it."),
    "method-not-allowed": _("This address does not take %(method)s."),
    "not-acceptable": _("This address cannot answer in the format you accept."),
    "unsupported-media-type": _("Send JSON with Content-Type: application/json."),
    "throttled": _("Too many requests. Wait and try again."),
    "too-large": _("The request body is too large."),
    "conflict": _("The object changed in the meantime. Read it again and repeat."),
    "precondition-failed": _("The object changed since you read it (If-Match). Read it again and repeat."),
    "csrf-failed": _("The CSRF token is missing or wrong. Reload the page."),
    "database-unavailable": _("The database is not reachable. Try again in a few seconds."),
    "broker-unavailable": _("The message broker is not reachable. Try again in a few seconds."),
    "internal": _("Something went wrong on the server. It has been logged."),
}


class Fault(StrEnum):
    """What can be wrong with a field of any request: the one table of codes."""

    UNKNOWN_FIELD = "unknown-field"
    REPEATED_FIELD = "repeated-field"
    REQUIRED = "required"
    NULL = "null"
    EMPTY = "empty"
    TYPE = "type"
    FORMAT = "format"
    MIN = "min"
    MAX = "max"
    MIN_LENGTH = "min-length"
    MAX_LENGTH = "max-length"
    CHOICE = "choice"
    CONTROL_CHARACTER = "control-character"
    REPEATED = "repeated"
    NOT_FOUND = "not-found"
    TAKEN = "taken"
    WEAK_PASSWORD = "weak-password"
    WRONG_PASSWORD = "wrong-password"
    POLICY = "policy"
    INVALID = "invalid"


# What a fault says; %(name)s come from the params of `fault`.
FAULT_TEXTS: dict[Fault, Text] = {
    Fault.UNKNOWN_FIELD: _("There is no such field. Remove it or correct its name."),
    Fault.REPEATED_FIELD: _("Stands there more than once. Give it once."),
    Fault.REQUIRED: _("Is missing."),
    Fault.NULL: _("Must not be null."),
    Fault.EMPTY: _("Must not be empty."),
    Fault.TYPE: _("Must be %(expected)s."),
    Fault.FORMAT: _("Is not written as it must be."),
    Fault.MIN: _("Must be at least %(limit)s."),
    Fault.MAX: _("Must be at most %(limit)s."),
    Fault.MIN_LENGTH: _("Must have at least %(limit)s characters or entries."),
    Fault.MAX_LENGTH: _("Must have at most %(limit)s characters or entries."),
    Fault.CHOICE: _("Must be one of: %(options)s."),
    Fault.CONTROL_CHARACTER: _("Contains a control character or one that cannot be seen."),
    Fault.REPEATED: _("Name each once."),
    Fault.NOT_FOUND: _("There is no such object, or you may not see it."),
    Fault.TAKEN: _("Another account has this already."),
    Fault.WEAK_PASSWORD: _("This password is too easy to guess."),
    Fault.WRONG_PASSWORD: _("This is not your password."),
    Fault.POLICY: _("The document is not valid."),
    Fault.INVALID: _("Is not valid."),
}


@dataclass(frozen=True)
class FieldError:
    """What is wrong with one field; `field` is a path such as resources.cores or command[0]."""

    field: str
    code: str
    message: Text


@dataclass(eq=False)
class Problem(Exception):
    """An answer other than success; raised anywhere below a view. An empty message is taken from MESSAGES by code."""

    status: int
    code: str
    message: Text = field(default="", kw_only=True)
    params: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    errors: Iterable[FieldError] = field(default=(), kw_only=True)
    headers: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.detail()}"

    def detail(self) -> str:
        """The message in the language now active, with params filled in."""
        return filled(self.message or MESSAGES.get(self.code, MESSAGES["invalid"]), self.params)

    def body(self) -> dict[str, Any]:
        """The JSON document, in the language now active."""
        return {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "code": self.code,
            "detail": self.detail(),
            "errors": [{"field": e.field, "code": e.code, "message": str(e.message)} for e in self.errors],
            "params": dict(self.params),
        }


def filled(text: Text, params: Mapping[str, Any]) -> str:
    """The text in the language now active, with %(name)s taken from params; what params lack stays as it is."""
    return PLACE.sub(lambda match: str(params.get(match[1], match[0])), str(text))


def fault(field_path: str, code: Fault, **params: Any) -> FieldError:
    """One fault of a field with the sentence of the table, in the language now active."""
    return FieldError(field_path, code, filled(FAULT_TEXTS[code], params))


def invalid(field_path: str, code: Fault, *, message: Text = "", **params: Any) -> Problem:
    """400 about one field; without a message the table speaks."""
    error = FieldError(field_path, code, filled(message or FAULT_TEXTS[code], params))
    return Problem(400, "invalid", errors=[error])


def not_found() -> Problem:
    """404, also for what exists but belongs to a foreign team."""
    return Problem(404, "not-found")


def problem_response(problem: Problem, request: HttpRequest | None = None) -> HttpResponse:
    """The answer for views outside of the REST framework and for middleware."""
    return JsonResponse(
        problem.body(), status=problem.status, content_type=CONTENT_TYPE, headers=dict(problem.headers)
    )

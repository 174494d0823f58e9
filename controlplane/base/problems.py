"""The one shape of errors: application/problem+json (RFC 9457) with a stable code, field errors and translations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
        text = str(self.message or MESSAGES.get(self.code, MESSAGES["invalid"]))
        return PLACE.sub(lambda match: str(self.params.get(match[1], match[0])), text)

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


def invalid(field_path: str, code: str, *, message: Text) -> Problem:
    """400 about one field."""
    return Problem(400, "invalid", errors=[FieldError(field_path, code, message)])


def not_found() -> Problem:
    """404, also for what exists but belongs to a foreign team."""
    return Problem(404, "not-found")


def problem_response(problem: Problem, request: HttpRequest | None = None) -> HttpResponse:
    """The answer for views outside of the REST framework and for middleware."""
    return JsonResponse(
        problem.body(), status=problem.status, content_type=CONTENT_TYPE, headers=dict(problem.headers)
    )

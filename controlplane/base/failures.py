"""Exceptions of libraries told as problems: what is the caller's fault, what is a server gone, what is ours."""

from __future__ import annotations

import sys
from typing import Any

import kombu.exceptions
import redis.exceptions
import structlog
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from controlplane.base.problems import CONTENT_TYPE, Fault, FieldError, Problem, Text, problem_response

log = structlog.get_logger(__name__)

RETRY_AFTER = {"Retry-After": "2"}
DATABASE_GONE = (OperationalError, InterfaceError)
BROKER_GONE = (
    redis.exceptions.ConnectionError,
    redis.exceptions.TimeoutError,
    kombu.exceptions.OperationalError,
)
# The framework's code -> ours, where they are not the same word.
FIELD_FAULTS = {
    "min_value": Fault.MIN, "max_value": Fault.MAX, "overflow": Fault.MAX, "max_digits": Fault.MAX,
    "max_whole_digits": Fault.MAX, "max_decimal_places": Fault.FORMAT, "max_string_length": Fault.MAX_LENGTH,
    "min_length": Fault.MIN_LENGTH, "max_length": Fault.MAX_LENGTH, "blank": Fault.EMPTY,
    "does_not_exist": Fault.NOT_FOUND, "no_match": Fault.NOT_FOUND, "incorrect_match": Fault.FORMAT,
    "invalid_choice": Fault.CHOICE, "not_a_list": Fault.TYPE, "not_a_dict": Fault.TYPE, "incorrect_type": Fault.TYPE,
    "date": Fault.FORMAT, "datetime": Fault.FORMAT, "make_aware": Fault.FORMAT, "invalid": Fault.FORMAT,
    "invalid_unicode": Fault.CONTROL_CHARACTER, "null_characters_not_allowed": Fault.CONTROL_CHARACTER,
    "surrogate_characters_not_allowed": Fault.CONTROL_CHARACTER, "unique": Fault.TAKEN,
}  # fmt: skip
BY_EXCEPTION: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.ParseError, "malformed"),
    (exceptions.NotAuthenticated, "not-authenticated"),
    (exceptions.AuthenticationFailed, "token-invalid"),
    (exceptions.PermissionDenied, "forbidden"),
    (exceptions.NotFound, "not-found"),
    (exceptions.MethodNotAllowed, "method-not-allowed"),
    (exceptions.NotAcceptable, "not-acceptable"),
    (exceptions.UnsupportedMediaType, "unsupported-media-type"),
    (exceptions.Throttled, "throttled"),
)


def outage(error: BaseException | None) -> Problem | None:
    """503 when the exception says that PostgreSQL or Valkey is not reachable, else None."""
    if isinstance(error, DATABASE_GONE):
        return Problem(503, "database-unavailable", headers=RETRY_AFTER)
    if isinstance(error, BROKER_GONE):
        return Problem(503, "broker-unavailable", headers=RETRY_AFTER)
    return None


def as_problem(error: Exception) -> Problem | None:
    """The problem that an exception amounts to; None for a fault of ours."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, Http404):
        return Problem(404, "not-found")
    if isinstance(error, PermissionDenied):
        return Problem(403, "forbidden")
    if isinstance(error, RequestDataTooBig):
        return Problem(413, "too-large")
    if isinstance(error, exceptions.ValidationError):
        return Problem(400, "invalid", errors=field_errors(error.detail))
    if isinstance(error, exceptions.APIException):
        return _framework_problem(error)
    return outage(error)


def _framework_problem(error: exceptions.APIException) -> Problem:
    code = next((code for kind, code in BY_EXCEPTION if isinstance(error, kind)), "invalid")
    headers: dict[str, str] = {}
    if wait_s := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait_s) + 1)
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = error.auth_header  # type: ignore[attr-defined]
    if code == "forbidden" and str(error.detail).startswith("CSRF"):
        code = "csrf-failed"
    params = {"method": error.args[0]} if code == "method-not-allowed" and error.args else {}
    return Problem(error.status_code, code, params=params, headers=headers)


def field_errors(detail: Any, path: str = "") -> list[FieldError]:
    """The framework's nested lists and dicts as flat paths: resources.cores, command[0]; "" is the whole document."""
    if isinstance(detail, dict):
        return [e for key, inner in detail.items() for e in field_errors(inner, _join(path, key))]
    if isinstance(detail, list):
        if any(isinstance(inner, dict | list) for inner in detail):
            indexed = ((f"{path}[{i}]", inner) for i, inner in enumerate(detail) if inner)
            return [e for inner_path, inner in indexed for e in field_errors(inner, inner_path)]
        return [e for inner in detail for e in field_errors(inner, path)]
    message: Text = str(detail)
    return [FieldError(path, fault_of(str(getattr(detail, "code", "invalid"))), message)]


def fault_of(code: str) -> Fault:
    """Our code of a validator's; validators of our own use ours."""
    if code in FIELD_FAULTS:
        return FIELD_FAULTS[code]
    return Fault(code) if code in set(Fault) else Fault.INVALID


def _join(path: str, key: Any) -> str:
    if key == "non_field_errors":
        return path
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else str(key)


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """The REST framework's hook; None lets a fault of ours go on to `server_error`."""
    problem = as_problem(error)
    if problem is None:
        return None
    set_rollback()
    response = Response(problem.body(), status=problem.status, headers=dict(problem.headers))
    response.content_type = CONTENT_TYPE
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500: also reached when middleware fails, for example because the database is gone."""
    problem = outage(sys.exc_info()[1]) or Problem(500, "internal")
    return problem_response(problem, request)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler404."""
    return problem_response(Problem(404, "not-found"), request)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler403."""
    return problem_response(Problem(403, "forbidden"), request)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400: for example a Host header that is not allowed."""
    return problem_response(Problem(400, "invalid"), request)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's CSRF_FAILURE_VIEW."""
    return problem_response(Problem(403, "csrf-failed"), request)

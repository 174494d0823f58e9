"""Bounds of wire fields and query strings that end in columns; what lies outside is refused by name."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from agent.protocol import EnrolRequest, Report
from controlplane.base.problems import FieldError, Problem, invalid

MAX_ID = 64
MAX_MACHINE_ID = 128
MAX_DIGEST = 128
MAX_TASKS = 4096
MAX_COUNTER = 2**62


def check_report(report: Report) -> None:
    """400 naming the fields that no working agent sends."""
    errors = [
        *_text("boot_id", report.boot_id, MAX_ID),
        *_text("facts_digest", report.facts_digest, MAX_DIGEST, empty=True),
        *_number("seq", report.seq),
        *_number("epoch", report.epoch),
    ]
    if len(report.tasks) > MAX_TASKS:
        errors.append(FieldError("tasks", "max-length", _("Too many tasks.")))
    if report.facts is not None:
        errors += _text("facts.machine_id", report.facts.machine_id, MAX_MACHINE_ID)
    for index, task in enumerate(report.tasks):
        for name in ("placement", "attempt", "fence", "log_bytes"):
            errors += _number(f"tasks[{index}].{name}", getattr(task, name))
    _refuse(errors)


def check_enrolment(request: EnrolRequest) -> None:
    """400 naming the fields that no working agent sends."""
    _refuse(
        [
            *_text("machine_id", request.machine_id, MAX_MACHINE_ID),
            *_text("boot_id", request.boot_id, MAX_ID),
            *_text("token", request.token, 1000),
        ]
    )


def query_number(request: HttpRequest, name: str, *, default: str = "") -> int:
    """A counter out of the query string; 400 when it is none."""
    text = request.GET.get(name, default)
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) < MAX_COUNTER):
        raise invalid(name, "range", message=_("Must be a whole number, 0 or more."))
    return int(text)


def _refuse(errors: list[FieldError]) -> None:
    if errors:
        raise Problem(400, "invalid", errors=errors[:20])


def _text(field: str, value: str, limit: int, *, empty: bool = False) -> list[FieldError]:
    if not value and not empty:
        return [FieldError(field, "required", _("Must not be empty."))]
    if len(value) > limit:
        return [FieldError(field, "max-length", _("This text is too long."))]
    if value and not value.isprintable():
        return [FieldError(field, "control-character", _("Must not contain control characters."))]
    return []


def _number(field: str, value: int) -> list[FieldError]:
    return [] if 0 <= value < MAX_COUNTER else [FieldError(field, "range", _("This number is out of range."))]

"""Bounds of wire fields and query strings that end in columns; what lies outside is refused by name."""

from __future__ import annotations

from django.http import HttpRequest

from agent.protocol import EnrolRequest, Report
from controlplane.base.problems import Fault, FieldError, Problem, fault
from controlplane.base.strict import whole_number
from controlplane.base.texts import has_control_character

MAX_ID = 64
MAX_MACHINE_ID = 128
MAX_DIGEST = 128
MAX_TASKS = 4096
MAX_KEPT = 1000
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
        errors.append(fault("tasks", Fault.MAX_LENGTH, limit=MAX_TASKS))
    if len(report.kept) > MAX_KEPT:
        errors.append(fault("kept", Fault.MAX_LENGTH, limit=MAX_KEPT))
    for index, job in enumerate(report.kept[:MAX_KEPT]):
        errors += _number(f"kept[{index}]", job)
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
    return whole_number(name, request.GET.get(name, default), low=0, high=MAX_COUNTER - 1)


def _refuse(errors: list[FieldError]) -> None:
    if errors:
        raise Problem(400, "invalid", errors=errors[:20])


def _text(field: str, value: str, limit: int, *, empty: bool = False) -> list[FieldError]:
    if not value and not empty:
        return [fault(field, Fault.EMPTY)]
    if len(value) > limit:
        return [fault(field, Fault.MAX_LENGTH, limit=limit)]
    return [fault(field, Fault.CONTROL_CHARACTER)] if has_control_character(value) else []


def _number(field: str, value: int) -> list[FieldError]:
    if value < 0:
        return [fault(field, Fault.MIN, limit=0)]
    return [fault(field, Fault.MAX, limit=MAX_COUNTER - 1)] if value >= MAX_COUNTER else []

"""Alerts about the memory of jobs: which there are, and the end of those whose jobs are gone."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet

from agent.protocol import Pressure, PressureKind
from controlplane.alerts.models import Alert
from controlplane.alerts.service import forget_subject
from scheduling.models import LIVE_PHASES, Placement

SUBJECT = "job"
HOST = {PressureKind.NEAR: "job-memory-near", PressureKind.LEAK: "job-memory-leak"}
DEVICE = {PressureKind.NEAR: "job-device-memory-near", PressureKind.LEAK: "job-device-memory-leak"}
CODES = (*HOST.values(), *DEVICE.values())
NEAR_CODES = (HOST[PressureKind.NEAR], DEVICE[PressureKind.NEAR])


def code_of(pressure: Pressure) -> str:
    """The code of alert and event."""
    return (HOST if pressure.device is None else DEVICE)[pressure.kind]


def open_codes(jobs: Iterable[int]) -> dict[int, set[str]]:
    """What is open of these jobs; one query."""
    rows = _open().filter(subject_id__in=[str(job) for job in jobs])
    found: dict[int, set[str]] = {}
    for job, code in rows.values_list("subject_id", "code"):
        found.setdefault(int(job), set()).add(code)
    return found


def forget_gone() -> None:
    """Clear what is open of jobs that hold no place any more, whoever took it."""
    subjects = {int(one) for one in _open().values_list("subject_id", flat=True)}
    if subjects:
        live = Placement.objects.filter(job__in=subjects, phase__in=LIVE_PHASES)
        forget_subject(SUBJECT, sorted(subjects - set(live.values_list("job_id", flat=True))))


def _open() -> QuerySet[Alert]:
    return Alert.objects.filter(code__in=CODES, subject_type=SUBJECT, cleared_at=None)

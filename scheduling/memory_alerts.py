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


def open_codes(jobs: Iterable[int]) -> dict[int, dict[str, int | None]]:
    """What is open of these jobs, by code the replica that it tells of; one query."""
    rows = _open().filter(subject_id__in=[str(job) for job in jobs])
    found: dict[int, dict[str, int | None]] = {}
    for job, code, replica in rows.values_list("subject_id", "code", "details__replica"):
        found.setdefault(int(job), {})[code] = replica
    return found


def forget_gone() -> None:
    """Clear what is open of jobs that hold no place any more, whoever took it."""
    subjects = {int(one) for one in _open().values_list("subject_id", flat=True)}
    if subjects:
        live = Placement.objects.filter(job__in=subjects, phase__in=LIVE_PHASES)
        forget_subject(SUBJECT, sorted(subjects - set(live.values_list("job_id", flat=True))))


def _open() -> QuerySet[Alert]:
    return Alert.objects.filter(code__in=CODES, subject_type=SUBJECT, cleared_at=None)

"""What agents say of jobs that run out of memory: an alert and an event, and where job or policy want it, a suspension
before the limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agent.protocol import Pressure, TaskPhase, TaskState
from controlplane.alerts.models import Severity
from controlplane.alerts.service import clear_alert, raise_alert
from controlplane.base.texts import without_control_characters
from controlplane.policy.active import active_policy
from queues import lifecycle
from queues.models import Job
from queues.spec import decode_spec
from scheduling.gangs import marks
from scheduling.memory_alerts import NEAR_CODES, SUBJECT, code_of, open_codes
from scheduling.models import Phase, Placement
from scheduling.operations import suspend_job

ACTOR = "memory-guard"
LARGEST = 2**53


def note_pressures(told: Sequence[tuple[Placement, Job, TaskState]]) -> None:
    """Raise and clear what the answers say, inside their transaction; one query when nothing is wrong."""
    if not told:
        return
    open_now = open_codes(job.pk for _placement, job, _task in told)
    for placement, job, task in told:
        before = open_now.get(job.pk, {})
        mine = {code for code, replica in before.items() if replica in (None, placement.replica)}
        now = {} if task.phase is TaskPhase.ENDED else _worst(task.pressures)
        for code in sorted(mine - now.keys()):
            clear_alert(code, subject_type=SUBJECT, subject_id=job.pk)
        for code in sorted(now.keys() - before.keys()):
            _raise(code, placement, job, now[code])


def _raise(code: str, placement: Placement, job: Job, figures: dict[str, Any]) -> None:
    details = {"name": job.name, "node": placement.node_id, **figures, **marks(placement, job)}
    raise_alert(code, Severity.WARNING, subject_type=SUBJECT, subject_id=job.pk, details=details)
    lifecycle.remark(job, code, details)
    if code in NEAR_CODES and _suspends(job, placement):
        suspend_job(job.pk, actor=ACTOR)


def _suspends(job: Job, placement: Placement) -> bool:
    """A job that can make no checkpoint is never stopped for what it might do."""
    way = decode_spec(job.spec).checkpoint
    if way is None or placement.phase != Phase.RUNNING:
        return False
    wanted = way.on_memory_pressure
    return active_policy().memory_guard.suspend if wanted is None else wanted


def _worst(pressures: Iterable[Pressure]) -> dict[str, dict[str, Any]]:
    """By code the memory that is fullest."""
    ordered = sorted(pressures, key=lambda pressure: pressure.used_mib / max(1, pressure.booked_mib))
    return {code_of(pressure): _figures(pressure) for pressure in ordered}


def _figures(pressure: Pressure) -> dict[str, Any]:
    return {
        "device": without_control_characters(pressure.device or "")[:100] or None,
        "used_mib": _known(pressure.used_mib),
        "booked_mib": _known(pressure.booked_mib),
        "mib_per_hour": _known(pressure.mib_per_hour),
    }


def _known(number: int | None) -> int | None:
    return number if number is not None and 0 <= number <= LARGEST else None

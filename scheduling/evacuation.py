"""Takes jobs off devices that failed for good and off nodes that are being emptied, and tells the owners of jobs whose
devices left or shrank. Each look is harmless when repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery, Sum

from controlplane.alerts.models import Alert, Severity
from controlplane.alerts.service import clear_alert, raise_alert
from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit
from controlplane.policy.active import active_policy
from inventory.device_health import whose
from inventory.health import TAKES_JOBS
from inventory.models import Device, DeviceHealth, NodeState
from inventory.operations import finish_drains
from queues import lifecycle
from queues.derive import Ending
from queues.models import FINAL_STATUSES, Job, JobEvent
from scheduling.backends.agent import bump_epoch
from scheduling.bookings import FAILED, locked_live
from scheduling.gangs import FELL, keep_together
from scheduling.losses import give_up_unstoppable
from scheduling.memory_alerts import forget_gone
from scheduling.models import LIVE_PHASES, Phase, Placement, Slice
from scheduling.unanswered import let_unanswered_run_on

DEVICE_FAILED = "device-failed"
DRAINED = "drained"
REQUEUED = "requeued"
PREEMPTED = "preempted"
OVERBOOKED = "device-overbooked"
# Why the server stopped a placement, as the ending that its job then has.
ENDINGS: Mapping[str, Ending] = {
    DEVICE_FAILED: Ending.DEVICE_FAILED,
    DRAINED: Ending.DRAINED,
    REQUEUED: Ending.REQUEUED,
    PREEMPTED: Ending.REQUEUED,
    FELL: Ending.LOST_PROCESS,
}
MOVABLE = tuple(phase for phase in LIVE_PHASES if phase != Phase.STOPPING)
MISSING = Q(device__health=DeviceHealth.MISSING)


@dataclass(frozen=True)
class _Move:
    """Why placements must go: what is noted on them, and the event that their owners read."""

    stop_reason: str
    event: str
    details: Callable[[Placement], dict[str, Any]]


def reconcile() -> int:
    """Bring placements in line with their devices and nodes; how many of them were told to stop."""
    lift_exclusions()
    stopped = move_off_failed_devices() + move_off_drained_nodes()
    let_unanswered_run_on(preempted=PREEMPTED)
    keep_together()
    patience_s = active_policy().health.lost_after_s
    give_up_unstoppable(ENDINGS, before=clock.now() - timedelta(seconds=patience_s))
    finish_drains(busy=Placement.objects.filter(phase__in=LIVE_PHASES).values("node_id"))
    tell_of_missing()
    tell_of_shrunken()
    forget_gone()
    return stopped


def lift_exclusions() -> int:
    """Let waiting jobs have devices again that failed under them and are back in service; how many jobs."""
    serving = Q(fatal=False, health__in=TAKES_JOBS)
    whole = Q(parent=None) | Q(parent__fatal=False, parent__health__in=TAKES_JOBS)
    back = Device.objects.filter(serving, whole, pk__in=lifecycle.excluded_devices())
    return lifecycle.lift_exclusions(set(back.values_list("pk", flat=True)))


def move_off_failed_devices() -> int:
    """Stop what runs on devices that failed fatally; how many placements. Usually one query that finds nothing.

    Devices whose failures only counted up to quarantine keep their running jobs.
    """
    failed = Slice.objects.filter(FAILED, placement__phase__in=MOVABLE)
    return _move(failed.values("placement_id"), _Move(DEVICE_FAILED, "device-failing", _failing))


def move_off_drained_nodes() -> int:
    """Stop what still runs on draining nodes whose deadline has passed; how many placements."""
    late = Placement.objects.filter(
        phase__in=MOVABLE, node__state=NodeState.DRAINING, node__drain_deadline__lte=clock.now()
    )
    return _move(late.values("pk"), _Move(DRAINED, "draining", lambda placement: {"node": placement.node_id}))


def _move(which: QuerySet[Any, Any], move: _Move) -> int:
    """A gang falls together: all placements of a job's attempt go when one must."""
    condemned = Placement.objects.filter(pk__in=which).exclude(job__status__in=FINAL_STATUSES)
    affected = set(condemned.values_list("job_id", flat=True))
    if not affected:
        return 0
    with transaction.atomic():
        jobs, placements = locked_live(Placement.objects.filter(job__in=affected, phase__in=MOVABLE))
        # What was condemned before the locks may have ended since, and its job be placed elsewhere.
        still = set(condemned.filter(job__in=jobs).values_list("job_id", "attempt"))
        going = [one for one in placements if (one.job_id, one.attempt) in still]
        if not going:
            return 0
        for placement in going:
            _stop(placement, jobs[placement.job_id], move)
        bump_epoch({placement.node_id for placement in going})
        after_commit(Topic.CYCLE_WAKE)
        return len(going)


def _stop(placement: Placement, job: Job, move: _Move) -> None:
    Placement.objects.filter(pk=placement.pk).update(
        phase=Phase.STOPPING,
        stop_reason=move.stop_reason,
        stopping_at=clock.now(),
    )
    lifecycle.remark(job, move.event, {"placement": placement.pk, **move.details(placement)})


def _failing(placement: Placement) -> dict[str, Any]:
    """The device that condemns a placement; of a gang it may be another one's."""
    failed = Slice.objects.filter(FAILED, placement__job=placement.job_id, placement__phase__in=LIVE_PHASES)
    part = failed.select_related("device__node").order_by("pk").first()
    return {} if part is None else _naming(part)


def _naming(part: Slice) -> dict[str, Any]:
    device = part.device
    return {
        "device": device.pk,
        "index": device.index,
        "node": device.node_id,
        "node_name": device.node.name,
        "reason": device.health_reason,
    }


def tell_of_missing() -> None:
    """Each owner reads once of a device that is no longer reported; nothing is freed or stopped for that alone."""
    gone = Slice.objects.filter(MISSING, placement__phase__in=MOVABLE).exclude(FAILED)
    _tell("device-missing", {part: {} for part in _named(gone)})


def tell_of_shrunken() -> None:
    """Each owner reads once of a device that has less memory than is booked of it, and operators as long as it has."""
    booked = Slice.objects.filter(device=OuterRef("device")).order_by().values("device")
    rows = Slice.objects.annotate(booked_mib=Subquery(booked.annotate(mib=Sum("memory_mib")).values("mib")))
    shrunken = rows.filter(placement__phase__in=MOVABLE, booked_mib__gt=F("device__memory_total_mib"))
    found = _named(shrunken)
    _tell("device-shrank", {part: {"memory_mib": part.device.memory_total_mib} for part in found})
    _alert_of_shrunken({str(part.device_id): part for part in found})


def _named(parts: QuerySet[Slice]) -> list[Slice]:
    return list(parts.select_related("placement", "device__node").order_by("pk"))


def _alert_of_shrunken(found: Mapping[str, Slice]) -> None:
    for device, part in found.items():
        details = {**whose(part.device), "memory_mib": part.device.memory_total_mib}
        raise_alert(OVERBOOKED, Severity.WARNING, subject_type="device", subject_id=device, details=details)
    past = Alert.objects.filter(code=OVERBOOKED, cleared_at=None).exclude(subject_id__in=found)
    for device in past.values_list("subject_id", flat=True):
        clear_alert(OVERBOOKED, subject_type="device", subject_id=device)


def _tell(code: str, found: Mapping[Slice, Mapping[str, Any]]) -> None:
    """An event per slice, with what is said of it; what its job was told before is not told again."""
    if not found:
        return
    with transaction.atomic():
        jobs = lifecycle.lock_jobs(part.placement.job_id for part in found)
        events = JobEvent.objects.filter(job__in=jobs, code=code).values_list("details", flat=True)
        told = {_mark(details) for details in events}
        for part, more in found.items():
            said = {"placement": part.placement_id, "device": part.device_id, **more}
            if _mark(said) not in told:
                lifecycle.remark(jobs[part.placement.job_id], code, {**_naming(part), **said})


def _mark(details: Mapping[str, Any]) -> tuple[Any, ...]:
    """What makes one such event different from another."""
    return tuple(details.get(name) for name in ("placement", "device", "memory_mib"))

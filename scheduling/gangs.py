"""Gangs: replicas of one job that start together and fall together. A report touches the placements of its own node
only; what follows for the others is found in the rows by `keep_together`.

Locks: job -> its placements -> the nodes' desired-state rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit
from controlplane.policy.active import active_policy
from queues import lifecycle
from queues.derive import MISHAPS, Ending, Stage
from queues.events import REPLICA_FAILED
from queues.lifecycle import Exit, Progress
from queues.models import Job, JobStatus
from scheduling.backends.agent import bump_epoch
from scheduling.models import LIVE_PHASES, STARTED_PHASES, Phase, Placement

# Why a replica was stopped that did nothing itself.
FELL = "gang-fell"
PLACED = (JobStatus.STARTING, JobStatus.RUNNING, JobStatus.SUSPENDING, JobStatus.PREEMPTING)
# One replica that is gone makes others fail, often before anybody knows what became of it.
BEFELL = frozenset({*MISHAPS, Ending.REQUEUED})
# What happens to a replica whether or not it was told to stop.
EVEN_SO = frozenset({Ending.NODE_LOST, Ending.DEVICE_FAILED})
DID_NOT_FAIL = ("", Ending.SUCCESS)


def marks(placement: Placement, job: Job) -> dict[str, int]:
    """What tells the events of one replica from those of another; nothing for a job of one."""
    return {"replica": placement.replica} if job.replicas > 1 else {}


def follow_start(placement: Placement, job: Job, progress: Progress) -> None:
    """One placement runs; a gang does when all replicas have started."""
    present = Placement.objects.filter(job=job, attempt=placement.attempt, running_at=None)
    if job.replicas == 1 or not present.exists():
        lifecycle.follow(job, progress)


def follow_end(placement: Placement, job: Job, progress: Progress) -> None:
    """One placement ended, as its row says by now; a gang has ended when all have, as what made it fall."""
    if job.replicas == 1:
        lifecycle.follow(job, progress)
        return
    present = list(Placement.objects.filter(job=job, attempt=placement.attempt).order_by("ended_at", "pk"))
    if all(one.phase not in LIVE_PHASES for one in present):
        lifecycle.follow(job, _of_all(present, progress))
        return
    if _is_first_failure(placement, job, present):
        told = {**_naming(placement), "node": placement.node_id}
        exit_ = progress.exit or Exit(Ending.NODE_LOST)
        why = {"exit_class": exit_.ending.value, "exit_code": exit_.code, "exit_signal": exit_.signal}
        lifecycle.remark(job, REPLICA_FAILED, {**told, **why, "message": exit_.message[:1000]})
    after_commit(Topic.CYCLE_WAKE)


def _is_first_failure(placement: Placement, job: Job, present: Sequence[Placement]) -> bool:
    failed = [one.pk for one in present if one.ending not in DID_NOT_FAIL]
    return failed == [placement.pk] and placement.stopping_at is None and not lifecycle.is_final(job)


def _of_all(present: Sequence[Placement], last: Progress) -> Progress:
    """How the attempt ended of which all placements have, by the time of their ends; `last` is that of the last."""
    cause = _cause(present)
    exit_ = Exit(Ending(cause.ending), cause.exit_code, cause.exit_signal, cause.exit_message)
    return replace(
        last,
        stage=Stage.LOST if cause.phase == Phase.LOST else Stage.ENDED,
        node=cause.node_id,
        exit=exit_,
        failed_devices=tuple(sorted({device for one in present for device in one.failed_devices})),
        details={"placement": cause.pk, **({} if cause.ending in DID_NOT_FAIL else _naming(cause))},
    )


def _naming(placement: Placement) -> dict[str, Any]:
    return {"replica": placement.replica, "node_name": placement.node.name}


def _cause(present: Sequence[Placement]) -> Placement:
    """The placement that made the others end: what befell one goes before what one did itself."""
    failed = [one for one in present if one.ending not in DID_NOT_FAIL]
    by_itself = [one for one in failed if one.stop_reason != FELL or one.ending in EVEN_SO]
    befell = [one for one in by_itself if one.ending in BEFELL]
    return next(iter([*befell, *by_itself, *failed]), present[-1])


def keep_together() -> int:
    """Stop what is left of gangs of which a replica failed, and have those leave, or run on, of which all, or one not,
    made the checkpoint that was asked for; how many gangs. One query where there are none; harmless when repeated.
    """
    present = Placement.objects.filter(job=OuterRef("pk"), attempt=OuterRef("attempt"))
    starts, fails = present.filter(phase__in=STARTED_PHASES), present.exclude(ending__in=DID_NOT_FAIL)
    asked = present.filter(phase=Phase.CHECKPOINTING)
    gangs = Job.objects.filter(replicas__gt=1, status__in=PLACED)
    apart = gangs.filter(Exists(asked) | (Exists(starts) & Exists(fails)))
    return sum(_settle(number) for number in list(apart.order_by("pk").values_list("pk", flat=True)))


def _settle(number: int) -> bool:
    with transaction.atomic():
        job = lifecycle.lock_jobs([number]).get(number)
        if job is None or lifecycle.is_final(job):
            return False
        present = Placement.objects.filter(job=job, attempt=job.attempt)
        live = list(present.filter(phase__in=LIVE_PHASES).select_for_update(no_key=True).order_by("pk"))
        started = [one for one in live if one.phase in STARTED_PHASES]
        asked = [one for one in live if one.phase == Phase.CHECKPOINTING]
        if started and present.exclude(ending__in=DID_NOT_FAIL).exists():
            _change(started, phase=Phase.STOPPING, stop_reason=FELL, stopping_at=clock.now())
        elif started and asked:
            _run_on(job, asked)
        elif asked and all(one.saved_at is not None for one in asked):
            _change(asked, phase=Phase.STOPPING, stopping_at=clock.now())
        else:
            return False
        return True


def _run_on(job: Job, asked: Sequence[Placement]) -> None:
    """One replica made no checkpoint, so none of the gang leaves."""
    spared_until = clock.now() + timedelta(seconds=active_policy().preemption.min_run_s)
    yielding = [one for one in asked if one.yields_to_id is not None]
    Placement.objects.filter(pk__in=[one.pk for one in yielding]).update(spared_until=spared_until)
    calm: dict[str, Any] = {"stop_reason": "", "stopping_at": None, "yields_to": None, "saved_at": None}
    _change(asked, phase=Phase.RUNNING, **calm)


def _change(placements: Sequence[Placement], **columns: Any) -> None:
    Placement.objects.filter(pk__in=[one.pk for one in placements]).update(**columns)
    bump_epoch({one.node_id for one in placements})
    after_commit(Topic.CYCLE_WAKE)

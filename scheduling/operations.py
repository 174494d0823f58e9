"""What people do to jobs that concerns their placements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from controlplane.base import clock
from controlplane.base.problems import Problem
from controlplane.base.tx import Topic, after_commit
from queues import lifecycle, waiting
from queues.models import Job
from queues.spec import decode_spec
from scheduling.backends.agent import bump_epoch
from scheduling.evacuation import PREEMPTED, REQUEUED
from scheduling.models import LIVE_PHASES, STARTED_PHASES, Phase, Placement

SUSPENDED = "suspended"
_ANEW = _("This job can make no checkpoint. Say lose_work to stop it and begin anew later.")


def suspend_job(job_id: int, *, actor: str, lose_work: bool = False) -> bool:
    """Let a job give up what it holds, after a checkpoint where it runs; False when there is nothing to suspend.

    Problem 409 where it can make none, unless its work may be lost.
    """
    with transaction.atomic():
        job, placements = _locked(job_id)
        asks = _asks_for_checkpoint(job, placements, lose_work=lose_work)
        if not lifecycle.suspend(job, actor=actor):
            return False
        _stop(placements, SUSPENDED, asks=asks)
        return True


def requeue_job(job_id: int, *, actor: str, lose_work: bool = False) -> bool:
    """Let a job that has a place give it up and wait again where it stood in its queue, as a new attempt that costs no
    retry; False for one that has none, or is being stopped already. Problem 409 as for `suspend_job`.
    """
    with transaction.atomic():
        job, placements = _locked(job_id)
        moving = [placement for placement in placements if placement.phase in STARTED_PHASES]
        if not waiting.wants_to_run(job) or not moving:
            return False
        asks = _asks_for_checkpoint(job, moving, lose_work=lose_work)
        lifecycle.remark(job, "requeue-asked", {}, actor=actor)
        _stop(moving, REQUEUED, asks=asks)
        return True


def _locked(job_id: int) -> tuple[Job, list[Placement]]:
    """The job and its live placements, locked in that order."""
    job = lifecycle.lock_jobs([job_id])[job_id]
    live = Placement.objects.filter(job_id=job_id, phase__in=LIVE_PHASES)
    return job, list(live.select_for_update(no_key=True).order_by("pk"))


def _asks_for_checkpoint(job: Job, placements: Iterable[Placement], *, lose_work: bool) -> bool:
    """Whether what runs is asked for a checkpoint before it is stopped."""
    can = decode_spec(job.spec).checkpoint is not None
    if not can and not lose_work and any(placement.running_at is not None for placement in placements):
        raise Problem(409, "no-checkpoint", message=_ANEW)
    return can and not lose_work


def _stop(placements: Sequence[Placement], reason: str, *, asks: bool) -> None:
    """What was asked for a checkpoint before answers that asking, whoever wanted it. A gang that has not wholly started
    has nothing to save.
    """
    now = clock.now()
    asks = asks and all(one.phase not in (Phase.ASSIGNED, Phase.PREPARING) for one in placements)
    nodes = set()
    for placement in placements:
        changes: dict[str, Any] = {"phase": Phase.STOPPING, "stopping_at": now}
        if asks and placement.phase == Phase.RUNNING:
            changes |= {"phase": Phase.CHECKPOINTING, "saved_at": None}
        elif asks and placement.phase == Phase.CHECKPOINTING:
            changes = {}
        Placement.objects.filter(pk=placement.pk).update(stop_reason=reason, **changes)
        nodes.add(placement.node_id)
    bump_epoch(nodes)
    after_commit(Topic.CYCLE_WAKE)


def resume_job(job_id: int, *, actor: str) -> bool:
    """Let a suspended job wait again, or one that is asked for its checkpoint run on, unless another job asked for its
    place before; False for any other.
    """
    with transaction.atomic():
        job = lifecycle.lock_jobs([job_id])[job_id]
        if lifecycle.resume(job, actor=actor):
            return True
        asked = Placement.objects.filter(job_id=job_id, phase=Phase.CHECKPOINTING)
        placements = list(asked.select_for_update(no_key=True).order_by("pk"))
        if not placements or not lifecycle.go_on(job, "resumed", {}):
            return False
        yields = [one.yields_to_id for one in placements if one.yields_to_id is not None]
        if yields:
            asked.update(stop_reason=PREEMPTED)
            lifecycle.preempt(job, {"for_job": yields[0]})
        else:
            asked.update(phase=Phase.RUNNING, stop_reason="", stopping_at=None, saved_at=None)
        bump_epoch({placement.node_id for placement in placements})
        return True


def hold_job(job_id: int, *, actor: str) -> bool:
    """Keep a waiting job from getting a place; see `waiting.hold`."""
    with transaction.atomic():
        return waiting.hold(lifecycle.lock_jobs([job_id])[job_id], actor=actor)


def release_job(job_id: int, *, actor: str) -> bool:
    """Take a person's hold off; see `waiting.release`."""
    with transaction.atomic():
        return waiting.release(lifecycle.lock_jobs([job_id])[job_id], actor=actor)


def reprioritise_job(job_id: int, *, actor: str, priority: int) -> bool:
    """Another place in its queue; see `waiting.reprioritise`."""
    with transaction.atomic():
        return waiting.reprioritise(lifecycle.lock_jobs([job_id])[job_id], priority, actor=actor)


def cancel_job(job_id: int, *, actor: str) -> bool:
    """End a job at whatever stage; False when it was over. Its node is told to stop it and keeps the
    bookings until it says so.
    """
    with transaction.atomic():
        job = lifecycle.lock_jobs([job_id])[job_id]
        if not lifecycle.cancel(job, actor=actor):
            return False
        stop_placements(job_id, "cancelled")
        return True


def stop_placements(job_id: int, reason: str) -> None:
    """Have the nodes of a job that is over stop it; inside the transaction that ended it, with its row locked."""
    live = Placement.objects.filter(job_id=job_id, phase__in=LIVE_PHASES).select_for_update(no_key=True)
    placements = list(live.order_by("pk"))
    now = clock.now()
    for placement in placements:
        Placement.objects.filter(pk=placement.pk).update(
            stop_reason=reason, stopping_at=placement.stopping_at or now
        )
    bump_epoch({placement.node_id for placement in placements})
    after_commit(Topic.CYCLE_WAKE)

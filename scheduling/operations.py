"""What people do to jobs that concerns their placements."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from controlplane.base import clock
from controlplane.base.problems import Problem
from controlplane.base.tx import Topic, after_commit
from queues import lifecycle
from queues.spec import decode_spec
from scheduling.backends.agent import bump_epoch
from scheduling.models import LIVE_PHASES, Phase, Placement

SUSPENDED = "suspended"


def suspend_job(job_id: int, *, actor: str, lose_work: bool = False) -> bool:
    """Let a job give up what it holds, after a checkpoint where it runs; False when there is nothing to suspend.

    Problem 409 where it can make none, unless its work may be lost.
    """
    with transaction.atomic():
        job = lifecycle.lock_jobs([job_id])[job_id]
        spec, live = decode_spec(job.spec), Placement.objects.filter(job_id=job_id, phase__in=LIVE_PHASES)
        placements = list(live.select_for_update(no_key=True).order_by("pk"))
        runs = any(placement.running_at is not None for placement in placements)
        if runs and spec.checkpoint is None and not lose_work:
            message = _("This job can make no checkpoint. Say lose_work to stop it and begin anew later.")
            raise Problem(409, "no-checkpoint", message=message)
        if not lifecycle.suspend(job, actor=actor):
            return False
        now = clock.now()
        for placement in placements:
            asks = placement.phase == Phase.RUNNING and spec.checkpoint is not None and not lose_work
            phase = Phase.CHECKPOINTING if asks else Phase.STOPPING
            Placement.objects.filter(pk=placement.pk).update(
                phase=phase, stop_reason=SUSPENDED, stopping_at=now
            )
        bump_epoch({placement.node_id for placement in placements})
        after_commit(Topic.CYCLE_WAKE)
        return True


def resume_job(job_id: int, *, actor: str) -> bool:
    """Let a suspended job wait again, or one that is asked for its checkpoint run on; False for any other."""
    with transaction.atomic():
        job = lifecycle.lock_jobs([job_id])[job_id]
        if lifecycle.resume(job, actor=actor):
            return True
        asked = Placement.objects.filter(job_id=job_id, phase=Phase.CHECKPOINTING)
        placements = list(asked.select_for_update(no_key=True).order_by("pk"))
        if not placements or not lifecycle.go_on(job, "resumed", {}):
            return False
        asked.update(phase=Phase.RUNNING, stop_reason="", stopping_at=None)
        bump_epoch({placement.node_id for placement in placements})
        return True


def cancel_job(job_id: int, *, actor: str) -> bool:
    """End a job at whatever stage; False when it was over. Its node is told to stop it and keeps the
    bookings until it says so.
    """
    with transaction.atomic():
        job = lifecycle.lock_jobs([job_id])[job_id]
        if not lifecycle.cancel(job, actor=actor):
            return False
        live = Placement.objects.filter(job_id=job_id, phase__in=LIVE_PHASES).select_for_update(no_key=True)
        placements = list(live.order_by("pk"))
        now = clock.now()
        for placement in placements:
            Placement.objects.filter(pk=placement.pk).update(
                stop_reason="cancelled", stopping_at=placement.stopping_at or now
            )
        bump_epoch({placement.node_id for placement in placements})
        after_commit(Topic.CYCLE_WAKE)
        return True

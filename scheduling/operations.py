"""What people do to jobs that concerns their placements."""

from __future__ import annotations

from django.db import transaction

from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit
from queues import lifecycle
from scheduling.backends.agent import bump_epoch
from scheduling.models import LIVE_PHASES, Placement


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

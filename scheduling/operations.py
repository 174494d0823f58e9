"""What people do to jobs that concerns their placements, and to the cluster as a whole."""

from __future__ import annotations

from django.db import transaction

from controlplane.accounts import audit
from controlplane.accounts.audit import Who
from controlplane.base import clock
from controlplane.base.identity import this_cluster
from controlplane.base.models import Cluster
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


def pause_cluster(who: Who, *, reason: str) -> None:
    """Start nothing new from now on; a second pause only changes the reason."""
    _set_paused(who, "cluster-pause", paused=True, reason=reason)


def resume_cluster(who: Who, *, reason: str) -> None:
    """Start jobs again, at once."""
    _set_paused(who, "cluster-resume", paused=False, reason=reason)


def _set_paused(who: Who, action: str, *, paused: bool, reason: str) -> None:
    kept = reason if paused else ""
    with transaction.atomic():
        cluster = Cluster.objects.select_for_update().get(pk=this_cluster().pk)
        if (cluster.paused, cluster.paused_reason) == (paused, kept):
            return
        cluster.paused, cluster.paused_reason = paused, kept
        cluster.save(update_fields=["paused", "paused_reason"])
        audit.record(who, action, target=("cluster", cluster.pk), details={"reason": reason})
        after_commit(Topic.HINT, ("me",))
        after_commit(Topic.HINT, ("jobs",))
        after_commit(Topic.CYCLE_WAKE)

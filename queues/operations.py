"""Queues follow the policy: rows are made, changed and closed when a version becomes active, never deleted."""

from __future__ import annotations

from controlplane.base.tx import Topic, after_commit
from controlplane.policy.active import ActivePolicy
from queues.models import Queue


def sync_queues(active: ActivePolicy) -> None:
    """Bring the queue rows in line with a policy version, inside the transaction that activates it."""
    wanted = active.document.queue_policy.queues
    Queue.objects.bulk_create(
        [
            Queue(
                name=spec.name,
                priority=spec.priority,
                quota_ppm=spec.quota_ppm,
                preemptable=spec.preemptable,
                borrow=spec.borrow,
                closed=False,
                policy_number=active.number,
            )
            for spec in wanted
        ],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["priority", "quota_ppm", "preemptable", "borrow", "closed", "policy_number"],
    )
    gone = Queue.objects.exclude(name__in=[spec.name for spec in wanted]).filter(closed=False)
    gone.update(closed=True, policy_number=active.number)
    after_commit(Topic.HINT, ("queues",))
    after_commit(Topic.CYCLE_WAKE)

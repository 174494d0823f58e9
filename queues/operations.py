"""Queues follow the policy: rows are made, changed and closed when a version becomes active, never deleted."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from controlplane.base.locks import CYCLE_LEASE, lock_out
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
                model_caps_ppm=spec.model_caps_ppm,
                preemptable=spec.preemptable,
                borrow=spec.borrow,
                closed=False,
                policy_number=active.number,
            )
            for spec in wanted
        ],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=[
            "priority",
            "quota_ppm",
            "model_caps_ppm",
            "preemptable",
            "borrow",
            "closed",
            "policy_number",
        ],
    )
    gone = Queue.objects.exclude(name__in=[spec.name for spec in wanted]).filter(closed=False)
    gone.update(closed=True, policy_number=active.number)
    note_changed_caps()
    after_commit(Topic.HINT, ("queues",))
    after_commit(Topic.CYCLE_WAKE)


def note_changed_caps() -> None:
    """From this transaction's commit on nothing is started by what was read before, not even by a cycle that is under
    way: every placement holds the lease of the cycle while it is stored, and asks for the revision of its queue.
    """
    with transaction.atomic():
        lock_out(CYCLE_LEASE)
        Queue.objects.update(revision=F("revision") + 1)

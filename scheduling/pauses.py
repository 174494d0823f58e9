"""The pause switch: of everything, of one queue, of the nodes of one node set. What runs goes on.

A pause takes the lease of the cycle exclusively for a moment, which every placement holds while it is stored: once
the pause is answered, nothing new is started, not even by a cycle that was under way.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from django.db import connection, transaction

from controlplane.accounts import audit
from controlplane.accounts.audit import Who
from controlplane.base import clock
from controlplane.base.identity import this_cluster
from controlplane.base.locks import CYCLE_LEASE, lock_out
from controlplane.base.models import Cluster
from controlplane.base.tx import Topic, after_commit
from inventory.models import NodeSet
from queues.models import Queue
from scheduling.models import Pause

HINTS = (("me",), ("reasons",), ("queues",), ("map",))

STOPS = """
SELECT EXISTS (SELECT 1 FROM base_cluster WHERE paused)
    OR EXISTS (SELECT 1 FROM scheduling_pause WHERE queue_id = %(queue)s)
    OR EXISTS (SELECT 1 FROM scheduling_pause JOIN inventory_node USING (node_set_id)
               WHERE inventory_node.id = %(node)s),
    (SELECT revision FROM queues_queue WHERE id = %(queue)s)
"""


class Stop(StrEnum):
    """Which pause keeps the jobs of a queue waiting; the codes of the sentences that say so."""

    CLUSTER = "paused"
    QUEUE = "queue-paused"


def cluster_is_paused() -> bool:
    """Whether nothing at all is started. One query."""
    return Cluster.objects.filter(paused=True).exists()


def stopped_queues() -> dict[int, Stop]:
    """The queues of which nothing is started now, by id. Two queries."""
    if cluster_is_paused():
        return dict.fromkeys(Queue.objects.values_list("pk", flat=True), Stop.CLUSTER)
    return dict.fromkeys(Queue.objects.filter(pause__isnull=False).values_list("pk", flat=True), Stop.QUEUE)


def stops_of(*, queue: int, node: int) -> tuple[bool, int | None]:
    """Whether a pause forbids to start a job of this queue on this node, and the queue's revision. One query."""
    with connection.cursor() as cursor:
        cursor.execute(STOPS, {"queue": queue, "node": node})
        stopped, revision = cursor.fetchone()
        return bool(stopped), revision


def pause_cluster(who: Who, *, reason: str) -> None:
    """Start nothing new from now on; a second pause only changes the reason."""
    _set_cluster(who, "cluster-pause", paused=True, reason=reason)


def resume_cluster(who: Who, *, reason: str) -> None:
    """Start jobs again, at once; queues and node sets that are paused themselves stay so."""
    _set_cluster(who, "cluster-resume", paused=False, reason=reason)


def pause_part(who: Who, part: Queue | NodeSet, *, reason: str) -> None:
    """Start nothing new of this queue or on this node set; a second pause only changes the reason."""
    with transaction.atomic():
        lock_out(CYCLE_LEASE)
        actor = audit.name_of(who)
        pause, made = Pause.objects.get_or_create(**_key(part), defaults={"reason": reason, "actor": actor})
        if not made and pause.reason == reason:
            return
        Pause.objects.filter(pk=pause.pk).update(reason=reason, actor=actor)
        _tell(who, part, "pause", reason)


def resume_part(who: Who, part: Queue | NodeSet, *, reason: str) -> None:
    """Start its jobs again, at once; harmless when it is not paused."""
    with transaction.atomic():
        deleted, _rows = Pause.objects.filter(**_key(part)).delete()
        if deleted:
            _tell(who, part, "resume", reason)


def _key(part: Queue | NodeSet) -> dict[str, Any]:
    return {"queue": part} if isinstance(part, Queue) else {"node_set": part}


def _tell(who: Who, part: Queue | NodeSet, action: str, reason: str) -> None:
    kind = "queue" if isinstance(part, Queue) else "node-set"
    audit.record(who, f"{kind}-{action}", target=(kind, part.name), details={"reason": reason})
    for hint in HINTS:
        after_commit(Topic.HINT, hint)
    after_commit(Topic.CYCLE_WAKE)


def _set_cluster(who: Who, action: str, *, paused: bool, reason: str) -> None:
    kept = reason if paused else ""
    actor = audit.name_of(who) if paused else ""
    with transaction.atomic():
        lock_out(CYCLE_LEASE)
        cluster = Cluster.objects.select_for_update().get(pk=this_cluster().pk)
        if (cluster.paused, cluster.paused_reason) == (paused, kept):
            return
        if cluster.paused != paused:
            cluster.paused_at = clock.now() if paused else None
        cluster.paused, cluster.paused_reason, cluster.paused_by = paused, kept, actor
        cluster.save(update_fields=["paused", "paused_reason", "paused_by", "paused_at"])
        audit.record(who, action, target=("cluster", cluster.pk), details={"reason": reason})
        for hint in HINTS:
            after_commit(Topic.HINT, hint)
        after_commit(Topic.CYCLE_WAKE)

"""What is paused, for people."""

from __future__ import annotations

from typing import Any

from controlplane.base.models import Cluster
from scheduling.models import Pause

OF_THE_CLUSTER = ("paused_reason", "paused_by", "paused_at")


def pauses() -> list[dict[str, Any]]:
    """Everything first, then queues, then node sets, by name; two queries."""
    whole = [
        {"scope": "cluster", "name": None, "reason": why or None, "actor": actor or None, "since": since}
        for why, actor, since in Cluster.objects.filter(paused=True).values_list(*OF_THE_CLUSTER)
    ]
    parts = [_view(pause) for pause in Pause.objects.select_related("queue", "node_set")]
    return whole + sorted(parts, key=lambda part: (part["scope"] != "queue", part["name"]))


def _view(pause: Pause) -> dict[str, Any]:
    scope, part = ("queue", pause.queue) if pause.queue is not None else ("node-set", pause.node_set)
    assert part is not None, "a constraint says that one of them is there"
    return {
        "scope": scope,
        "name": part.name,
        "reason": pause.reason or None,
        "actor": pause.actor,
        "since": pause.since,
    }


def paused_queues() -> dict[int, str]:
    """Reasons of paused queues by the queue's id; one query."""
    return dict(Pause.objects.filter(queue__isnull=False).values_list("queue_id", "reason"))

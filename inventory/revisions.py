"""Tells scheduling and console, once the transaction stands, that a node changed."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import F, QuerySet

from controlplane.base.tx import Topic, after_commit
from inventory.models import Node

# A hint for each of more would have every console read everything anew.
MOST_NAMED = 32


def node_changed(node_id: int) -> None:
    """Something that scheduling sees changed: the revision grows, the cycle looks again.

    Call inside the transaction.
    """
    _grow(Node.objects.filter(pk=node_id), [node_id])


def nodes_changed(node_ids: Collection[int]) -> None:
    """The same for many at once, locked in the order of their ids as by everybody."""
    nodes = Node.objects.filter(pk__in=node_ids)
    if list(nodes.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True)):
        _grow(nodes, node_ids)


def _grow(nodes: QuerySet[Node], node_ids: Collection[int]) -> None:
    nodes.update(revision=F("revision") + 1)
    after_commit(Topic.CYCLE_WAKE)
    if len(node_ids) > MOST_NAMED:
        after_commit(Topic.HINT, ("node",))
        after_commit(Topic.HINT, ("map",))
        return
    for node_id in node_ids:
        node_shown(node_id)


def node_shown(node_id: int) -> None:
    """Something that only people see changed."""
    after_commit(Topic.HINT, ("node", node_id))
    after_commit(Topic.HINT, ("map",))

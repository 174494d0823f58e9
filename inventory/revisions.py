"""Tells scheduling and console, once the transaction stands, that a node changed."""

from __future__ import annotations

from django.db.models import F

from controlplane.base.tx import Topic, after_commit
from inventory.models import Node


def node_changed(node_id: int) -> None:
    """Something that scheduling sees changed: the revision grows, the cycle looks again.

    Call inside the transaction.
    """
    Node.objects.filter(pk=node_id).update(revision=F("revision") + 1)
    after_commit(Topic.CYCLE_WAKE)
    node_shown(node_id)


def node_shown(node_id: int) -> None:
    """Something that only people see changed."""
    after_commit(Topic.HINT, ("node", node_id))
    after_commit(Topic.HINT, ("map",))

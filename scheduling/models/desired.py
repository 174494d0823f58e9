"""The desired set of each node: only its epoch is stored, the set itself is the node's live placements."""

from __future__ import annotations

from django.db import models

from inventory.models import Node


class DesiredState(models.Model):
    """Epoch of a node's desired set; it never decreases and grows with every change of the set.

    Whoever changes the set raises the epoch first, so this row is also the lock that serialises all
    bookings of its node.
    """

    node = models.OneToOneField(Node, on_delete=models.CASCADE, primary_key=True, related_name="desired")
    epoch = models.BigIntegerField(default=1)

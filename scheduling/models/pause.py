"""Parts of the cluster in which nothing new is started; the whole of it is base.Cluster's own switch."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from controlplane.base import clock
from inventory.models import NodeSet
from queues.models import Queue


class Pause(models.Model):
    """Nothing new is started for one queue, or on the nodes of one node set."""

    queue = models.OneToOneField(Queue, null=True, on_delete=models.CASCADE, related_name="pause")
    node_set = models.OneToOneField(NodeSet, null=True, on_delete=models.CASCADE, related_name="pause")
    reason = models.CharField(max_length=500, blank=True)
    actor = models.CharField(max_length=150)
    since = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(queue=None, node_set__isnull=False) | Q(queue__isnull=False, node_set=None),
                name="pause_of_one_thing",
            )
        ]

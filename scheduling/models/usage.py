"""What teams have had of the cluster, decayed; counted on from what placements hold and held."""

from __future__ import annotations

from django.db import models

from controlplane.accounts.models import Team
from queues.models import Queue


class TeamUsage(models.Model):
    """Decayed use of one team in one queue as of the last count, in milli x ms, and the share of the cluster that it
    dominates.
    """

    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="usages")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="usages")
    device_milli_ms = models.DecimalField(max_digits=30, decimal_places=0, default=0)
    core_milli_ms = models.DecimalField(max_digits=30, decimal_places=0, default=0)
    share_ppm = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["queue", "team"], name="team_usage_once")]


class UsageCount(models.Model):
    """One row: until when use was counted."""

    until = models.DateTimeField()

"""Cycles, the score sheet of each decision, and why each shape waits."""

from __future__ import annotations

from django.db import models

from controlplane.base import clock
from queues.models import Job
from scheduling.models.placement import Placement


class Cycle(models.Model):
    """One scheduling cycle that looked at jobs, with its own costs; the figures are there when it has finished.

    `considered` jobs were `placed` or keep `waiting`. `refused` counts shapes: equal jobs are refused as one. `stale`
    are choices that were not carried out because something had changed meanwhile. Of `cache_lookups` scores that were
    needed (one per shape and node), `cache_hits` were still right.
    """

    started_at = models.DateTimeField(default=clock.now, db_index=True)
    finished_at = models.DateTimeField(null=True)
    fencing_token = models.BigIntegerField()
    wall_ms = models.PositiveIntegerField(default=0)
    cpu_ms = models.PositiveIntegerField(default=0)
    considered = models.PositiveIntegerField(default=0)
    placed = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    stale = models.PositiveIntegerField(default=0)
    cache_hits = models.PositiveIntegerField(default=0)
    cache_lookups = models.PositiveIntegerField(default=0)

    @property
    def waiting(self) -> int:
        """Jobs that still waited when it ended, whatever the reason; the next cycle looks at them again."""
        return max(0, self.considered - self.placed)


class Outcome(models.TextChoices):
    """What became of one decision when it was applied."""

    APPLIED = "applied"
    STALE = "stale"


class Decision(models.Model):
    """One choice of the engine with its score sheet (scheduling.sheets of types.Placed); kept also when
    apply refused it.
    """

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="decisions")
    attempt = models.PositiveIntegerField()
    cycle = models.ForeignKey(Cycle, on_delete=models.CASCADE, related_name="decisions")
    placement = models.OneToOneField(Placement, null=True, on_delete=models.CASCADE, related_name="decision")
    at = models.DateTimeField(default=clock.now)
    outcome = models.CharField(max_length=10, choices=Outcome)
    stale_code = models.CharField(max_length=50, blank=True)
    policy_number = models.PositiveIntegerField()
    sheet = models.JSONField()

    class Meta:
        indexes = [models.Index(fields=["job", "-id"], name="decision_recent")]


class ShapeReason(models.Model):
    """Why jobs of one shape wait now; rewritten only when the dominant code changes or the numbers are
    older than a minute. `cycle` is the one that wrote it last.
    """

    shape = models.CharField(max_length=64, primary_key=True)
    code = models.CharField(max_length=30)
    refusal = models.JSONField()
    cycle = models.ForeignKey(Cycle, null=True, on_delete=models.SET_NULL, related_name="+")
    since = models.DateTimeField(default=clock.now)
    updated_at = models.DateTimeField(default=clock.now)

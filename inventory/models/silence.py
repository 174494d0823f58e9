"""What the probe cycle knows about its own running: its last beat, and the times in which silence does not count."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q


class ProbeBeat(models.Model):
    """The one row with the last beat of the probe cycle; a late beat shows that the control plane was down."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    at = models.DateTimeField(null=True)
    pruned_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="probe_beat_single_row")]


class UncountedCause(models.TextChoices):
    """Why a time does not count as silence of nodes."""

    DOWN = "down"
    MASS = "mass"


class UncountedTime(models.Model):
    """A time in which no node's silence grew: the control plane was down, or too many nodes were silent together."""

    cause = models.CharField(max_length=5, choices=UncountedCause)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(ended_at__gte=F("started_at")), name="uncounted_time_ordered")
        ]

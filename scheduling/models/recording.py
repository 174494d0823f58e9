"""What whole calls of `plan()` were given and answered, for replays and what-ifs; the oldest make room."""

from __future__ import annotations

from django.db import models

from controlplane.base import clock
from scheduling.models.decision import Cycle


class Recording(models.Model):
    """One call of `plan()` in a live cycle. `document` is packed by scheduling.recordings; `bytes` is its size.

    `nodes` and `jobs` count what the call was given, `placed` and `refused` what it answered.
    """

    cycle = models.ForeignKey(Cycle, null=True, on_delete=models.SET_NULL, related_name="recordings")
    at = models.DateTimeField(default=clock.now)
    nodes = models.PositiveIntegerField()
    jobs = models.PositiveIntegerField()
    placed = models.PositiveIntegerField()
    refused = models.PositiveIntegerField()
    bytes = models.PositiveIntegerField()
    document = models.BinaryField()


class RecordingWish(models.Model):
    """The one row that says: record the next cycle whatever it costs. Gone when that is done."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    reason = models.CharField(max_length=500, blank=True)
    actor = models.CharField(max_length=150)
    since = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="recording_wish_single_row")]


class ExpectedJobs(models.Model):
    """The one row with the classes of jobs that recent history makes the scheduler expect, most frequent first.

    `shapes` is a list of scheduling.engine.types.ExpectedShape as plain values.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    shapes = models.JSONField(default=list)
    computed_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="expected_jobs_single_row")]

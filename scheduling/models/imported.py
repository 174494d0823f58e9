"""Jobs that another scheduler ran before Headrace did: a baseline and a history, never anything to run."""

from __future__ import annotations

from django.db import models

from controlplane.base import clock
from queues.models import Queue


class ImportedJob(models.Model):
    """One past job of a named source. `request` is the engine's Request of one replica, as its codec writes it.

    `waited_ms` and `duration_ms` are null where the source does not know them or the job never ran. `team` is the
    source's own name, which nothing here gives a meaning.
    """

    source = models.CharField(max_length=100)
    name = models.CharField(max_length=200)
    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="imported_jobs")
    team = models.CharField(max_length=200, blank=True)
    request = models.JSONField()
    replicas = models.PositiveIntegerField(default=1)
    submitted_at = models.DateTimeField(db_index=True)
    waited_ms = models.BigIntegerField(null=True)
    duration_ms = models.BigIntegerField(null=True)
    imported_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "name"], name="imported_job_once")]

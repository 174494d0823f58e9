"""Arrays: many tasks of one request."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from controlplane.accounts.models import Team
from controlplane.base import clock
from queues.models.queue import Queue


class JobArray(models.Model):
    """One array; its tasks are jobs with an index from 0. `at_once` of them are under way at most (None: all)."""

    name = models.CharField(max_length=200)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="arrays")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="arrays")
    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="arrays")
    tasks = models.PositiveIntegerField()
    at_once = models.PositiveIntegerField(null=True)
    submitted_at = models.DateTimeField(default=clock.now)

    class Meta:
        indexes = [models.Index(fields=["team", "-id"], name="array_team_recent")]

"""Places promised to jobs that have waited long, as the last cycle left them."""

from __future__ import annotations

from django.db import models

from inventory.models import Node
from queues.models import Job


class Promise(models.Model):
    """Where and when one replica of a waiting job should start. `place` is the engine's Reservation as JSON."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="promises")
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="promises")
    replica = models.PositiveIntegerField(default=0)
    starts_at = models.DateTimeField()
    place = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "replica"], name="promise_once")]

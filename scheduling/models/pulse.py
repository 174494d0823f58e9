"""That the scheduler looks, minute by minute, also while there is nothing to decide."""

from __future__ import annotations

from django.db import models


class Pulse(models.Model):
    """The looks of one minute: how many, how many came to nothing (lease lost, an error), the first and the last, and
    the longest time between two of them.
    """

    minute = models.DateTimeField(primary_key=True)
    looks = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    longest_gap_ms = models.PositiveBigIntegerField(default=0)

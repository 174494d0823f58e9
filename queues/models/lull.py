"""Since when the cluster has been idle enough for jobs that can wait for a quieter time."""

from __future__ import annotations

from django.db import models


class Lull(models.Model):
    """At most one row: there while less is booked than the policy's `early-below-percent` and nobody else waits."""

    since = models.DateTimeField()

"""Logs of placements as capped chunks."""

from __future__ import annotations

from django.db import models

from controlplane.base import clock
from scheduling.models.placement import Placement


class LogChunk(models.Model):
    """Bytes of one placement's log from `offset` on; chunks are contiguous, so an append at any other
    offset is refused.
    """

    placement = models.ForeignKey(Placement, on_delete=models.CASCADE, related_name="log_chunks")
    offset = models.BigIntegerField()
    data = models.BinaryField()
    at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["placement", "offset"], name="log_chunk_once")]

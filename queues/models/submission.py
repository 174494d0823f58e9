"""Idempotent submission: which key made which job."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from controlplane.base import clock
from queues.models.job import Job


class IdempotencyKey(models.Model):
    """One Idempotency-Key of one user; the same key with another body is refused."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    key = models.CharField(max_length=200)
    body_hash = models.CharField(max_length=64)
    job = models.ForeignKey(Job, null=True, on_delete=models.CASCADE)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once")]

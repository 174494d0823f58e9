"""Queues as the active policy version defines them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Queue(models.Model):
    """One queue; written only when a policy version becomes active, `revision` with every change of what its jobs may
    hold. A queue no longer in the policy is closed, never deleted.
    """

    name = models.CharField(max_length=50, unique=True)
    priority = models.IntegerField()
    quota_ppm = models.PositiveIntegerField(null=True)
    model_caps_ppm = models.JSONField(default=dict)
    preemptable = models.BooleanField(default=False)
    borrow = models.BooleanField(default=False)
    closed = models.BooleanField(default=False)
    policy_number = models.PositiveIntegerField()
    revision = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(quota_ppm=None) | Q(quota_ppm__lte=1_000_000), name="queue_quota_range"
            ),
        ]

"""Versions of the policy document; one of them is active."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from controlplane.base import clock


class PolicyVersion(models.Model):
    """One version of the document as written, with author and reason; never edited."""

    number = models.PositiveIntegerField(unique=True)
    document = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    author_name = models.CharField(max_length=150)
    reason = models.CharField(max_length=500)
    created_at = models.DateTimeField(default=clock.now)
    active = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["active"], condition=models.Q(active=True), name="policy_one_active"
            ),
        ]

"""Facts about the control plane itself: its identity and its leases."""

from __future__ import annotations

import uuid

from django.db import models

from controlplane.base import clock


class Cluster(models.Model):
    """The one row that says which cluster this database is; agents obey only their own cluster."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    uid = models.UUIDField(default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100, default="Headrace")
    created_at = models.DateTimeField(default=clock.now)
    paused = models.BooleanField(default=False)
    paused_reason = models.CharField(max_length=500, blank=True)
    paused_by = models.CharField(max_length=150, blank=True, default="")
    paused_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="cluster_single_row")]


class Lease(models.Model):
    """A named lease with a fencing token that only grows; written by controlplane.base.locks only."""

    name = models.CharField(max_length=50, primary_key=True)
    token = models.BigIntegerField(default=0)
    holder = models.CharField(max_length=100, blank=True)
    expires_at = models.DateTimeField(null=True)


class Wake(models.Model):
    """Counts the wake-ups of one lease so that none is missed; apart from the lease's row, which gets locked."""

    name = models.CharField(max_length=50, primary_key=True)
    seq = models.BigIntegerField(default=0)

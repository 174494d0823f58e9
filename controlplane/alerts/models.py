"""Alerts: what needs a person."""

from __future__ import annotations

from django.db import models

from controlplane.base import clock


class Severity(models.TextChoices):
    """How urgent an alert is."""

    WARNING = "warning"
    CRITICAL = "critical"


class Alert(models.Model):
    """A fact that needs a person; open until cleared. One open alert per (code, subject)."""

    code = models.CharField(max_length=50)
    severity = models.CharField(max_length=10, choices=Severity)
    subject_type = models.CharField(max_length=20)
    subject_id = models.CharField(max_length=100)
    details = models.JSONField(default=dict)
    raised_at = models.DateTimeField(default=clock.now)
    cleared_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["code", "subject_type", "subject_id"],
                condition=models.Q(cleared_at=None),
                name="alert_open_once",
            ),
        ]

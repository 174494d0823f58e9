"""Alerts: what needs a person."""

from __future__ import annotations

from django.db import models

from controlplane.base import clock


class Severity(models.TextChoices):
    """How urgent an alert is."""

    WARNING = "warning"
    CRITICAL = "critical"


class Alert(models.Model):
    """A fact that needs a person; open until cleared. One open alert per (code, subject).

    Acknowledged: somebody has taken it up. An alert that becomes critical needs a new one.
    """

    code = models.CharField(max_length=80)
    severity = models.CharField(max_length=10, choices=Severity)
    subject_type = models.CharField(max_length=20)
    subject_id = models.CharField(max_length=100)
    details = models.JSONField(default=dict)
    raised_at = models.DateTimeField(default=clock.now)
    cleared_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=150, blank=True)
    note = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["code", "subject_type", "subject_id"],
                condition=models.Q(cleared_at=None),
                name="alert_open_once",
            ),
        ]


class Silence(models.Model):
    """Alerts that shall not call anybody until a time, with who said so and why; blank fields match all."""

    code = models.CharField(max_length=80, blank=True)
    subject_type = models.CharField(max_length=20, blank=True)
    subject_id = models.CharField(max_length=100, blank=True)
    reason = models.CharField(max_length=500)
    created_at = models.DateTimeField(default=clock.now)
    created_by = models.CharField(max_length=150)
    until = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["until"], name="silence_until")]


class Breach(models.Model):
    """Since when a reading is beyond the limit of a rule without a break."""

    rule = models.CharField(max_length=50)
    subject_type = models.CharField(max_length=20)
    subject_id = models.BigIntegerField()
    since = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rule", "subject_type", "subject_id"], name="breach_once")
        ]

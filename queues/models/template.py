"""Named forms of requests, one set per team."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from controlplane.accounts.models import Team
from controlplane.base import clock


class JobTemplate(models.Model):
    """A request with a name, as far as it is the same every time; `spec` as it was written. Jobs keep the name only."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="templates")
    name = models.CharField(max_length=100)
    description = models.CharField(max_length=500, blank=True)
    spec = models.JSONField()
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="templates"
    )
    changed_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="job_template_once")]

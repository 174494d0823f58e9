"""What teams may hold inside queues, and how their leads divide that among members."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from controlplane.accounts.models import Team
from queues.models.queue import Queue


class TeamQuota(models.Model):
    """What one team may hold inside a queue at most, in milli-device of a model as requests name it (empty: of all
    models together). Set by administrators.
    """

    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="team_quotas")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="quotas")
    model = models.CharField(max_length=200, blank=True)
    quota_milli = models.PositiveBigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["queue", "team", "model"], name="team_quota_once")]


class MemberShare(models.Model):
    """What one member may hold of a team's quota at most. Set by the team's leads; together no more than the quota."""

    quota = models.ForeignKey(TeamQuota, on_delete=models.CASCADE, related_name="shares")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="quota_shares")
    share_milli = models.PositiveBigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["quota", "user"], name="member_share_once")]

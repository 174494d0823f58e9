"""Setting what teams may hold and how their leads divide it: guarded, audited, and told to the scheduler at once."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.db.models import Sum
from django.utils.translation import gettext_lazy as _

from controlplane.accounts import audit
from controlplane.accounts.audit import Who
from controlplane.accounts.models import Membership, Team, User
from controlplane.base.problems import Problem, not_found
from controlplane.base.tx import Topic, after_commit
from queues.models import MemberShare, Queue, TeamQuota
from queues.operations import note_changed_caps


def set_team_quota(who: Who, queue: Queue, team: Team, *, model: str, quota_milli: int) -> TeamQuota:
    """What the team may hold of a model ("": of all together). 409 when its lead has given members more by now."""
    with transaction.atomic():
        _locked(queue, team)
        quota, made = TeamQuota.objects.get_or_create(
            queue=queue, team=team, model=model, defaults={"quota_milli": quota_milli}
        )
        if not made and quota_milli < (given := _given(quota)):
            raise Problem(
                409,
                "shares-exceed-quota",
                params={"given_milli": given},
                message=_(
                    "The members' shares of this quota are more than that. Their lead must lower them first."
                ),
            )
        before = None if made else quota.quota_milli
        TeamQuota.objects.filter(pk=quota.pk).update(quota_milli=quota_milli)
        details = {"queue": queue.name, "model": model, "milli": quota_milli, "before_milli": before}
        _tell(who, "team-quota-set", team, details)
    quota.quota_milli = quota_milli
    return quota


def drop_team_quota(who: Who, quota: TeamQuota) -> None:
    """Without a quota the team may hold what its queue may; its members' shares end with it."""
    with transaction.atomic():
        locked = _still_there(quota)
        details = {"queue": quota.queue.name, "model": quota.model, "before_milli": locked.quota_milli}
        locked.delete()
        _tell(who, "team-quota-drop", quota.team, details)


def set_member_share(who: Who, quota: TeamQuota, user: User, *, share_milli: int) -> MemberShare:
    """What one member may hold of the quota. 409 when all shares together would be more than the quota."""
    with transaction.atomic():
        locked = _still_there(quota)
        others = _given(locked, but=user)
        if others + share_milli > locked.quota_milli:
            raise Problem(
                409,
                "shares-exceed-quota",
                params={"left_milli": max(0, locked.quota_milli - others)},
                message=_(
                    "All shares together would be more than the team's quota. Lower another one first."
                ),
            )
        if not Membership.objects.filter(team=quota.team, user=user).exists():
            raise Problem(
                409, "not-a-member", message=_("Only members of the team can have a share of its quota.")
            )
        share, _made = MemberShare.objects.update_or_create(
            quota=locked, user=user, defaults={"share_milli": share_milli}
        )
        _tell(who, "member-share-set", quota.team, {**_of(quota, user), "milli": share_milli})
    return share


def drop_member_share(who: Who, quota: TeamQuota, user: User) -> bool:
    """Without a share a member may hold what the team may; False when there was none."""
    with transaction.atomic():
        deleted, _rows = MemberShare.objects.filter(quota=quota, user=user).delete()
        if deleted:
            _tell(who, "member-share-drop", quota.team, _of(quota, user))
    return bool(deleted)


def _of(quota: TeamQuota, user: User) -> dict[str, str]:
    return {"queue": quota.queue.name, "model": quota.model, "username": user.username}


def _locked(queue: Queue, team: Team) -> None:
    list(TeamQuota.objects.select_for_update().filter(queue=queue, team=team).order_by("pk"))


def _still_there(quota: TeamQuota) -> TeamQuota:
    """The quota as it is now; 404 when somebody took it away meanwhile."""
    locked = TeamQuota.objects.select_for_update().filter(pk=quota.pk).first()
    if locked is None:
        raise not_found()
    return locked


def _given(quota: TeamQuota, *, but: User | None = None) -> int:
    shares = MemberShare.objects.filter(quota=quota)
    shares = shares if but is None else shares.exclude(user=but)
    return int(shares.aggregate(total=Sum("share_milli"))["total"] or 0)


def _tell(who: Who, action: str, team: Team, details: Mapping[str, object]) -> None:
    audit.record(who, action, target=team, details={"team": team.slug, **details})
    note_changed_caps()
    after_commit(Topic.HINT, ("queues",))
    after_commit(Topic.CYCLE_WAKE)

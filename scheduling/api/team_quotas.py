"""Quotas of teams, set by administrators, and the shares that team leads give their members. With `dry_run` 1 nothing
is stored and the answer tells what would follow.
"""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.api.teams import find_team
from controlplane.accounts.models import User
from controlplane.accounts.permissions import Action, permission_for, permissions_by_method, require
from controlplane.accounts.scoping import signed_in, visible_to
from controlplane.base.api import PAGE_PARAMETERS, StrictSerializer, page, page_of, read_body, read_query
from controlplane.base.problems import Fault, Problem, invalid, not_found
from inventory.known_names import no_such_model
from queues import team_quotas
from queues.models import Queue, TeamQuota
from scheduling.api.consequences import ConsequencesSerializer, DryRunQuerySerializer
from scheduling.engine.types import TeamCap
from scheduling.selectors.consequences import consequences, with_team_cap

MOST_MILLI = 10**12


class ShareSerializer(serializers.Serializer):
    """What one member may hold of the quota."""

    username = serializers.CharField(source="user.username")
    share_milli = serializers.IntegerField()


class TeamQuotaSerializer(serializers.Serializer):
    """What a team may hold inside a queue, in milli-device of a model (null: of all together), and its division."""

    id = serializers.IntegerField()
    queue = serializers.CharField(source="queue.name")
    team = serializers.CharField(source="team.slug")
    model = serializers.SerializerMethodField()
    quota_milli = serializers.IntegerField()
    shares = ShareSerializer(many=True)

    def get_model(self, quota: TeamQuota) -> str | None:
        return quota.model or None


class TeamQuotaSetSerializer(StrictSerializer):
    """A new quota, or another amount for the same queue, team and model."""

    queue = serializers.CharField(max_length=50)
    team = serializers.CharField(max_length=50)
    model = serializers.CharField(max_length=200, required=False, allow_null=True)
    quota_milli = serializers.IntegerField(min_value=0, max_value=MOST_MILLI)


class ShareSetSerializer(StrictSerializer):
    """A member's share."""

    share_milli = serializers.IntegerField(min_value=0, max_value=MOST_MILLI)


class TeamQuotaQuerySerializer(StrictSerializer):
    """Filters of the list."""

    queue = serializers.CharField(max_length=50, required=False)
    team = serializers.CharField(max_length=50, required=False)


class TeamQuotasView(APIView):
    """The quotas of the teams that the caller may see."""

    permission_classes = [permissions_by_method(GET=Action.QUEUE_READ, POST=Action.QUEUE_EDIT)]

    @extend_schema(
        operation_id="team_quotas",
        parameters=[TeamQuotaQuerySerializer, *PAGE_PARAMETERS],
        responses=page_of(TeamQuotaSerializer),
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, TeamQuotaQuerySerializer, paged=True)
        found = _seen(request)
        for name, column in (("queue", "queue__name"), ("team", "team__slug")):
            found = found.filter(**{column: query[name]}) if name in query else found
        return page(request, found, serializer=TeamQuotaSerializer)

    @extend_schema(
        operation_id="team_quota_set",
        parameters=[DryRunQuerySerializer],
        request=TeamQuotaSetSerializer,
        responses={201: TeamQuotaSerializer, 200: ConsequencesSerializer},
    )
    def post(self, request: Request) -> Response:
        body = read_body(request, TeamQuotaSetSerializer)
        queue = Queue.objects.filter(name=body["queue"]).first()
        if queue is None:
            raise invalid("queue", Fault.NOT_FOUND)
        team = _team(request, body["team"])
        model, quota_milli = body.get("model") or "", body["quota_milli"]
        if model and (reason := no_such_model(model)):
            raise invalid("model", Fault.NOT_FOUND, message=reason)
        if read_query(request, DryRunQuerySerializer)["dry_run"]:
            return _foretold(request, queue, TeamCap(team.pk, model or None, quota_milli))
        quota = team_quotas.set_team_quota(request, queue, team, model=model, quota_milli=quota_milli)
        return Response(TeamQuotaSerializer(_seen(request).get(pk=quota.pk)).data, status=201)


class TeamQuotaView(APIView):
    """One quota of a team."""

    permission_classes = [permissions_by_method(GET=Action.QUEUE_READ, DELETE=Action.QUEUE_EDIT)]

    @extend_schema(operation_id="team_quota", responses=TeamQuotaSerializer)
    def get(self, request: Request, quota_id: int) -> Response:
        return Response(TeamQuotaSerializer(_find(request, quota_id)).data)

    @extend_schema(operation_id="team_quota_drop", responses={204: None})
    def delete(self, request: Request, quota_id: int) -> Response:
        team_quotas.drop_team_quota(request, _find(request, quota_id))
        return Response(status=204)


class MemberShareView(APIView):
    """The share of one member, set by the leads of the team."""

    permission_classes = [permission_for(Action.TEAM_MEMBER_EDIT)]

    @extend_schema(
        operation_id="member_share_set",
        parameters=[DryRunQuerySerializer],
        request=ShareSetSerializer,
        responses={201: TeamQuotaSerializer, 200: ConsequencesSerializer},
    )
    def put(self, request: Request, quota_id: int, username: str) -> Response:
        quota, user = self._found(request, quota_id, username)
        share_milli = read_body(request, ShareSetSerializer)["share_milli"]
        if read_query(request, DryRunQuerySerializer)["dry_run"]:
            cap = TeamCap(quota.team_id, quota.model or None, share_milli, user.pk)
            return _foretold(request, quota.queue, cap)
        team_quotas.set_member_share(request, quota, user, share_milli=share_milli)
        return Response(TeamQuotaSerializer(_find(request, quota_id)).data, status=201)

    @extend_schema(operation_id="member_share_drop", responses={204: None})
    def delete(self, request: Request, quota_id: int, username: str) -> Response:
        quota, user = self._found(request, quota_id, username)
        if not team_quotas.drop_member_share(request, quota, user):
            raise not_found()
        return Response(status=204)

    def _found(self, request: Request, quota_id: int, username: str) -> tuple[TeamQuota, User]:
        quota = _find(request, quota_id)
        require(signed_in(request), Action.TEAM_MEMBER_EDIT, team=quota.team)
        user = User.objects.filter(username=username).first()
        if user is None:
            raise not_found()
        return quota, user


def _seen(request: Request) -> QuerySet[TeamQuota]:
    found = visible_to(signed_in(request), TeamQuota.objects.all())
    return found.select_related("queue", "team").prefetch_related("shares__user")


def _find(request: Request, quota_id: int) -> TeamQuota:
    quota = _seen(request).filter(pk=quota_id).first()
    if quota is None:
        raise not_found()
    return quota


def _team(request: Request, slug: str) -> Any:
    try:
        return find_team(request, slug)
    except Problem:
        raise invalid("team", Fault.NOT_FOUND) from None


def _foretold(request: Request, queue: Queue, cap: TeamCap) -> Response:
    found = consequences(with_team_cap(queue, cap), signed_in(request))
    return Response(ConsequencesSerializer(found).data)

"""What a team has of the cluster, for its members and above all its leads."""

from __future__ import annotations

from datetime import date
from zoneinfo import ZoneInfo

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.api.teams import find_team
from controlplane.accounts.models import Membership, TeamRole
from controlplane.accounts.permissions import Action, permission_for
from controlplane.base.api import PAGE_PARAMETERS, CursorPages, StrictSerializer, page_of, read_query
from controlplane.base.problems import FAULT_TEXTS, Fault, filled
from controlplane.policy.active import active_policy
from scheduling.api.cluster_serializers import WaitStatsSerializer
from scheduling.selectors.team_use import Days, member_views, today, use_of

MOST_DAYS = 92
EARLIEST, LATEST = date(2000, 1, 1), date(2999, 12, 31)


class HeldSerializer(serializers.Serializer):
    """Booked device-milli, core-milli of jobs without devices, and how many jobs run and wait."""

    device_milli = serializers.IntegerField()
    core_milli = serializers.IntegerField()
    running = serializers.IntegerField()
    waiting = serializers.IntegerField()


class QueueHeldSerializer(HeldSerializer):
    """What the team holds in one queue."""

    queue = serializers.CharField()


class QueueHoursSerializer(serializers.Serializer):
    """Hours of one queue in one day."""

    queue = serializers.CharField()
    device_hours = serializers.FloatField()
    core_hours = serializers.FloatField()


class DayUseSerializer(serializers.Serializer):
    """What was booked in one day, in hours of whole devices, and of cores for jobs without devices; null before the
    cluster placed anything.
    """

    day = serializers.DateField()
    device_hours = serializers.FloatField(allow_null=True)
    core_hours = serializers.FloatField(allow_null=True)
    queues = QueueHoursSerializer(many=True)


class QueueWaitsSerializer(WaitStatsSerializer):
    """Seconds that jobs of the team waited which started in these days, in one queue."""

    queue = serializers.CharField()


class TeamUseSerializer(serializers.Serializer):
    """One team: now by queue, its days by the clocks of the time zone, oldest first, and its waits in them."""

    team = serializers.CharField()
    time_zone = serializers.CharField()
    known_since = serializers.DateTimeField(allow_null=True)
    now = QueueHeldSerializer(many=True)
    days = DayUseSerializer(many=True)
    waits = QueueWaitsSerializer(many=True)


class TeamUseQuerySerializer(StrictSerializer):
    """How many days, and which is the last: today where none is named, by the clocks of the policy's time zone."""

    days = serializers.IntegerField(min_value=1, max_value=MOST_DAYS, default=14)
    until = serializers.DateField(required=False)

    def validate_until(self, value: date) -> date:
        if value < EARLIEST:
            raise serializers.ValidationError(
                filled(FAULT_TEXTS[Fault.MIN], {"limit": EARLIEST}), code=Fault.MIN
            )
        if value > LATEST:
            raise serializers.ValidationError(
                filled(FAULT_TEXTS[Fault.MAX], {"limit": LATEST}), code=Fault.MAX
            )
        return value


class TeamUseView(APIView):
    """What the team holds, held and waited for."""

    permission_classes = [permission_for(Action.TEAM_READ)]

    @extend_schema(operation_id="team_use", parameters=[TeamUseQuerySerializer], responses=TeamUseSerializer)
    def get(self, request: Request, slug: str) -> Response:
        team = find_team(request, slug)
        query = read_query(request, TeamUseQuerySerializer)
        zone = ZoneInfo(active_policy().valley_window.time_zone)
        days = Days.ending(query.get("until") or today(zone), query["days"], zone)
        return Response(TeamUseSerializer(use_of(team, days)).data)


class MemberShareOfSerializer(serializers.Serializer):
    """A share of one quota of the team."""

    quota = serializers.IntegerField()
    queue = serializers.CharField()
    model = serializers.CharField(allow_null=True)
    share_milli = serializers.IntegerField()


class MemberUseSerializer(HeldSerializer):
    """A member with the shares that the lead set, and what the member's jobs of this team hold."""

    username = serializers.CharField()
    role = serializers.ChoiceField(choices=TeamRole.choices)
    shares = MemberShareOfSerializer(many=True)


class MembersUseView(APIView):
    """The members of a team with their shares and what they hold."""

    permission_classes = [permission_for(Action.TEAM_READ)]

    @extend_schema(
        operation_id="members_use", parameters=PAGE_PARAMETERS, responses=page_of(MemberUseSerializer)
    )
    def get(self, request: Request, slug: str) -> Response:
        team = find_team(request, slug)
        members = Membership.objects.filter(team=team).select_related("user")
        members = members.prefetch_related("user__quota_shares__quota__queue")
        pages = CursorPages()
        rows = pages.paginate_queryset(members, request) or []
        return pages.get_paginated_response(MemberUseSerializer(member_views(team, rows), many=True).data)

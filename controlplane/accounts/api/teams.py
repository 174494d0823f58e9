"""Teams and their members; team leads manage their own team, nobody sees a foreign one."""

from __future__ import annotations

from typing import Any

from django.db.models import Count
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import operations
from controlplane.accounts.api.serializers import (
    MemberEditSerializer,
    MemberSerializer,
    TeamEditSerializer,
    TeamMakeSerializer,
    TeamSerializer,
)
from controlplane.accounts.models import Membership, Team, User
from controlplane.accounts.permissions import Action, permission_for, permissions_by_method, require
from controlplane.accounts.scoping import visible_teams
from controlplane.base.api import (
    PAGE_PARAMETERS,
    check_if_match,
    etag_of,
    page,
    page_of,
    read_body,
    with_etag,
)
from controlplane.base.problems import Problem, not_found


def find_team(request: Request, slug: str) -> Any:
    """A team that the caller may see, with its member count."""
    seen = Team.objects.filter(pk__in=visible_teams(request.user).values("pk"))
    team = seen.annotate(member_count=Count("memberships")).filter(slug=slug).first()
    if team is None:
        raise not_found()
    return team


def _etag(team: Team) -> str:
    return etag_of("team", team.pk, team.name)


class TeamsView(APIView):
    """The teams that the caller may see."""

    permission_classes = [permissions_by_method(GET=Action.TEAM_READ, POST=Action.TEAM_CREATE)]

    @extend_schema(operation_id="teams", parameters=PAGE_PARAMETERS, responses=page_of(TeamSerializer))
    def get(self, request: Request) -> Response:
        seen = Team.objects.filter(pk__in=visible_teams(request.user).values("pk"))
        teams = seen.annotate(member_count=Count("memberships"))
        return page(request, teams, serializer=TeamSerializer, ordering="slug")

    @extend_schema(operation_id="team_make", request=TeamMakeSerializer, responses={201: TeamSerializer})
    def post(self, request: Request) -> Response:
        body = read_body(request, TeamMakeSerializer)
        operations.make_team(request, slug=body["slug"], name=body["name"])
        return Response(TeamSerializer(find_team(request, body["slug"])).data, status=201)


class TeamView(APIView):
    """One team."""

    permission_classes = [permissions_by_method(GET=Action.TEAM_READ, PATCH=Action.TEAM_EDIT)]

    @extend_schema(operation_id="team", responses=TeamSerializer)
    def get(self, request: Request, slug: str) -> Response:
        team = find_team(request, slug)
        return with_etag(Response(TeamSerializer(team).data), _etag(team))

    @extend_schema(operation_id="team_edit", request=TeamEditSerializer, responses=TeamSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        team = find_team(request, slug)
        require(request.user, Action.TEAM_EDIT, team=team)
        body = read_body(request, TeamEditSerializer)
        check_if_match(request, _etag(team))
        operations.rename_team(request, team, name=body["name"])
        team = find_team(request, slug)
        return with_etag(Response(TeamSerializer(team).data), _etag(team))


class MembersView(APIView):
    """Who is in a team."""

    permission_classes = [permission_for(Action.TEAM_READ)]

    @extend_schema(operation_id="members", parameters=PAGE_PARAMETERS, responses=page_of(MemberSerializer))
    def get(self, request: Request, slug: str) -> Response:
        members = Membership.objects.filter(team=find_team(request, slug)).select_related("user")
        return page(request, members, serializer=MemberSerializer)


class MemberView(APIView):
    """One member of a team."""

    permission_classes = [
        permissions_by_method(
            GET=Action.TEAM_READ, PUT=Action.TEAM_MEMBER_EDIT, DELETE=Action.TEAM_MEMBER_EDIT
        )
    ]

    @extend_schema(operation_id="member", responses=MemberSerializer)
    def get(self, request: Request, slug: str, username: str) -> Response:
        return Response(MemberSerializer(_membership(find_team(request, slug), username)).data)

    @extend_schema(operation_id="member_set", request=MemberEditSerializer, responses=MemberSerializer)
    def put(self, request: Request, slug: str, username: str) -> Response:
        team = find_team(request, slug)
        require(request.user, Action.TEAM_MEMBER_EDIT, team=team)
        body = read_body(request, MemberEditSerializer)
        user = User.objects.filter(username=username, is_active=True).first()
        if user is None:
            raise Problem(404, "user-not-found", message=_("There is no active account with this name."))
        return Response(
            MemberSerializer(operations.set_member(request, team, user=user, role=body["role"])).data
        )

    @extend_schema(operation_id="member_remove", responses={204: None})
    def delete(self, request: Request, slug: str, username: str) -> Response:
        team = find_team(request, slug)
        require(request.user, Action.TEAM_MEMBER_EDIT, team=team)
        operations.remove_member(request, team, user=_membership(team, username).user)
        return Response(status=204)


def _membership(team: Team, username: str) -> Membership:
    found = Membership.objects.select_related("user").filter(team=team, user__username=username).first()
    if found is None:
        raise not_found()
    return found

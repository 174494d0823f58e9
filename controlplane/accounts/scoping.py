"""Which rows a caller may see: every queryset of team-owned data goes through here."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import Model, QuerySet
from rest_framework.request import Request

from controlplane.accounts.models import Role, Team, User
from controlplane.accounts.permissions import Caller, token_of
from controlplane.base.problems import Problem

ModelT = TypeVar("ModelT", bound=Model)
SEE_ALL = frozenset({Role.ADMIN, Role.OPERATOR})


def signed_in(request: Request) -> User:
    """The caller of a view whose permission class let nobody else in."""
    if not isinstance(request.user, User):
        raise Problem(401, "not-authenticated")
    return request.user


def sees_everything(user: Caller) -> bool:
    """Whether no row is hidden from this caller: an admin or operator, not with a token narrowed to one team."""
    token = token_of(user)
    return isinstance(user, User) and user.role in SEE_ALL and (token is None or token.team_id is None)


def visible_to(user: Caller, queryset: QuerySet[ModelT], *, team_field: str = "team") -> QuerySet[ModelT]:
    """The rows whose team the caller may see; a token narrowed to one team narrows everybody, also admins."""
    if sees_everything(user):
        return queryset
    return queryset.filter(**{f"{team_field}__in": visible_teams(user)})


def visible_teams(user: Caller) -> QuerySet[Team]:
    """The teams the caller may see."""
    if not isinstance(user, User):
        return Team.objects.none()
    token = token_of(user)
    teams = Team.objects.all() if user.role in SEE_ALL else Team.objects.filter(memberships__user=user)
    return teams if token is None or token.team_id is None else teams.filter(pk=token.team_id)

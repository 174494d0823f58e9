"""People, teams and clients for the tests of the control plane."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import ApiToken, Membership, Role, Scope, Team, TeamRole, User

PASSWORD = "correct-horse-battery"


@pytest.fixture
def make_user(db: None) -> Callable[..., User]:
    def make(
        username: str = "ada", *, role: Role = Role.MEMBER, teams: dict[Team, TeamRole] | None = None
    ) -> User:
        user = User(username=username, email=f"{username}@example.com", role=role)
        user.set_password(PASSWORD)
        user.save()
        for team, team_role in (teams or {}).items():
            Membership.objects.create(user=user, team=team, role=team_role)
        return user

    return make


@pytest.fixture
def team(db: None) -> Team:
    return Team.objects.create(slug="vision", name="Vision")


@pytest.fixture
def other_team(db: None) -> Team:
    return Team.objects.create(slug="speech", name="Speech")


@pytest.fixture
def admin(make_user: Callable[..., User]) -> User:
    return make_user("root", role=Role.ADMIN)


@pytest.fixture
def member(make_user: Callable[..., User], team: Team) -> User:
    return make_user("mel", teams={team: TeamRole.MEMBER})


@pytest.fixture
def lead(make_user: Callable[..., User], team: Team) -> User:
    return make_user("lea", teams={team: TeamRole.LEAD})


def client_of(user: User) -> APIClient:
    """A signed-in browser, past the CSRF check."""
    client = APIClient()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


def token_client(user: User, *scopes: Scope, team: Team | None = None) -> APIClient:
    """A caller with an API token."""
    _row, secret = ApiToken.objects.create(user=user, name="ci", scopes=list(scopes or Scope), team=team)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client

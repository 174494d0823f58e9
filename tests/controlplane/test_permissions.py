"""The permission table, and every API route against every role and token scope."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Role, Scope, Team, TeamRole, User
from controlplane.accounts.permissions import PERMISSIONS, Action, Grade, allows, grades_of
from tests.controlplane.conftest import client_of, token_client
from tests.controlplane.routes import api_routes

ROUTES = api_routes()
IDS = [f"{route.method} {route.template}" for route in ROUTES]


@pytest.fixture
def people(make_user: Callable[..., User], team: Team) -> dict[Grade, User]:
    return {
        Grade.ADMIN: make_user("adm", role=Role.ADMIN),
        Grade.OPERATOR: make_user("ops", role=Role.OPERATOR),
        Grade.LEAD: make_user("lea", teams={team: TeamRole.LEAD}),
        Grade.MEMBER: make_user("mel", teams={team: TeamRole.MEMBER}),
    }


def test_every_action_has_a_rule() -> None:
    assert set(PERMISSIONS) == set(Action)
    assert all(Grade.ADMIN in rule.grades for rule in PERMISSIONS.values())


@pytest.mark.parametrize("route", ROUTES, ids=IDS)
def test_every_route_names_an_action(route) -> None:
    assert route.action is not None, (
        f"{route.view.__name__} must have one permission class that names an Action"
    )


class Any_:
    """Every answer but the two of the permission check, and no fault of ours."""

    def __eq__(self, status: object) -> bool:
        return isinstance(status, int) and status not in (401, 403) and status < 500


ANY = Any_()


def ask(client: APIClient, route) -> int:
    return client.generic(route.method, route.address, "{}", content_type="application/json").status_code


def expected(action: Action, grade: Grade) -> bool:
    """Whether a person of this grade (members, leads: of one team; operators: of none) may try the action at all."""
    having = {grade, Grade.MEMBER} if grade is not Grade.ADMIN else {grade}
    return bool(having & PERMISSIONS[action].grades)


@pytest.mark.django_db(transaction=True)
def test_every_route_against_every_role(people: dict[Grade, User]) -> None:
    """Committed rows, since some views answer from other threads."""
    clients: dict[Grade | None, APIClient] = {None: APIClient()}
    clients |= {grade: client_of(user) for grade, user in people.items()}
    wrong = []
    for route in ROUTES:
        wanted: dict[Grade | None, object] = {None: 401}
        wanted |= {grade: ANY if expected(route.action, grade) else 403 for grade in people}
        for grade, want in wanted.items():
            got = ask(clients[grade], route)
            if got != want:
                wrong.append(f"{route.method} {route.template} as {grade}: {got}")
    assert wrong == []


@pytest.mark.django_db(transaction=True)
def test_every_route_against_every_scope(admin: User) -> None:
    clients = {scope: token_client(admin, scope) for scope in Scope}
    wrong = []
    for route in ROUTES:
        for scope, client in clients.items():
            rule = PERMISSIONS[route.action]
            wanted = ANY if rule.scope == scope and not rule.whole else 403
            got = ask(client, route)
            if got != wanted:
                wrong.append(f"{route.method} {route.template} with {scope}: {got}")
    assert wrong == []


def test_grades_within_a_team(people: dict[Grade, User], team: Team, other_team: Team) -> None:
    lead = people[Grade.LEAD]
    assert grades_of(lead, team) == {Grade.LEAD, Grade.MEMBER}
    assert grades_of(lead, other_team) == frozenset()
    assert grades_of(people[Grade.ADMIN], other_team) == {Grade.ADMIN}
    assert grades_of(people[Grade.OPERATOR], other_team) == {Grade.OPERATOR}


def test_members_cancel_their_own_jobs_leads_those_of_the_team(
    people: dict[Grade, User], team: Team, other_team: Team
) -> None:
    lead, member = people[Grade.LEAD], people[Grade.MEMBER]
    assert allows(member, Action.JOB_CANCEL, team=team, owner=member)
    assert not allows(member, Action.JOB_CANCEL, team=team, owner=lead)
    assert not allows(member, Action.JOB_CANCEL, team=other_team, owner=member)
    assert allows(lead, Action.JOB_CANCEL, team=team, owner=member)
    assert not allows(lead, Action.JOB_CANCEL, team=other_team, owner=member)
    assert allows(people[Grade.OPERATOR], Action.JOB_CANCEL, team=other_team, owner=member)


def test_a_closed_account_may_nothing(people: dict[Grade, User]) -> None:
    admin = people[Grade.ADMIN]
    admin.is_active = False
    assert not any(allows(admin, action) for action in Action)

"""Who did it, and from where."""

from __future__ import annotations

import pytest
from django.test import RequestFactory
from pytest_django import Settings

from controlplane.accounts.audit import client_address, record
from controlplane.accounts.models import AuditEntry, Team, User


@pytest.mark.parametrize(
    ("behind_proxy", "forwarded", "address"),
    [
        (False, "10.9.9.9", "127.0.0.1"),
        (True, "10.9.9.9", "10.9.9.9"),
        (True, "1.2.3.4, 10.9.9.9", "10.9.9.9"),
        (True, "2001:db8::1", "2001:db8::1"),
        (True, "nonsense", "127.0.0.1"),
        (True, "", "127.0.0.1"),
    ],
)
def test_only_our_own_proxy_is_believed(
    settings: Settings, behind_proxy: bool, forwarded: str, address: str
) -> None:
    settings.BEHIND_PROXY = behind_proxy
    request = RequestFactory().get("/", headers={"X-Forwarded-For": forwarded})
    assert client_address(request) == address


def test_users_and_parts_of_the_system_are_actors(admin: User, team: Team) -> None:
    record(admin, "a", target=team, details={"x": 1})
    record("probe-cycle", "b", target=("node", 7))
    rows = list(
        AuditEntry.objects.order_by("id").values_list("actor_name", "target_type", "target_id", "address")
    )
    assert rows == [("root", "team", str(team.pk), None), ("probe-cycle", "node", "7", None)]

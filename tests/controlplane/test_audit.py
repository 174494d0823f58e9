"""Who did it, and from where."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import DatabaseError
from django.test import RequestFactory
from pytest_django import Settings

from controlplane.accounts.audit import client_address, record
from controlplane.accounts.models import AuditEntry, Team, User
from tests.controlplane.conftest import client_of
from tests.scheduling.factories import make_job, make_queues


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


ROOT = Path(__file__).parents[2]
PACKAGES = ("controlplane", "inventory", "queues", "scheduling")
# The session is the library's, and a refused change of a password changes nothing: these lines tell of attempts.
ATTEMPTS = {
    ("controlplane/accounts/signin.py", name) for name in ("login", "logout", "authentication_failed")
} | {("controlplane/accounts/passwords.py", "change_own_password")}


def outside(tree: ast.AST, called: set[str], function: str = "", *, atomic: bool = False) -> Iterator[str]:
    """The functions that call one of `called` without a transaction around the line."""
    for node in ast.iter_child_nodes(tree):
        name, inside = function, atomic
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = node.name
        if isinstance(node, ast.With):
            inside = atomic or any("transaction.atomic" in ast.unparse(item) for item in node.items)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in called and not inside:
            yield name
        yield from outside(node, called, name, atomic=inside)


def unguarded(tree: ast.AST) -> set[str]:
    """The same, where private functions are as good as their callers in the same file."""
    found: set[str] = set()
    names = {"record", "audit.record"}
    while names:
        callers = set(outside(tree, names)) - found
        found |= callers
        names = {name for name in callers if name.startswith("_")}
    return {name for name in found if not name.startswith("_")}


def test_every_line_of_the_trail_is_written_with_its_change() -> None:
    found = {
        (file.relative_to(ROOT).as_posix(), function)
        for package in PACKAGES
        for file in (ROOT / package).rglob("*.py")
        for function in unguarded(ast.parse(file.read_text()))
    }
    assert found == ATTEMPTS


def test_a_job_whose_cancelling_cannot_be_written_down_goes_on(
    member: User, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_queues()
    job = make_job(member)

    def fail(*_arguments: object, **_options: object) -> None:
        raise DatabaseError

    monkeypatch.setattr(AuditEntry.objects, "create", fail)
    with pytest.raises(DatabaseError):
        client_of(member).post(f"/api/v1/jobs/{job.pk}/cancel", {}, format="json")
    job.refresh_from_db()
    assert (job.intent, job.status) == ("run", "pending")

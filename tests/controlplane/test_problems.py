"""Every failure has one shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from controlplane.accounts.api import me
from controlplane.accounts.models import User
from controlplane.base.problems import Problem
from tests.controlplane.conftest import client_of
from tests.controlplane.routes import Route, api_routes


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        ("{", "application/json", 400, "malformed"),
        ('{"language": NaN}', "application/json", 400, "malformed"),
        ("\xff", "application/json", 400, "malformed"),
        ("[" * 100_000, "application/json", 400, "malformed"),
        ('{"language": ' + "9" * 5000 + "}", "application/json", 400, "malformed"),
        ("[]", "application/json", 400, "invalid"),
        ("null", "application/json", 400, "invalid"),
        ("a=b", "application/x-www-form-urlencoded", 415, "unsupported-media-type"),
    ],
)
def test_bad_bodies(member: User, body: str, content_type: str, status: int, code: str) -> None:
    data: Any = body.encode("latin-1")
    answer = client_of(member).generic("PATCH", "/api/v1/me", data, content_type=content_type)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer["Content-Type"] == "application/problem+json"
    assert set(answer.json()) == {"type", "title", "status", "code", "detail", "errors", "params"}


def test_wrong_methods_say_which(member: User) -> None:
    answer = client_of(member).delete("/api/v1/me")
    assert (answer.status_code, answer.json()["code"]) == (405, "method-not-allowed")
    assert answer.json()["params"] == {"method": "DELETE"} and "DELETE" in answer.json()["detail"]


def test_a_fault_of_ours_is_a_problem_without_details(member: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_user: User) -> None:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(me, "describe", fail)
    client = Client(raise_request_exception=False)
    client.force_login(member, backend="allauth.account.auth_backends.AuthenticationBackend")
    answer = client.get("/api/v1/me")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "hunter2" not in answer.content.decode()


def test_too_many_requests_are_told_when_to_come_back(member: User, settings: Settings) -> None:
    cache.clear()
    settings.REQUESTS_PER_MINUTE = 2
    client = client_of(member)
    codes = [client.get("/api/v1/me").status_code for _ in range(4)]
    # The counted minute may turn over in between.
    assert codes[:2] == [200, 200] and (429 in codes[2:] or codes[2:] == [200, 200])
    answer = next((a for a in (client.get("/api/v1/me") for _ in range(3)) if a.status_code == 429), None)
    assert answer is not None and 1 <= int(answer["Retry-After"]) <= 61


def test_params_are_filled_into_the_message() -> None:
    problem = Problem(
        409, "closed", message="Queue %(name)s is closed (100 %), %(why)s.", params={"name": "a"}
    )
    assert problem.body()["detail"] == "Queue a is closed (100 %), %(why)s."
    assert json.dumps(problem.body())


ROUTES = api_routes()


@pytest.mark.parametrize("route", ROUTES, ids=[f"{route.method} {route.template}" for route in ROUTES])
def test_unknown_query_parameters_are_named(admin: User, route: Route) -> None:
    address = f"{route.address}?colour=blue&colour=red&x%1b=1"
    answer = client_of(admin).generic(route.method, address, "{}", content_type="application/json")
    assert answer.status_code == 400
    faults = [(fault["field"], fault["code"]) for fault in answer.json()["errors"]]
    assert faults == [("colour", "unknown-field"), ("x", "unknown-field")]


ADDRESSES = sorted({route.address for route in ROUTES})


@pytest.mark.parametrize("address", ADDRESSES)
def test_methods_that_a_route_lacks_are_refused_whatever_the_query_string(admin: User, address: str) -> None:
    taken = {route.method for route in ROUTES if route.address == address}
    client = client_of(admin)
    lacking = {"GET", "POST", "PUT", "PATCH", "DELETE"} - taken
    for method in lacking | ({"HEAD"} if "GET" in lacking else set()):
        answer = client.generic(method, f"{address}?colour=blue", "{}", content_type="application/json")
        assert answer.status_code == 405, method
    assert client.generic("OPTIONS", f"{address}?colour=blue").status_code == 200


@pytest.mark.parametrize("query", ["limit=1&limit=2", "cursor=%00", "cursor=%2b%20"])
def test_what_counts_once_is_given_once_and_as_it_came(admin: User, query: str) -> None:
    answer = client_of(admin).get(f"/api/v1/users?{query}")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, query.partition("=")[0])


def test_unknown_fields_are_told_safely_and_not_by_the_thousand(admin: User) -> None:
    body = {f"a\x1b\u202e{number}": 1 for number in range(5000)}
    answer = client_of(admin).post("/api/v1/tokens", body, format="json")
    fields = [error["field"] for error in answer.json()["errors"]]
    assert answer.status_code == 400 and len(fields) < 50
    assert "a0" in fields and not any("\x1b" in field or "\u202e" in field for field in fields)


def test_who_may_not_ask_is_told_that_first(member: User) -> None:
    assert client_of(member).get("/api/v1/users?colour=blue").status_code == 403


def test_a_name_given_twice_is_named(member: User) -> None:
    body = '{"language": "en", "language": null}'
    answer = client_of(member).generic("PATCH", "/api/v1/me", body, content_type="application/json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "language")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("tokens", {"name": "ci\x1b[2J", "scopes": ["read"]}, "name"),
        ("enrolment-tokens", {"node_set": "gpu\u202e"}, "node_set"),
        ("policies", {"document": "scheduler: {}", "reason": "ze\u200bro"}, "reason"),
        ("teams", {"slug": "a", "name": "two\nlines"}, "name"),
    ],
)
def test_names_and_reasons_have_no_unseen_characters(
    admin: User, path: str, body: dict[str, Any], field: str
) -> None:
    answer = client_of(admin).post(f"/api/v1/{path}", body, format="json")
    faults = [(fault["field"], fault["code"]) for fault in answer.json()["errors"]]
    assert (answer.status_code, faults) == (400, [(field, "control-character")])

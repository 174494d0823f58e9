"""Signing in and out as the console does, with CSRF, limits and a trail."""

from __future__ import annotations

import re

import pytest
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from controlplane.accounts.models import ApiToken, AuditEntry, Scope, Team, User
from tests.controlplane.conftest import PASSWORD, client_of, token_client

LOGIN, SESSION = "/_allauth/browser/v1/auth/login", "/_allauth/browser/v1/auth/session"


@pytest.fixture
def browser(db: None) -> Client:
    cache.clear()
    client = Client(enforce_csrf_checks=True)
    client.get("/api/v1/me")
    return client


def post(client: Client, address: str, body: dict | None = None, *, method: str = "post"):
    token = client.cookies["headrace_csrf"].value
    call = getattr(client, method)
    return call(address, body or {}, content_type="application/json", headers={"X-CSRFToken": token})


@pytest.mark.parametrize("name", [{"username": "mel"}, {"username": "MEL"}, {"email": "mel@example.com"}])
def test_sign_in_and_out(browser: Client, member: User, name: dict) -> None:
    answer = post(browser, LOGIN, {**name, "password": PASSWORD})
    assert answer.status_code == 200
    assert browser.get("/api/v1/me").json()["username"] == "mel"
    assert post(browser, SESSION, method="delete").status_code == 401
    assert browser.get("/api/v1/me").status_code == 401
    actions = list(AuditEntry.objects.order_by("id").values_list("action", "actor_name", "address"))
    assert actions == [("sign-in", "mel", "127.0.0.1"), ("sign-out", "mel", "127.0.0.1")]


def test_a_wrong_password_is_told_and_kept_without_what_was_typed(browser: Client, member: User) -> None:
    assert post(browser, LOGIN, {"username": "mel", "password": "wrong-password"}).status_code == 400
    assert post(browser, LOGIN, {"username": "my-secret-typed-here", "password": "x"}).status_code == 400
    failed = AuditEntry.objects.filter(action="sign-in-failed").order_by("id")
    assert [entry.details["username"] for entry in failed] == ["mel", None]
    assert "wrong-password" not in str(list(failed.values()))


def test_sign_in_needs_the_csrf_token(browser: Client, member: User) -> None:
    answer = browser.post(LOGIN, {"username": "mel", "password": PASSWORD}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "csrf-failed")


def test_changes_by_session_need_the_csrf_token(browser: Client, member: User) -> None:
    post(browser, LOGIN, {"username": "mel", "password": PASSWORD})
    answer = browser.patch("/api/v1/me", {"language": "en"}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "csrf-failed")
    assert post(browser, "/api/v1/me", {"language": "en"}, method="patch").status_code == 200


def test_guessing_from_one_address_is_slowed_down_and_locks_nobody_else_out(
    browser: Client, member: User
) -> None:
    for number in range(22):
        post(browser, LOGIN, {"username": "mel", "password": f"guess-{number}"})
    right = post(browser, LOGIN, {"username": "mel", "password": PASSWORD})
    assert right.status_code == 429, "the right password must not get through while guessing is limited"
    assert (right.json()["code"], right["Retry-After"]) == ("throttled", "60")
    assert right["Content-Type"] == "application/problem+json"
    elsewhere = Client(enforce_csrf_checks=True, REMOTE_ADDR="192.0.2.7")
    elsewhere.get("/api/v1/me")
    assert post(elsewhere, LOGIN, {"username": "mel", "password": PASSWORD}).status_code == 200


def test_guessing_at_one_account_from_everywhere_says_when_to_come_back(
    browser: Client, member: User, settings: Settings
) -> None:
    settings.ACCOUNT_RATE_LIMITS = {**settings.ACCOUNT_RATE_LIMITS, "login_failed": "20/m/ip,2/5m/key"}
    for number in range(2):
        post(browser, LOGIN, {"username": "mel", "password": f"guess-{number}"})
    answer = post(browser, LOGIN, {"username": "mel", "password": PASSWORD})
    assert (answer.status_code, answer["Retry-After"]) == (429, "300")


def test_signing_in_over_and_over_is_slowed_down(browser: Client, member: User, settings: Settings) -> None:
    settings.ACCOUNT_RATE_LIMITS = {**settings.ACCOUNT_RATE_LIMITS, "login": "1/m/ip"}
    post(browser, LOGIN, {"username": "mel", "password": "guess"})
    answer = post(browser, LOGIN, {"username": "mel", "password": PASSWORD})
    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (429, "throttled", "60")


@pytest.mark.parametrize(
    "path",
    [
        "auth/signup",
        "auth/password/request",
        "auth/password/reset",
        "account/email",
        "account/password/change",
    ],
)
def test_nothing_of_allauth_is_open_but_sign_in(browser: Client, member: User, path: str) -> None:
    post(browser, LOGIN, {"username": "mel", "password": PASSWORD})
    body = {"username": "eve", "email": "eve@example.com", "password": PASSWORD}
    assert post(browser, f"/_allauth/browser/v1/{path}", body).status_code == 404
    assert User.objects.get().email == member.email


def test_a_closed_account_does_not_sign_in(browser: Client, member: User) -> None:
    User.objects.update(is_active=False)
    assert post(browser, LOGIN, {"username": "mel", "password": PASSWORD}).status_code != 200
    assert browser.get("/api/v1/me").status_code == 401


def test_a_changed_password_ends_other_sessions(browser: Client, member: User) -> None:
    post(browser, LOGIN, {"username": "mel", "password": PASSWORD})
    member.set_password("another-good-one")
    member.save(update_fields=["password"])
    assert browser.get("/api/v1/me").status_code == 401


CHANGE = {"current": PASSWORD, "new": "another-good-one"}


@pytest.fixture
def _uncounted(db: None) -> None:
    cache.clear()


def test_people_change_their_own_password_and_other_sessions_end(browser: Client, member: User) -> None:
    post(browser, LOGIN, {"username": "mel", "password": PASSWORD})
    elsewhere, robot = client_of(member), token_client(member)
    answer = post(browser, "/api/v1/me/password", CHANGE)
    assert (answer.status_code, answer.json()) == (200, {"tokens_revoked": 0})
    member.refresh_from_db()
    assert member.check_password(CHANGE["new"])
    assert [c.get("/api/v1/me").status_code for c in (browser, elsewhere, robot)] == [200, 401, 200]
    entry = AuditEntry.objects.get(action="password-change")
    assert (entry.actor_name, entry.details) == ("mel", {"tokens_revoked": 0})
    assert CHANGE["new"] not in str(list(AuditEntry.objects.values()))


@pytest.mark.usefixtures("_uncounted")
def test_a_change_by_token_opens_no_session(member: User) -> None:
    answer = token_client(member).post("/api/v1/me/password", CHANGE, format="json")
    assert answer.status_code == 200 and "headrace_session" not in answer.cookies
    assert not Session.objects.exists()


@pytest.mark.usefixtures("_uncounted")
@pytest.mark.parametrize("password", ["short", "password", "mel@example.com", " Teal-Harbor-2201 "])
def test_a_weak_password_is_told_in_the_language_of_the_reader(member: User, password: str) -> None:
    answer = client_of(member).post(
        "/api/v1/me/password",
        {**CHANGE, "new": password},
        format="json",
        headers={"Accept-Language": "zh-Hans"},
    )
    texts = [error["message"] for error in answer.json()["errors"]]
    assert texts and all(re.match("[\u4e00-\u9fff]", text) for text in texts)


@pytest.mark.usefixtures("_uncounted")
def test_tokens_end_with_the_password_when_asked(member: User, lead: User) -> None:
    robot, other = token_client(member), token_client(lead)
    answer = client_of(member).post("/api/v1/me/password", {**CHANGE, "revoke_tokens": True}, format="json")
    assert answer.json() == {"tokens_revoked": 1}
    assert [c.get("/api/v1/me").status_code for c in (robot, other)] == [401, 200]


@pytest.mark.usefixtures("_uncounted")
@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        ({"current": "wrong"}, "current", "wrong-password"),
        ({"new": "short"}, "new", "weak-password"),
        ({"new": "mel@example.com"}, "new", "weak-password"),
        ({"new": " Teal-Harbor-2201 "}, "new", "weak-password"),
        ({"new": " " * 12}, "new", "weak-password"),
        ({"new": None}, "new", "null"),
    ],
)
def test_a_bad_change_of_password_names_the_field(member: User, change: dict, field: str, code: str) -> None:
    answer = client_of(member).post("/api/v1/me/password", {**CHANGE, **change}, format="json")
    faults = {(fault["field"], fault["code"]) for fault in answer.json()["errors"]}
    assert (answer.status_code, faults) == (400, {(field, code)})
    member.refresh_from_db()
    assert member.check_password(PASSWORD)
    assert AuditEntry.objects.filter(action="password-change-failed").exists() == (field == "current")


@pytest.mark.usefixtures("_uncounted")
def test_guessing_in_an_open_session_is_slowed_down(member: User) -> None:
    client = client_of(member)
    guess = {**CHANGE, "current": "guess"}
    answers = [client.post("/api/v1/me/password", guess, format="json") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [400] * 5 + [429]
    assert answers[-1]["Retry-After"] == "60"
    assert client.post("/api/v1/me/password", CHANGE, format="json").status_code == 429


@pytest.mark.usefixtures("_uncounted")
def test_only_a_token_that_may_all_changes_the_password(member: User, team: Team) -> None:
    for client in (token_client(member, Scope.READ, Scope.WRITE), token_client(member, team=team)):
        assert client.post("/api/v1/me/password", CHANGE, format="json").status_code == 403
    assert token_client(member).post("/api/v1/me/password", CHANGE, format="json").status_code == 200


def test_a_reset_by_an_admin_ends_sessions_and_when_asked_tokens(admin: User, member: User) -> None:
    session, robot = client_of(member), token_client(member)
    address, boss = f"/api/v1/users/{member.pk}", client_of(admin)
    assert boss.patch(address, {"password": "another-good-one"}, format="json").status_code == 200
    assert [c.get("/api/v1/me").status_code for c in (session, robot)] == [401, 200]
    boss.patch(address, {"password": "yet-another-one", "revoke_tokens": True}, format="json")
    assert robot.get("/api/v1/me").status_code == 401 and not ApiToken.objects.exists()
    assert AuditEntry.objects.filter(action="user-edit").latest("id").details["tokens_revoked"] == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET"])
def test_an_unknown_address_is_not_found_by_any_method(db: None, method: str) -> None:
    client = Client(enforce_csrf_checks=True, headers={"Authorization": "Bearer hr_x"})
    answer = client.generic(method, "/api/v1/no-such-thing", b"{}", content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")

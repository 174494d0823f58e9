"""Signing in and out as the console does, with CSRF, limits and a trail."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client

from controlplane.accounts.models import AuditEntry, User
from tests.controlplane.conftest import PASSWORD

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
    assert right.status_code in (400, 429), (
        "the right password must not get through while guessing is limited"
    )
    elsewhere = Client(enforce_csrf_checks=True, REMOTE_ADDR="192.0.2.7")
    elsewhere.get("/api/v1/me")
    assert post(elsewhere, LOGIN, {"username": "mel", "password": PASSWORD}).status_code == 200


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

"""Accounts, teams, tokens and the audit trail over HTTP."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import ApiToken, AuditEntry, Membership, Role, Scope, Team, User
from controlplane.base import clock
from tests.controlplane.conftest import client_of, token_client


def test_me_tells_who_and_what(member: User) -> None:
    body = client_of(member).get("/api/v1/me").json()
    assert (body["username"], body["role"], body["language"]) == ("mel", "member", None)
    assert body["teams"] == [{"slug": "vision", "name": "Vision", "role": "member"}]
    assert "job-submit" in body["permissions"] and "user-edit" not in body["permissions"]
    assert body["cluster"]["paused"] is False and body["cluster"]["uid"]


def test_me_hands_out_the_csrf_cookie_before_sign_in(db: None) -> None:
    answer = APIClient().get("/api/v1/me")
    assert answer.status_code == 401
    assert answer.json()["code"] == "not-authenticated"
    assert "headrace_csrf" in answer.cookies


def test_language_is_kept_and_spoken(member: User) -> None:
    client = client_of(member)
    assert client.patch("/api/v1/me", {"language": "zh-hans"}, format="json").json()["language"] == "zh-hans"
    detail = client.get("/api/v1/teams/none").json()["detail"]
    assert any("\u4e00" <= character <= "\u9fff" for character in detail)
    assert client.patch("/api/v1/me", {"language": None}, format="json").json()["language"] is None


def test_a_page_is_answered_in_its_own_language_whatever_another_one_was_switched_to(member: User) -> None:
    User.objects.filter(pk=member.pk).update(language="zh-hans")
    client = APIClient()
    client.force_login(member)
    assert client.get("/api/v1/teams/none", headers={"Accept-Language": "en"}).json()["detail"].isascii()
    for headers in ({}, {"Accept-Language": "zh-CN"}):
        detail = client.get("/api/v1/teams/none", headers=headers).json()["detail"]
        assert any("\u4e00" <= character <= "\u9fff" for character in detail)


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"language": "fr"}, "language", "choice"),
        ({"language": 1}, "language", "type"),
        ({"language": "en", "role": "admin"}, "role", "unknown-field"),
        ({}, "language", "required"),
    ],
)
def test_bad_fields_are_named(member: User, body: dict, field: str, code: str) -> None:
    answer = client_of(member).patch("/api/v1/me", body, format="json")
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    assert {(e["field"], e["code"]) for e in answer.json()["errors"]} == {(field, code)}


def test_admin_makes_a_user_with_a_chosen_password(admin: User) -> None:
    answer = client_of(admin).post("/api/v1/users", {"username": "eve", "role": "operator"}, format="json")
    assert answer.status_code == 201
    user = User.objects.get(username="eve")
    assert user.role == Role.OPERATOR and user.check_password(answer.json()["password"])
    entry = AuditEntry.objects.get(action="user-make")
    assert (entry.actor_name, entry.target_id, entry.address) == ("root", str(user.pk), "127.0.0.1")
    assert answer.json()["password"] not in str(entry.details)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"username": "ROOT"}, 409, "username-taken"),
        ({"username": "new", "email": "Root@Example.com"}, 409, "email-taken"),
        ({"username": "a@b"}, 400, "invalid"),
        ({"username": "new", "password": "short"}, 400, "invalid"),
        ({"username": "new", "active": False}, 400, "invalid"),
    ],
)
def test_bad_new_users_are_refused(admin: User, body: dict, status: int, code: str) -> None:
    answer = client_of(admin).post("/api/v1/users", body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert User.objects.count() == 1


def test_the_last_admin_stays(admin: User, member: User) -> None:
    client = client_of(admin)
    for change in ({"role": "member"}, {"active": False}):
        answer = client.patch(f"/api/v1/users/{admin.pk}", change, format="json")
        assert (answer.status_code, answer.json()["code"]) == (409, "last-admin")
    assert client.patch(f"/api/v1/users/{member.pk}", {"role": "admin"}, format="json").status_code == 200
    assert client.patch(f"/api/v1/users/{admin.pk}", {"role": "member"}, format="json").status_code == 200
    assert client.get("/api/v1/users").status_code == 403


def test_a_closed_account_is_out_at_once(admin: User, member: User) -> None:
    session, token = client_of(member), token_client(member)
    assert session.get("/api/v1/me").status_code == token.get("/api/v1/me").status_code == 200
    client_of(admin).patch(f"/api/v1/users/{member.pk}", {"active": False}, format="json")
    assert session.get("/api/v1/me").status_code == token.get("/api/v1/me").status_code == 401


def test_a_lead_manages_the_own_team_only(lead: User, member: User, team: Team, other_team: Team) -> None:
    client = client_of(lead)
    assert client.put("/api/v1/teams/vision/members/mel", {"role": "lead"}, format="json").status_code == 200
    assert client.put("/api/v1/teams/speech/members/mel", {"role": "lead"}, format="json").status_code == 404
    assert client.get("/api/v1/teams/speech").status_code == 404
    assert client.delete("/api/v1/teams/vision/members/mel").status_code == 204
    assert not Membership.objects.filter(user=member).exists()
    assert [t["slug"] for t in client.get("/api/v1/teams").json()["results"]] == ["vision"]


def test_a_member_of_two_teams_leads_only_one(lead: User, other_team: Team, admin: User) -> None:
    Membership.objects.create(user=lead, team=other_team)
    assert client_of(lead).patch("/api/v1/teams/speech", {"name": "Mine"}, format="json").status_code == 403


def test_edits_with_a_stale_etag_are_refused(admin: User, team: Team) -> None:
    client = client_of(admin)
    etag = client.get("/api/v1/teams/vision")["ETag"]
    first = client.patch("/api/v1/teams/vision", {"name": "A"}, format="json", headers={"If-Match": etag})
    second = client.patch("/api/v1/teams/vision", {"name": "B"}, format="json", headers={"If-Match": etag})
    assert (first.status_code, second.status_code) == (200, 412)
    assert second.json()["code"] == "precondition-failed"
    assert Team.objects.get(slug="vision").name == "A"


def test_a_token_is_shown_once_and_kept_hashed(member: User) -> None:
    client = client_of(member)
    body = {"name": "ci", "scopes": ["submit"], "team": "vision", "expires_in_days": 30}
    made = client.post("/api/v1/tokens", body, format="json").json()
    assert made["token"].startswith("hr_") and made["team"] == "vision"
    listed = client.get("/api/v1/tokens").json()["results"]
    assert "token" not in listed[0] and listed[0]["id"] == made["id"]
    row = ApiToken.objects.get(pk=made["id"])
    assert made["token"] not in (row.digest, row.token_key) and row.expiry > clock.now()
    assert client.delete(f"/api/v1/tokens/{made['id']}").status_code == 204
    gone = APIClient().get("/api/v1/me", headers={"Authorization": f"Bearer {made['token']}"})
    assert (gone.status_code, gone.json()["code"]) == (401, "token-invalid")


@pytest.mark.parametrize(
    "change",
    [{"scopes": []}, {"scopes": ["root"]}, {"scopes": ["read", "read"]}, {"expires_in_days": 0},
     {"expires_in_days": "30"}, {"expires_in_days": True}, {"team": "speech"}, {"name": ""}, {"name": "a\u0000b"}],
)  # fmt: skip
def test_bad_tokens_are_refused(member: User, other_team: Team, change: dict) -> None:
    body = {"name": "ci", "scopes": ["read"], **change}
    answer = client_of(member).post("/api/v1/tokens", body, format="json")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"].startswith(next(iter(change)))


def test_tokens_of_others_are_not_there(member: User, lead: User) -> None:
    row, _secret = ApiToken.objects.create(user=lead, name="x", scopes=["read"])
    assert client_of(member).delete(f"/api/v1/tokens/{row.pk}").status_code == 404


def test_an_expired_token_is_refused(member: User) -> None:
    client = token_client(member)
    ApiToken.objects.update(expiry=clock.now())
    assert client.get("/api/v1/me").status_code == 401


def test_last_use_is_written_once_a_minute(member: User, django_assert_num_queries) -> None:
    client = token_client(member)
    client.get("/api/v1/me")
    first = ApiToken.objects.get().last_used_at
    client.get("/api/v1/me")
    assert first is not None and ApiToken.objects.get().last_used_at == first


def test_scopes_limit_a_token(admin: User) -> None:
    read = token_client(admin, Scope.READ)
    assert read.get("/api/v1/users").status_code == 200
    assert read.post("/api/v1/users", {"username": "eve"}, format="json").status_code == 403
    everything = token_client(admin)
    assert (
        everything.post("/api/v1/tokens", {"name": "x", "scopes": ["read"]}, format="json").status_code == 403
    )


def test_a_token_narrowed_to_a_team_narrows_an_admin(admin: User, team: Team, other_team: Team) -> None:
    client = token_client(admin, team=team)
    assert [t["slug"] for t in client.get("/api/v1/teams").json()["results"]] == ["vision"]
    assert client.get("/api/v1/teams/speech").status_code == 404
    assert client.get("/api/v1/users").status_code == client.get("/api/v1/audit").status_code == 403
    assert client.patch("/api/v1/teams/vision", {"name": "V"}, format="json").status_code == 200


@pytest.mark.parametrize("header", ["Bearer", "Bearer a b", "Bearer hr_x", "Bearer \xff\xfe"])
def test_strange_authorization_headers(db: None, header: str) -> None:
    assert APIClient().get("/api/v1/me", HTTP_AUTHORIZATION=header).status_code == 401


def test_lists_cost_a_constant_number_of_queries(
    admin: User, make_user, team: Team, django_assert_num_queries
) -> None:
    client = client_of(admin)
    for number in range(10):
        make_user(f"u{number}", teams={team: "member"})
    with django_assert_num_queries(5):
        assert len(client.get("/api/v1/users").json()["results"]) == 11


def test_pages_by_cursor(admin: User, make_user) -> None:
    for number in range(4):
        make_user(f"u{number}")
    client = client_of(admin)
    first = client.get("/api/v1/users?limit=3").json()
    second = client.get(first["next"]).json()
    names = [u["username"] for u in first["results"] + second["results"]]
    assert names == ["root", "u0", "u1", "u2", "u3"] and second["next"] is None
    for query in (
        "limit=0",
        "limit=501",
        "limit=x",
        "limit=-1",
        "limit=99999999999999999999",
        "cursor=x",
        "cursor=cD1hYmM=",
    ):
        answer = client.get(f"/api/v1/audit?{query}")
        assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == query.split("=")[0], query


def test_the_audit_trail_is_filtered_and_strict(admin: User, team: Team) -> None:
    client = client_of(admin)
    client.patch("/api/v1/teams/vision", {"name": "A"}, format="json")
    client.put(f"/api/v1/teams/vision/members/{admin.username}", {"role": "lead"}, format="json")
    lines = client.get("/api/v1/audit?actor=root&action=team-edit").json()["results"]
    assert [(line["action"], line["details"]["name"]) for line in lines] == [("team-edit", "A")]
    assert client.get("/api/v1/audit?colour=red").json()["errors"][0]["code"] == "unknown-field"

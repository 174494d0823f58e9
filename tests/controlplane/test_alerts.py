"""Alerts: one open per subject, refreshed, cleared, listed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from controlplane.accounts.models import AuditEntry, Role, User
from controlplane.alerts.models import Alert, Severity
from controlplane.alerts.service import acknowledge, clear_alert, raise_alert
from tests.controlplane.conftest import client_of


def raise_clone(**details: object) -> None:
    raise_alert("clone", Severity.CRITICAL, subject_type="node", subject_id=7, details=details)


@pytest.mark.django_db
def test_an_alert_is_open_once_until_cleared() -> None:
    raise_clone(boot="a")
    raise_clone(boot="b")
    assert Alert.objects.get().details == {"boot": "b"}
    assert clear_alert("clone", subject_type="node", subject_id=7) is True
    assert clear_alert("clone", subject_type="node", subject_id=7) is False
    raise_clone()
    assert Alert.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_parallel_reporters_open_one() -> None:
    def report(_number: int) -> None:
        try:
            raise_clone()
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(report, range(6)))
    assert Alert.objects.count() == 1


def test_people_without_a_view_of_everything_see_shared_subjects(admin: User, member: User) -> None:
    raise_clone()
    raise_alert("memory", Severity.WARNING, subject_type="job", subject_id=1)
    assert len(client_of(admin).get("/api/v1/alerts").json()["results"]) == 2
    assert [a["code"] for a in client_of(member).get("/api/v1/alerts").json()["results"]] == ["clone"]


def test_alerts_are_filtered(admin: User) -> None:
    raise_clone()
    clear_alert("clone", subject_type="node", subject_id=7)
    raise_alert("memory", Severity.WARNING, subject_type="job", subject_id=1)
    client = client_of(admin)
    assert [a["code"] for a in client.get("/api/v1/alerts?open=true").json()["results"]] == ["memory"]
    assert [a["code"] for a in client.get("/api/v1/alerts?severity=critical").json()["results"]] == ["clone"]
    assert client.get("/api/v1/alerts?open=perhaps").status_code == 400


def only_alert() -> Alert:
    return Alert.objects.get(cleared_at=None)


def test_an_operator_takes_up_an_alert(make_user: Callable[..., User], member: User) -> None:
    raise_alert("hot", Severity.WARNING, subject_type="device", subject_id=3)
    operator = client_of(make_user("ops", role=Role.OPERATOR))
    address = f"/api/v1/alerts/{only_alert().pk}"
    assert client_of(member).post(f"{address}/acknowledge", {}, format="json").status_code == 403
    taken = operator.post(f"{address}/acknowledge", {"note": "fan ordered"}, format="json").json()
    assert (taken["acknowledged_by"], taken["note"], taken["cleared_at"]) == ("ops", "fan ordered", None)
    again = operator.post(f"{address}/acknowledge", {"note": "other"}, format="json").json()
    assert again["note"] == "fan ordered"
    assert AuditEntry.objects.filter(action="alert-acknowledge").count() == 1
    assert operator.get("/api/v1/alerts?acknowledged=false").json()["results"] == []
    assert operator.post(f"{address}/unacknowledge").json()["acknowledged_at"] is None
    clear_alert("hot", subject_type="device", subject_id=3)
    refused = operator.post(f"{address}/acknowledge", {}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "alert-cleared")


def test_equal_alerts_are_one_group_that_is_taken_up_at_once(
    make_user: Callable[..., User], member: User
) -> None:
    for node in range(48):
        raise_alert("node-silent", Severity.WARNING, subject_type="node", subject_id=node)
    raise_alert("memory", Severity.CRITICAL, subject_type="job", subject_id=1)
    raise_clone()
    operator = client_of(make_user("ops", role=Role.OPERATOR))
    first, second = operator.get("/api/v1/alert-groups").json()[::2]
    assert (first["code"], first["count"], first["severity"]) == ("clone", 1, "critical")
    assert (second["code"], second["count"], second["acknowledged"]) == ("node-silent", 48, 0)
    assert second["first_raised_at"] < second["last_raised_at"] == second["newest"]["raised_at"]
    assert len(client_of(member).get("/api/v1/alert-groups").json()) == 2
    raise_alert("node-silent", Severity.WARNING, subject_type="node", subject_id=99)
    seen = {name: second[name] for name in ("code", "severity", "silenced")}
    body = seen | {"up_to": second["newest"]["id"], "note": "switch"}
    address = "/api/v1/alert-groups/acknowledge"
    assert client_of(member).post(address, body, format="json").status_code == 403
    assert operator.post(address, body, format="json").json() == {"acknowledged": 48}
    assert operator.post(address, body, format="json").json() == {"acknowledged": 0}
    later = operator.get("/api/v1/alert-groups").json()[2]
    assert (later["count"], later["acknowledged"]) == (49, 48)
    assert AuditEntry.objects.filter(action="alert-group-acknowledge").count() == 1


def test_a_silence_parts_a_group(admin: User) -> None:
    for node in (1, 2, 3):
        raise_alert("node-silent", Severity.WARNING, subject_type="node", subject_id=node)
    client = client_of(admin)
    body = {"subject_type": "node", "subject_id": "2", "minutes": 30, "reason": "moved"}
    client.post("/api/v1/alert-silences", body, format="json")
    groups = client.get("/api/v1/alert-groups").json()
    assert {one["silenced"]: one["count"] for one in groups} == {False: 2, True: 1}
    assert [one["count"] for one in client.get("/api/v1/alert-groups?silenced=true").json()] == [1]


@pytest.mark.django_db
def test_an_alert_that_becomes_critical_needs_a_person_anew() -> None:
    raise_alert("hot", Severity.WARNING, subject_type="device", subject_id=3)
    assert acknowledge(only_alert(), by="ops", note="") is True
    raise_alert("hot", Severity.WARNING, subject_type="device", subject_id=3, details={"value": 91})
    assert only_alert().acknowledged_by == "ops"
    raise_alert("hot", Severity.CRITICAL, subject_type="device", subject_id=3)
    assert (only_alert().acknowledged_by, only_alert().severity) == ("", "critical")


def test_silenced_alerts_stay_open_and_call_nobody(admin: User) -> None:
    raise_alert("hot", Severity.CRITICAL, subject_type="device", subject_id=3)
    raise_alert("hot", Severity.WARNING, subject_type="device", subject_id=4)
    client = client_of(admin)
    body = {"subject_type": "device", "subject_id": "3", "minutes": 30, "reason": "fan replaced"}
    made = client.post("/api/v1/alert-silences", body, format="json")
    assert (made.status_code, made.json()["created_by"]) == (201, admin.username)
    shown = {one["subject_id"]: one["silenced"] for one in client.get("/api/v1/alerts").json()["results"]}
    assert shown == {"3": True, "4": False}
    counts = {"open": 1, "critical": 0, "acknowledged": 0, "silenced": 1}
    assert client.get("/api/v1/overview").json()["alerts"] == counts
    assert len(client.get("/api/v1/alert-silences?active=true").json()["results"]) == 1
    client.post(f"/api/v1/alert-silences/{made.json()['id']}/end")
    assert client.get("/api/v1/alert-silences?active=true").json()["results"] == []
    assert [one["subject_id"] for one in client.get("/api/v1/alerts?silenced=true").json()["results"]] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"minutes": 5, "reason": "x"}, "code"),
        ({"minutes": 5, "reason": "x", "subject_id": "3"}, "subject_type"),
        ({"minutes": 5, "reason": "x", "subject_type": "nodes", "subject_id": "3"}, "subject_type"),
        ({"minutes": 5, "reason": "x", "subject_type": "node", "subject_id": "999999"}, "subject_id"),
        ({"minutes": 5, "reason": "x", "subject_type": "node", "subject_id": "tb-001"}, "subject_id"),
        ({"minutes": 5, "reason": "x", "subject_type": "job", "subject_id": "999999"}, "subject_id"),
        ({"minutes": 5, "reason": "x", "subject_type": "device", "subject_id": "9" * 30}, "subject_id"),
        ({"minutes": 0, "reason": "x", "code": "hot"}, "minutes"),
        ({"minutes": 10**9, "reason": "x", "code": "hot"}, "minutes"),
        ({"minutes": 5, "reason": "", "code": "hot"}, "reason"),
    ],
)
def test_a_silence_names_what_how_long_and_why(admin: User, body: dict[str, object], field: str) -> None:
    refused = client_of(admin).post("/api/v1/alert-silences", body, format="json")
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == field


def test_the_rules_of_the_policy_are_listed(member: User) -> None:
    rules = client_of(member).get("/api/v1/alert-rules").json()
    assert [rule["name"] for rule in rules] == ["device-hot", "node-memory-full"]


def test_silences_of_what_others_may_not_see_are_not_shown(admin: User, member: User) -> None:
    for subject_type in ("job", "device"):
        raise_alert("hot", Severity.WARNING, subject_type=subject_type, subject_id=1)
        body = {"subject_type": subject_type, "subject_id": "1", "minutes": 5, "reason": "secret plan"}
        client_of(admin).post("/api/v1/alert-silences", body, format="json")
    shown = [one["subject_type"] for one in client_of(member).get("/api/v1/alert-silences").json()["results"]]
    assert shown == ["device"]
    assert len(client_of(admin).get("/api/v1/alert-silences").json()["results"]) == 2

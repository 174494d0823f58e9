"""Alerts: one open per subject, refreshed, cleared, listed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from controlplane.accounts.models import User
from controlplane.alerts.models import Alert, Severity
from controlplane.alerts.service import clear_alert, raise_alert
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

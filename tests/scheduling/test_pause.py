"""Pausing over REST: who may, what it says, and that the cluster goes on by itself afterwards."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import AuditEntry, Role
from controlplane.base import tx
from controlplane.base.tx import Topic
from scheduling.models import Placement
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def api_of(user) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


@pytest.fixture
def operator():
    return api_of(make.make_user("op", role=Role.OPERATOR))


def test_a_paused_cluster_starts_nothing_and_says_so(user, operator):
    make.make_node()
    api = api_of(user)
    job = make.make_job(user)
    answer = operator.post("/api/v1/pause", {"reason": "new switch"}, format="json")
    assert (answer.status_code, answer.json()) == (200, {"paused": True, "reason": "new switch"})
    make.run_cycle()
    assert not Placement.objects.exists()
    assert api.get("/api/v1/me").json()["cluster"]["paused"] is True
    assert api.get(f"/api/v1/jobs/{job.pk}/explain").json()["sentence"]["code"] == "paused"
    assert operator.post("/api/v1/resume", {}, format="json").json() == {"paused": False, "reason": None}
    make.run_cycle()
    assert Placement.objects.get().job == job
    kept = AuditEntry.objects.order_by("pk").values_list("action", "actor_name", "details")
    assert list(kept) == [
        ("cluster-pause", "op", {"reason": "new switch"}),
        ("cluster-resume", "op", {"reason": ""}),
    ]


def test_what_a_paused_cluster_could_start_still_waits_for_the_pause(user, operator):
    """Capacity that comes back during a pause does not make the sentence lie."""
    job = make.make_job(user)
    make.run_cycle()
    operator.post("/api/v1/pause", {"reason": ""}, format="json")
    make.make_node()
    found = api_of(user).get(f"/api/v1/jobs/{job.pk}/explain").json()
    assert found["sentence"]["code"] == "paused" and found["cycle"] is not None


def test_a_second_pause_is_harmless_and_silent(operator, monkeypatch, django_capture_on_commit_callbacks):
    told = []
    monkeypatch.setattr(tx, "tell", lambda topic, key="": told.append((topic, key)))
    for _time in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            operator.post("/api/v1/pause", {"reason": "x"}, format="json")
    assert told == [(Topic.HINT, ("me",)), (Topic.HINT, ("jobs",)), (Topic.CYCLE_WAKE, "")]
    assert AuditEntry.objects.count() == 1


def test_members_do_not_pause(user):
    api = api_of(user)
    assert api.post("/api/v1/pause", {"reason": "x"}, format="json").status_code == 403
    assert api.post("/api/v1/resume", {}, format="json").status_code == 403

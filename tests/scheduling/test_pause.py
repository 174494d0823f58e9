"""Pausing over REST: who may, what it says, and that the cluster goes on by itself afterwards."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import AuditEntry, Role
from controlplane.base import tx
from controlplane.base.tx import Topic
from scheduling import cycle
from scheduling.models import Decision, Placement
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
    (told,) = api.get("/api/v1/pauses").json()
    assert told.pop("since") and told == {
        "scope": "cluster", "name": None, "reason": "new switch", "actor": "op",
    }  # fmt: skip
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
    hints = [(Topic.HINT, (name,)) for name in ("me", "reasons", "queues", "map")]
    assert told == [*hints, (Topic.CYCLE_WAKE, "")]
    assert AuditEntry.objects.count() == 1


def test_another_reason_keeps_since_when(operator):
    operator.post("/api/v1/pause", {"reason": "x"}, format="json")
    (first,) = operator.get("/api/v1/pauses").json()
    api_of(make.make_user("anna", role=Role.ADMIN)).post("/api/v1/pause", {"reason": "y"}, format="json")
    (second,) = operator.get("/api/v1/pauses").json()
    assert (second["actor"], second["reason"], second["since"]) == ("anna", "y", first["since"])


def test_members_do_not_pause(user):
    api = api_of(user)
    assert api.post("/api/v1/pause", {"reason": "x"}, format="json").status_code == 403
    assert api.post("/api/v1/resume", {}, format="json").status_code == 403


def test_a_paused_queue_starts_none_of_its_jobs(user, operator):
    make.make_node()
    held, free = make.make_job(user), make.make_job(user, queue="offline")
    body = {"queue": "training", "reason": "license"}
    for _time in range(2):
        assert operator.post("/api/v1/pause", body, format="json").json() == {
            "paused": True,
            "reason": "license",
        }
    make.run_cycle()
    assert Placement.objects.get().job == free
    api = api_of(user)
    assert api.get(f"/api/v1/jobs/{held.pk}/explain").json()["sentence"]["code"] == "queue-paused"
    assert api.get(f"/api/v1/jobs/{held.pk}").json()["reason"]["code"] == "queue-paused"
    assert {q["name"]: q["paused"] for q in api.get("/api/v1/queues").json()}["training"] is True
    (found,) = api.get("/api/v1/pauses").json()
    assert found.pop("since") and found == {
        "scope": "queue", "name": "training", "reason": "license", "actor": "op",
    }  # fmt: skip
    operator.post("/api/v1/resume", {"queue": "training"}, format="json")
    make.run_cycle()
    assert Placement.objects.filter(job=held).exists() and api.get("/api/v1/pauses").json() == []
    assert list(AuditEntry.objects.order_by("pk").values_list("action", "target_id")) == [
        ("queue-pause", "training"),
        ("queue-resume", "training"),
    ]


def test_a_paused_node_set_takes_no_jobs(user, operator):
    make.make_node(node_set="lab")
    worker = cycle.Worker()
    make.make_job(user)
    make.run_cycle(worker)
    operator.post("/api/v1/pause", {"node_set": "lab"}, format="json")
    job = make.make_job(user)
    make.run_cycle(worker)
    assert Placement.objects.count() == 1
    found = api_of(user).get(f"/api/v1/jobs/{job.pk}/explain").json()
    assert found["sentence"]["code"] == "node-paused" and "paused" in found["sentence"]["text"]
    operator.post("/api/v1/resume", {"node_set": "lab"}, format="json")
    make.run_cycle(worker)
    assert Placement.objects.filter(job=job).exists()


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"queue": "nope"}, "queue", "not-found"),
        ({"node_set": "nope"}, "node_set", "not-found"),
        ({"queue": "training", "node_set": "lab"}, "node_set", "invalid"),
        ({"queue": 1}, "queue", "type"),
        ({"node": "x"}, "node", "unknown-field"),
    ],
)
def test_what_is_not_there_cannot_be_paused(operator, user, body, field, code):
    for action in ("pause", "resume"):
        (error,) = operator.post(f"/api/v1/{action}", body, format="json").json()["errors"]
        assert (error["field"], error["code"]) == (field, code)


@pytest.mark.parametrize("body", [{}, {"queue": "training"}, {"node_set": "lab"}])
def test_a_cycle_under_way_places_nothing_after_a_pause(user, operator, monkeypatch, body):
    """The plan was made before the pause; what it decided is refused when it is stored."""
    make.make_node(node_set="lab")
    for _ in range(3):
        make.make_job(user)
    worker = cycle.Worker()
    real = worker.session.plan

    def paused_meanwhile(*given, **named):
        made = real(*given, **named)
        operator.post("/api/v1/pause", {"reason": "now", **body}, format="json")
        return made

    monkeypatch.setattr(worker.session, "plan", paused_meanwhile)
    make.run_cycle(worker)
    assert not Placement.objects.exists()
    assert set(Decision.objects.values_list("stale_code", flat=True)) == {"paused"}


@pytest.mark.parametrize(
    ("body", "sentence", "fits"),
    [
        ({}, "paused", "paused"),
        ({"queue": "training"}, "queue-paused", None),
        ({"node_set": "lab"}, "node-paused", "node-paused"),
    ],
)
def test_nothing_is_said_to_start_at_once_under_a_pause(user, operator, body, sentence, fits):
    device = make.make_device(make.make_node("alpha", node_set="lab"))
    other = make.make_job(user, resources={"devices": 1, "device_models": ["H100"]})
    make.run_cycle()
    operator.post("/api/v1/pause", body, format="json")
    make.make_job(user, resources={"devices": 1})
    api = api_of(user)
    told = api.get(f"/api/v1/jobs/{other.pk}/explain").json()
    assert (told["sentence"]["code"], told["changes"]) == (sentence, [])
    found = api.get(f"/api/v1/devices/{device.pk}/fits").json()
    assert (found["code"], found["jobs"], found["jobs_total"]) == (fits, [], 0)
    assert (found["largest"]["alone_mib"] == 0) is (fits is not None)
    operator.post("/api/v1/resume", body, format="json")
    assert api.get(f"/api/v1/jobs/{other.pk}/explain").json()["changes"]
    assert api.get(f"/api/v1/devices/{device.pk}/fits").json()["jobs_total"] == 1

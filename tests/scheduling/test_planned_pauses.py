"""Dry runs and what-ifs plan under the pauses of the live cycle, and say so."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Role
from inventory.models import NodeSet
from queues.models import Queue
from scheduling.models import Recording
from scheduling.pauses import pause_cluster, pause_part
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def api(user):
    client = APIClient()
    client.force_login(make.make_user("olga", role=Role.OPERATOR))
    return client


def pause_queue(name: str) -> None:
    pause_part("op", Queue.objects.get(name=name), reason="license")


def ask(api, *edits, recording=None):
    body = {"recording": recording, "edits": list(edits)}
    answer = api.post("/api/v1/what-if", body, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()


def added(queue: str, count: int = 1):
    return {"kind": "add-job", "count": count, "spec": make.body(queue=queue, name="new")}


def dry_run(user, **changes):
    client = APIClient()
    client.force_login(user)
    answer = client.post("/api/v1/jobs/submit?dry_run=1", make.body(**changes), format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_paused_queue_holds_stored_and_added_jobs_alike(user, api):
    make.make_node()
    make.make_job(user)
    make.make_job(user, queue="offline")
    pause_queue("training")
    found = ask(api, added("training", 2), added("inference"))
    before, after = found["before"], found["after"]
    assert (before["placed"], before["held"], before["considered"]) == (1, 1, 1)
    assert (after["placed"], after["held"], after["considered"]) == (2, 3, 2)
    assert before["exhausted"] and after["exhausted"]
    assert [q["held"] for q in after["queues"]] == [0, 3, 0]
    (reason,) = after["reasons"]
    assert (reason["code"], reason["count"]) == ("queue-paused", 3)
    assert [c["reason_after"] and c["reason_after"]["code"] for c in found["changes"]] == [
        None,
        "queue-paused",
        "queue-paused",
    ]
    (note,) = found["notes"]
    assert note["code"] == "planned-queues-paused" and note["params"] == {"queues": "training"}
    assert "training" in note["text"]


def test_a_paused_cluster_places_nothing_in_either_plan(user, api):
    node = make.make_node()
    make.make_job(user)
    pause_cluster("op", reason="new switch")
    found = ask(api, added("inference"), {"kind": "add-nodes", "like": node.pk})
    assert [(found[side]["placed"], found[side]["held"]) for side in ("before", "after")] == [(0, 1), (0, 2)]
    assert [note["code"] for note in found["notes"]] == ["planned-paused"]
    assert [c["reason_after"]["code"] for c in found["changes"]] == ["paused"]


def test_a_paused_node_set_holds_its_copies_too(user, api):
    node = make.make_node(node_set="lab")
    make.make_job(user)
    pause_part("op", NodeSet.objects.get(name="lab"), reason="")
    after = ask(api, {"kind": "add-nodes", "like": node.pk})["after"]
    assert after["placed"] == 0 and after["reasons"][0]["code"] == "node-paused"


def test_a_recorded_plan_knows_no_pause_of_today(user, api):
    make.make_node()
    make.make_job(user)
    make.run_cycle()
    make.make_job(user)
    pause_cluster("op", reason="")
    found = ask(api, added("training"), recording=Recording.objects.get().pk)
    assert (found["before"]["placed"], found["after"]["placed"], found["notes"]) == (1, 2, [])


@pytest.mark.parametrize(
    ("pause", "code"),
    [(lambda: pause_cluster("op", reason=""), "paused"), (lambda: pause_queue("training"), "queue-paused")],
)
def test_a_dry_run_says_that_its_queue_is_paused(user, pause, code):
    make.make_node()
    assert dry_run(user)["placement"] is not None
    pause()
    found = dry_run(user)
    assert found["placement"] is None and found["refusal"]["sentence"]["code"] == code
    assert found["refusal"]["status"] == "pending"
    placed = dry_run(user, queue="offline")["placement"]
    assert (placed is None) == (code == "paused")


def test_a_dry_run_says_that_its_node_set_is_paused(user):
    make.make_node(node_set="lab")
    pause_part("op", NodeSet.objects.get(name="lab"), reason="")
    assert dry_run(user)["refusal"]["sentence"]["code"] == "node-paused"

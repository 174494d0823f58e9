"""Images over REST: sizes, hits, pull times, and what is fetched ahead."""

from __future__ import annotations

from datetime import timedelta

import pytest

from controlplane.accounts.models import AuditEntry
from inventory.images import pushes
from inventory.images.sizes import note_sizes
from inventory.images.starts import note_start
from inventory.models import ImagePush, NodeState, PushState, PushWhy
from tests.inventory.factories import make_node
from tests.inventory.test_api import signed_in

pytestmark = pytest.mark.django_db
A, B = "example.com/a:1", "example.com/b:1"


def test_images_tell_their_size_hits_and_how_long_the_others_waited():
    node = make_node()
    note_sizes([{"name": A, "size_mib": 900}])
    for pull_ms in (None, 3000, None, None):
        note_start(node.pk, A, pull_ms=pull_ms)
    note_start(node.pk, B, pull_ms=None)
    body = signed_in().get("/api/v1/images").json()
    first, second = body["results"]
    assert (first["name"], first["size_mib"], first["starts"], first["hits"]) == (A, 900, 4, 3)
    assert first["pull_ms"] == {"mean": 3000, "p50": 3000, "p95": 3000, "p99": 3000}
    assert (second["size_mib"], second["pull_ms"]) == (None, None)
    found = signed_in("admin").get("/api/v1/images?search=B%3A1").json()["results"]
    assert [row["name"] for row in found] == [B]


def test_what_is_fetched_ahead_is_listed_by_node_and_stage():
    one, two = make_node("machine-1"), make_node("machine-2")
    pushes.want([(one.pk, A), (two.pk, A)], here={})
    client = signed_in()
    rows = client.get("/api/v1/images/pushes").json()["results"]
    assert [(row["node"], row["node_name"], row["image"], row["stage"]) for row in rows] == [
        (one.pk, one.name, A, "wanted"),
        (two.pk, two.name, A, "wanted"),
    ]
    named = client.get(f"/api/v1/images/pushes?node={two.pk}&stage=wanted").json()["results"]
    assert [row["node"] for row in named] == [two.pk]
    assert client.get("/api/v1/images/pushes?stage=done").json()["results"] == []
    assert client.get("/api/v1/images?nonsense=1").status_code == 400


def having(machine_id, *images, **columns):
    return make_node(machine_id, facts={"images": list(images), "runs_containers": True}, **columns)


def order(client, action, image, *nodes):
    body = {"action": action, "image": image, "nodes": [node.pk for node in nodes], "reason": "why"}
    return client.post("/api/v1/images/orders", body, content_type="application/json")


def outcomes(answer):
    assert answer.status_code == 200, answer.content
    return [row["code"] or "done" for row in answer.json()["outcomes"]]


def test_an_image_says_where_it_is_and_where_it_is_wanted():
    one, two, three = having("m1", "python:3"), having("m2", "docker.io/library/python:3"), having("m3")
    note_sizes([{"name": "python:3", "size_mib": 50}])
    pushes.want([(three.pk, "python:3")], here={}, why=PushWhy.WAITING)
    for pull_ms in (None, 4000):
        note_start(one.pk, "python:3", pull_ms=pull_ms)
    client = signed_in("user")
    (row,) = client.get("/api/v1/images").json()["results"]
    assert (row["nodes"], row["wanted"], row["fetched"]) == (2, 1, 0)
    assert client.get(f"/api/v1/images/{row['id']}").json() == row
    places = client.get(f"/api/v1/images/{row['id']}/nodes").json()["results"]
    assert [(place["node"], place["here"], place["starts"], place["hits"]) for place in places] == [
        (one.pk, True, 2, 1),
        (two.pk, True, 0, 0),
        (three.pk, False, 0, 0),
    ]
    assert places[0]["push"] is None
    assert (places[2]["push"]["stage"], places[2]["push"]["why"]) == ("wanted", "waiting")
    (wait,) = client.get(f"/api/v1/images/{row['id']}/waits").json()["results"]
    assert (wait["node_name"], wait["pull_ms"]) == ("m1", 4000)
    assert client.get("/api/v1/images/999999").status_code == 404


def test_hits_are_those_of_the_days_that_are_asked_for(time_machine):
    time_machine.move_to("2026-03-01T00:00:00Z", tick=False)
    node = make_node()
    note_start(node.pk, A, pull_ms=3000)
    time_machine.shift(timedelta(days=2))
    note_start(node.pk, A, pull_ms=None)
    client = signed_in()
    told = [client.get(f"/api/v1/images?days={days}").json()["results"][0] for days in (1, 3)]
    assert [(row["starts"], row["hits"]) for row in told] == [(1, 1), (2, 1)]
    assert client.get("/api/v1/images?days=0").status_code == 400


def test_an_operator_has_an_image_fetched_on_nodes_that_may_and_have_it_not():
    fine, has, bare = having("m1"), having("m2", "python:3"), make_node("m3")
    gone = having("m4", state=NodeState.CORDONED)
    assert order(signed_in("user"), "warm", A, fine).status_code == 403
    client = signed_in()
    answer = order(client, "warm", "python:3", fine, has, bare, gone)
    assert outcomes(answer) == ["done", "already-there", "takes-no-images", "takes-no-images"]
    push = ImagePush.objects.get()
    assert (push.node_id, push.stage, push.why) == (fine.pk, PushState.WANTED, PushWhy.PERSON)
    entry = AuditEntry.objects.get(action="image-warm")
    assert entry.details == {"image": "python:3", "nodes": ["m1"], "reason": "why"}
    ImagePush.objects.update(stage=PushState.FAILED, failures=5)
    assert outcomes(order(client, "warm", "python:3", fine)) == ["done"]
    assert ImagePush.objects.get().stage == PushState.WANTED, "an order begins anew"
    assert order(client, "warm", "--privileged", fine).status_code == 400


def test_only_what_was_fetched_ahead_is_removed_by_hand_and_stays_away_though_it_was_usual():
    nodes = [having(f"m{number}", A) for number in range(4)]
    done, running, waiting, _others = nodes
    pushes.want([(node.pk, A) for node in (done, running, waiting)], here={})
    ImagePush.objects.filter(node=done).update(stage=PushState.DONE, ms=5)
    ImagePush.objects.filter(node=running).update(stage=PushState.RUNNING)
    client = signed_in()
    assert outcomes(order(client, "prune", A, *nodes)) == ["done", "being-fetched", "done", "not-ours"]
    stages = dict(ImagePush.objects.values_list("node_id", "stage"))
    assert (stages[done.pk], stages[waiting.pk]) == (PushState.PRUNING, PushState.PRUNED)
    pushes.want([(done.pk, A)], here={})
    assert ImagePush.objects.get(node=done).stage == PushState.PRUNING
    pushes.want([(done.pk, A)], here={}, why=PushWhy.WAITING)
    assert ImagePush.objects.get(node=done).stage == PushState.WANTED, "a job waits for it"

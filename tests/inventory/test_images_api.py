"""Images over REST: sizes, hits, pull times, and what is fetched ahead."""

from __future__ import annotations

import pytest

from inventory.images import pushes
from inventory.images.sizes import note_sizes
from inventory.images.starts import note_start
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

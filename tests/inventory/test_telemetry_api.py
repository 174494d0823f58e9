"""Charts of readings over REST."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from agent.protocol import DeviceSample, NodeSample
from controlplane.accounts.models import Role, User
from controlplane.base import clock
from inventory import streams, telemetry
from inventory.history import partitions, rollup
from inventory.history.reading import MOST_POINTS
from inventory.models import Node, NodeSet
from inventory.wiring import Booked
from tests.inventory.factories import make_device, make_node

pytestmark = pytest.mark.django_db
DEVICE_QUERIES = 7


@pytest.fixture
def api() -> APIClient:
    client = APIClient()
    client.force_login(User.objects.create_user("ada", password="a long password", role=Role.MEMBER))
    return client


@pytest.fixture
def start() -> datetime:
    """The start of an hour that is over and whose raw readings are still there."""
    return partitions.start_of(clock.now(), 3600) - timedelta(hours=1)


def store(node: Node, at: datetime, every_s: int, utils: list[int | None], *, milli: int = 500) -> None:
    readings = [
        streams.Reading(
            node.pk,
            clock.to_ms(at) + number * every_s * 1000,
            NodeSample(cpu_used_milli=util),
            [DeviceSample("GPU-00000000", utilization_pct=util, power_mw=100_000)],
        )
        for number, util in enumerate(utils)
        if util is not None
    ]
    telemetry.store(readings, lambda ids: dict.fromkeys(ids, Booked(1024, milli)))


def series(document: dict[str, Any], metric: str) -> dict[str, list[Any]]:
    return next(one for one in document["series"] if one["metric"] == metric)


def span(start: datetime, **length: int) -> dict[str, str]:
    return {"from": start.isoformat(), "to": (start + timedelta(**length)).isoformat()}


def test_raw_readings_in_the_smallest_step_with_gaps_as_null(api, start):
    node = make_node()
    device = make_device(node)
    store(node, start, 10, [10, 30, None, None, 50, 70, 0])
    found = api.get(f"/api/v1/devices/{device.pk}/readings", {**span(start, minutes=2), "points": 20}).json()
    assert (found["grain"], found["step_s"], found["points"]) == ("raw", 10, 12)
    assert datetime.fromisoformat(found["from"]) == start
    util = series(found, "utilization_pct")
    assert util["mean"] == [10, 30, None, None, 50, 70, 0, *[None] * 5]
    assert series(found, "memory_used_mib")["p95"] == [None] * 12
    assert series(found, "booked_milli")["max"][:3] == [500, 500, None]
    assert series(found, "power_mw")["p50"][0] == 100_000


def test_several_readings_in_a_step_have_percentiles(api, start):
    node = make_node()
    device = make_device(node)
    store(node, start, 1, list(range(60)))
    query = {**span(start, minutes=50), "points": 60, "metric": "utilization_pct"}
    found = api.get(f"/api/v1/devices/{device.pk}/readings", query).json()
    assert (found["grain"], found["step_s"]) == ("raw", 60)
    (util,) = found["series"]
    first = {part: util[part][0] for part in util if part != "metric"}
    assert first == {"count": 60, "mean": 29.5, "min": 0, "max": 59, "p50": 29, "p95": 56, "p99": 59}


def test_long_spans_are_read_from_roll_ups(api, start):
    node = make_node()
    device = make_device(node)
    store(node, start, 30, [10, 20, 90, 100])
    rollup.roll_up(start + timedelta(hours=2))
    day = api.get(f"/api/v1/devices/{device.pk}/readings", span(start - timedelta(hours=20), hours=24)).json()
    assert (day["grain"], day["step_s"]) == ("minute", 300)
    util = series(day, "utilization_pct")
    (step,) = [number for number, count in enumerate(util["count"]) if count]
    assert {part: util[part][step] for part in ("count", "mean", "p50", "p95")} == {
        "count": 4, "mean": 55, "p50": 20, "p95": 100,
    }  # fmt: skip
    month = api.get(f"/api/v1/nodes/{node.pk}/readings", span(start - timedelta(days=30), days=31)).json()
    assert (month["grain"], month["step_s"]) == ("hour", 3 * 3600)
    assert [count for count in series(month, "cpu_used_milli")["count"] if count] == [4]


def test_no_chart_has_more_points_than_asked_for(api, start):
    device = make_device(make_node())
    for length in ({"minutes": 1}, {"hours": 2}, {"hours": 7}, {"days": 3}, {"days": 40}, {"days": 3999}):
        for points in (2, 100, MOST_POINTS):
            query = {**span(start - timedelta(days=1), **length), "points": points}
            found = api.get(f"/api/v1/devices/{device.pk}/readings", query).json()
            if found["grain"] != "hour" or found["step_s"] < 336 * 3600:
                assert found["points"] <= points, (length, points)
            assert all(len(one["mean"]) == found["points"] for one in found["series"])


def test_the_step_is_never_shorter_than_the_time_between_reports(api, start, monkeypatch):
    device = make_device(make_node())
    found = api.get(f"/api/v1/devices/{device.pk}/readings", span(start, minutes=1)).json()
    assert found["step_s"] == 10


def test_measured_beside_booked_of_all_and_of_one_node_set(api, start):
    nodes = [make_node("a", node_set=NodeSet.objects.create(name="east")), make_node("b")]
    for node, util, milli in ((nodes[0], 80, 1000), (nodes[1], 20, 500)):
        make_device(node)
        store(node, start, 30, [util, util], milli=milli)
    rollup.roll_up(start + timedelta(hours=2))
    found = api.get("/api/v1/readings", span(start, minutes=30)).json()
    assert (found["grain"], [one["metric"] for one in found["series"]]) == (
        "minute",
        ["utilization_pct", "booked_milli"],
    )
    util = series(found, "utilization_pct")
    assert (util["mean"][0], util["p50"][0], util["p95"][0], util["count"][0]) == (50, 20, 80, 4)
    assert series(found, "booked_milli")["mean"][0] == 750
    east = api.get("/api/v1/readings", {**span(start, minutes=30), "node_set": "east"}).json()
    assert series(east, "utilization_pct")["mean"][:2] == [80, None]
    groups = api.get("/api/v1/readings/groups", span(start, minutes=30)).json()
    figures = [
        (row["node_set"], row["utilization_pct"]["mean"], row["booked_milli"]["mean"])
        for row in groups["results"]
    ]
    assert (groups["total"], figures) == (2, [("east", 80, 1000), (None, 20, 500)])
    first = api.get("/api/v1/readings/groups", {**span(start, minutes=30), "limit": 1}).json()
    assert (first["total"], [row["node_set"] for row in first["results"]]) == (2, ["east"])
    later = api.get("/api/v1/readings/groups", span(start + timedelta(minutes=10), minutes=10)).json()
    assert later == {"total": 0, "results": []}


def test_what_is_no_span_is_refused_by_name(api, start):
    device = make_device(make_node())
    address = f"/api/v1/devices/{device.pk}/readings"
    for query, field in (
        ({"from": start.isoformat(), "to": start.isoformat()}, "from"),
        ({"from": "yesterday"}, "from"),
        ({"points": 1}, "points"),
        ({"metric": "load1_milli"}, "metric"),
        ({"until": "now"}, "until"),
    ):
        answer = api.get(address, query)
        assert answer.status_code == 400, query
        assert answer.json()["errors"][0]["field"] == field
    assert api.get("/api/v1/devices/999999/readings").status_code == 404
    assert api.get("/api/v1/nodes/999999/readings").status_code == 404
    assert APIClient().get(address).status_code in (401, 403)


def test_queries_do_not_grow_with_what_is_read(api, start, django_assert_num_queries):
    node = make_node()
    device = make_device(node)
    address = f"/api/v1/devices/{device.pk}/readings"
    api.get(address)
    with django_assert_num_queries(DEVICE_QUERIES):
        api.get(address, span(start, minutes=30))
    store(node, start, 10, list(range(100)))
    with django_assert_num_queries(DEVICE_QUERIES):
        api.get(address, span(start, minutes=30))

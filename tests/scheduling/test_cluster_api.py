"""Map, overview, queues, cycles and device fits over REST."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F, Q
from rest_framework.test import APIClient

from controlplane.accounts.models import Membership, Team, User
from controlplane.base import clock
from controlplane.policy.service import activate
from inventory.models import Device, DeviceHealth, DeviceReading, Node, NodeReading, NodeSet, NodeState
from queues.models import LIVE_STATUSES, Job, Queue
from scheduling.engine.quota import Quotas
from scheduling.models import Cycle, Placement
from scheduling.selectors import fits
from scheduling.selectors.live import live_view
from scheduling.selectors.map_document import scope_of
from scheduling.selectors.resource_map import resource_map
from scheduling.selectors.shares import WAITS
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
MAP_QUERIES = 10
KEPT_MAP_QUERIES = 5
OVERVIEW_QUERIES = 25
QUEUES_QUERIES = 11
YEAR = timedelta(days=365)


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def api(user):
    client = APIClient()
    client.force_login(user)
    return client


def cluster():
    nodes = [make.make_node(f"tb-{i:03}", cores=8, node_set="a" if i < 2 else None) for i in range(3)]
    for node in nodes[:2]:
        for index in range(2):
            make.make_device(node, index=index)
    return nodes


def test_the_map_names_its_columns_and_knows_what_is_booked(api, user):
    node = cluster()[0]
    DeviceReading.objects.create(
        device=node.devices.first(), at=clock.now(), memory_used_mib=100, utilization_pct=7
    )
    job = make.make_job(user, resources={"devices": 2, "cores": 3, "memory": "1Gi"})
    make.run_cycle()
    found = api.get("/api/v1/map").json()
    placement = Placement.objects.get(job=job)
    row = dict(
        zip(
            found["columns"]["nodes"],
            next(n for n in found["nodes"] if n[0] == placement.node_id),
            strict=True,
        )
    )
    assert (row["booked_cores"], row["booked_memory_mib"], row["memory_used_mib"]) == (3, 1024, None)
    device = dict(zip(found["columns"]["devices"], row["devices"][0], strict=True))
    assert (device["booked_milli"], device["jobs_count"], device["booked_mib"]) == (1000, 1, 40960)
    assert found["models"][device["model_idx"]] == "NVIDIA A100-PCIE-40GB"
    assert [(g["node_set"], len(g["nodes"])) for g in found["groups"]] == [("a", 2), (None, 1)]


def test_the_map_names_queue_and_rack_but_no_team_of_others(api, user):
    node = cluster()[0]
    Node.objects.filter(pk=node.pk).update(labels={"rack": "r-07"})
    job = make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    where = Placement.objects.get(job=job).slices.get().device

    def shown(found):
        rows = {row[0]: dict(zip(found["columns"]["nodes"], row, strict=True)) for row in found["nodes"]}
        devices = [row for node_row in rows.values() for row in node_row["devices"]]
        device = next(row for row in devices if row[0] == where.pk)
        return rows, dict(zip(found["columns"]["devices"], device, strict=True))

    found = api.get("/api/v1/map").json()
    rows, device = shown(found)
    assert [row["rack"] for row in rows.values()].count("r-07") == 1
    assert found["queues"][device["queue_idx"]] == "training"
    assert found["teams"][device["team_idx"]] == job.team.slug
    stranger = APIClient()
    stranger.force_login(make.make_user("eve", team=make.make_team("other")))
    found = stranger.get("/api/v1/map").json()
    assert (found["teams"], shown(found)[1]["team_idx"]) == ([], None)


def test_the_map_is_sent_again_only_when_it_changed(api):
    cluster()
    first = api.get("/api/v1/map")
    assert api.get("/api/v1/map", headers={"If-None-Match": first["ETag"]}).status_code == 304
    make.make_node("new")
    assert api.get("/api/v1/map", headers={"If-None-Match": first["ETag"]}).status_code == 200


def test_the_map_follows_whatever_changes_a_row_of_it_without_being_told(api, user):
    node = cluster()[0]
    device = node.devices.first()
    job = make.make_job(user, resources={"devices": 1, "cores": 1})
    make.run_cycle()
    reading = DeviceReading.objects.create(device=device, at=clock.now(), utilization_pct=1)
    placement = Placement.objects.filter(job=job)
    rows = Device.objects.filter(pk=device.pk)
    changes = {
        "the name of a node": lambda: Node.objects.filter(pk=node.pk).update(name="renamed"),
        "its set": lambda: NodeSet.objects.filter(name="a").update(name="b"),
        "its first reading": lambda: NodeReading.objects.create(node=node, at=clock.now(), cpu_used_milli=1),
        "a device": lambda: rows.update(cordoned=True),
        "a reading": lambda: DeviceReading.objects.filter(pk=reading.pk).update(utilization_pct=2),
        "the same reading again": lambda: DeviceReading.objects.filter(pk=reading.pk).update(
            utilization_pct=1
        ),
        "booked memory": lambda: placement.update(host_memory_mib=77),
        "a slice": lambda: placement.get().slices.update(memory_mib=78),
        "a core": lambda: placement.get().core_bookings.all().delete(),
        "a queue": lambda: Queue.objects.filter(name="training").update(name="drills"),
        "a team": lambda: Team.objects.filter(pk=job.team_id).update(slug="renamed"),
    }
    before = api.get("/api/v1/map")
    for what, change in changes.items():
        change()
        after = api.get("/api/v1/map", headers={"If-None-Match": before["ETag"]})
        assert after.status_code == 200, what
        assert without_time(after) != without_time(before), what
        assert without_time(after) == json.loads(json.dumps(resource_map(scope_of(user)))), what
        before = after


def without_time(answer):
    return {name: value for name, value in answer.json().items() if name != "at"}


def test_what_one_may_see_of_the_map_is_not_shown_to_another(api, user):
    cluster()
    make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    own = api.get("/api/v1/map")
    stranger = APIClient()
    stranger.force_login(make.make_user("eve", team=make.make_team("other")))
    admin = APIClient()
    admin.force_login(make.make_user("root", role="admin"))
    theirs = [client.get("/api/v1/map") for client in (stranger, admin, api)]
    assert [answer.json()["teams"] for answer in theirs] == [[], own.json()["teams"], own.json()["teams"]]
    assert own.json()["teams"]
    seen = stranger.get("/api/v1/map", headers={"If-None-Match": own["ETag"]})
    assert (seen.status_code, seen.json()["teams"]) == (200, [])
    Membership.objects.create(user=User.objects.get(username="eve"), team=user.memberships.get().team)
    assert stranger.get("/api/v1/map").json()["teams"] == own.json()["teams"]


def test_a_map_that_did_not_change_is_not_made_again(api, django_assert_num_queries, monkeypatch):
    cluster()
    first = api.get("/api/v1/map")
    monkeypatch.setattr("scheduling.selectors.map_document.resource_map", pytest.fail)
    with django_assert_num_queries(KEPT_MAP_QUERIES):
        again = api.get("/api/v1/map")
    assert (again["ETag"], without_time(again)) == (first["ETag"], without_time(first))


@pytest.mark.parametrize(
    "path,queries", [("map", MAP_QUERIES), ("overview", OVERVIEW_QUERIES), ("queues", QUEUES_QUERIES)]
)
def test_queries_do_not_grow_with_the_cluster(api, user, django_assert_num_queries, path, queries):
    cluster()
    make.make_job(user)
    make.run_cycle()
    api.get(f"/api/v1/{path}")
    make_map_old()
    with django_assert_num_queries(queries):
        api.get(f"/api/v1/{path}")
    for number in range(10):
        make.make_device(make.make_node(f"more-{number}"))
        make.make_job(user)
    make.run_cycle()
    api.get(f"/api/v1/{path}")
    make_map_old()
    with django_assert_num_queries(queries):
        api.get(f"/api/v1/{path}")


def make_map_old():
    assert NodeSet.objects.update(name=F("name"))


def test_the_overview_counts_what_there_is(api, user):
    nodes = cluster()
    make.make_node("gone", state=NodeState.LOST)
    make.make_device(nodes[2], health=DeviceHealth.QUARANTINED)
    NodeReading.objects.create(node=nodes[0], at=clock.now(), cpu_used_milli=4000, power_mw=250_000)
    make.make_job(user, resources={"devices": 1})
    make.make_job(user, resources={"devices": 5})
    make.run_cycle()
    found = api.get("/api/v1/overview").json()
    assert (found["nodes"]["total"], found["nodes"]["ready"], found["nodes"]["lost"]) == (4, 3, 1)
    assert (found["devices"]["total"], found["devices"]["schedulable"]) == (5, 4)
    assert found["accelerators"] == {"booked_percent": 25.0, "measured_percent": None}
    assert (found["cpu"]["cores"], found["cpu"]["measured_percent"]) == (24, 50.0)
    assert found["power_w"] == 250
    assert found["waiting"] == [{"code": "device-count", "count": 1}]
    assert found["jobs"]["pending"] == 1 and found["cycle"]["placed"] == 1


def test_waits_are_percentiles_of_started_jobs(api, user):
    now = clock.now()
    for milliseconds in range(1000, 101_000, 1000):
        job = make.make_job(user)
        Job.objects.filter(pk=job.pk).update(pending_ms=milliseconds, started_at=now)
    training = next(q for q in api.get("/api/v1/queues").json() if q["name"] == "training")
    assert training["wait_s"] == {"count": 100, "mean": 50.5, "p50": 50.5, "p95": 95.05, "p99": 99.01}


def test_figures_of_a_day_do_not_read_the_jobs_of_a_year(api, user):
    """Both windows have an index of their own."""
    since = clock.now()
    job = make.make_job(user)
    Job.objects.filter(pk=job.pk).update(
        status="succeeded", started_at=since - YEAR, finished_at=since - YEAR
    )
    job.refresh_from_db()
    job.pk = None
    Job.objects.bulk_create([job] * 3000)
    recent = Job.objects.filter(Q(status__in=LIVE_STATUSES) | Q(finished_at__gte=since))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE queues_job")
        cursor.execute(f"EXPLAIN {WAITS}", [since])
        waits = str(cursor.fetchall())
    assert "job_started" in waits
    assert "job_finished" in recent.explain()


def test_queues_show_their_share(api, user):
    make.make_queues(capped=True)
    cluster()
    make.make_job(user, resources={"devices": 1, "cores": 2})
    make.make_job(user, resources={"cores": 3})
    make.run_cycle()
    found = {q["name"]: q for q in api.get("/api/v1/queues").json()}
    assert list(found) == ["inference", "training", "offline"]
    training = found["training"]
    assert (training["quota_percent"], training["booked_device_milli"], training["booked_core_milli"]) == (
        50,
        1000,
        3000,
    )
    assert (training["capacity_device_milli"], training["cap_device_milli"]) == (4000, 2000)
    assert sum(q["cap_core_milli"] for q in found.values()) == training["capacity_core_milli"] == 24_000
    live = live_view()
    caps = {cap.queue: cap.cap_milli for q in found.values() for cap in _device_caps(live, q["id"])}
    assert caps == {q["id"]: q["cap_device_milli"] for q in found.values()}


def _device_caps(live, queue):
    """The caps that the engine keeps, which are the ones that are shown."""
    return Quotas(live.state, live.policy.engine)._queues[queue].devices


def test_a_device_says_what_it_could_take(api, user):
    node = make.make_node("small")
    device = make.make_device(node)
    wide = make.make_job(user, resources={"devices": 2})
    fitting = make.make_job(user, resources={"devices": 1}, name="fits")
    found = api.get(f"/api/v1/devices/{device.pk}/fits").json()
    assert found["largest"] == {
        "alone_mib": 40960, "shared_mib": 34133, "compute_milli": 1000, "cores": 8, "host_memory_mib": 65536,
    }  # fmt: skip
    assert found["jobs_total"] == 1 and found["text"] is None
    assert [j["id"] for j in found["jobs"]] == [fitting.pk] and wide.pk != fitting.pk
    assert api.get("/api/v1/devices/999999/fits").status_code == 404
    make.run_cycle()
    found = api.get(f"/api/v1/devices/{device.pk}/fits").json()
    assert (found["code"], found["jobs_total"]) == ("device-busy", 0)
    assert found["text"] and set(found["largest"].values()) == {0}


def test_a_device_takes_no_more_than_the_power_cap_leaves(api):
    device = make.make_device(make.make_node(), power_limit_w=400)
    activate("scheduler: {power: {cap-w: 100}}", author=None, reason="test")
    assert api.get(f"/api/v1/devices/{device.pk}/fits").json()["largest"]["compute_milli"] == 250


def test_unknown_memory_of_a_node_is_told_as_unknown(api, user):
    node = make.make_node()
    Node.objects.filter(pk=node.pk).update(memory_mib=None)
    found = api.get(f"/api/v1/devices/{make.make_device(node).pk}/fits").json()
    assert (found["largest"]["cores"], found["largest"]["host_memory_mib"]) == (8, None)


def test_only_jobs_that_the_caller_may_see_fit_and_not_all_are_named(api, user, monkeypatch):
    monkeypatch.setattr(fits, "MOST_JOBS", 2)
    device = make.make_device(make.make_node())
    mine = [make.make_job(user, priority=n, name=f"n{n}", resources={"devices": 1}) for n in range(3)]
    make.make_job(make.make_user("eve", team=make.make_team("other")), resources={"devices": 1})
    found = api.get(f"/api/v1/devices/{device.pk}/fits").json()
    assert found["jobs_total"] == 3
    assert found["jobs"] == [{"id": mine[n].pk, "name": f"n{n}", "queue": "training"} for n in (2, 1)]


def test_cycles_are_listed_with_their_costs(api, user):
    make.make_job(user)
    make.run_cycle()
    cycle = api.get("/api/v1/cycles").json()["results"][0]
    assert (cycle["considered"], cycle["placed"], cycle["waiting"], cycle["refused"]) == (1, 0, 1, 1)
    assert cycle["wall_ms"] >= 0 and cycle["stale"] == 0


def test_a_cycle_without_figures_yet_is_not_shown(api, user):
    make.make_job(user)
    make.run_cycle()
    done = Cycle.objects.get()
    Cycle.objects.create(fencing_token=done.fencing_token + 1)
    assert [c["id"] for c in api.get("/api/v1/cycles").json()["results"]] == [done.pk]
    assert api.get("/api/v1/overview").json()["cycle"]["considered"] == 1

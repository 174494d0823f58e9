"""The control plane about itself: status and metrics."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from redis.exceptions import ConnectionError as NoConnection
from rest_framework.test import APIClient

from controlplane.accounts.models import ApiToken
from controlplane.base import clock
from controlplane.base.locks import LeaseLost
from inventory import streams
from inventory.models import DeviceReading, NodeReading, NodeState
from inventory.node_states import NOT_SIMULATED
from scheduling import cycle, fleet_metrics
from scheduling.metrics import exposition
from scheduling.models import Cycle, Pulse
from scheduling.selectors import status
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def api(user):
    client = APIClient()
    client.force_login(user)
    return client


def past_cycles(*walls_ms: int) -> None:
    now = clock.now()
    for wall_ms in walls_ms:
        Cycle.objects.create(
            fencing_token=1, finished_at=now, wall_ms=wall_ms, cpu_ms=wall_ms // 2, considered=10, placed=1,
            refused=1, stale=1, cache_hits=3, cache_lookups=4,
        )  # fmt: skip
    Cycle.objects.create(fencing_token=1, finished_at=now - timedelta(hours=2), wall_ms=9999)
    Cycle.objects.create(fencing_token=1)


def test_the_cycles_of_the_last_hour_are_summed_up(api):
    past_cycles(*range(1, 101))
    found = api.get("/api/v1/status").json()["cycle"]
    assert found["wall_ms"] == {"count": 100, "mean": 50.5, "p50": 50.5, "p95": 95.0, "p99": 99.0}
    assert found["count_1h"] == 100 and found["cache_hit_percent"] == 75.0
    assert found["decisions_per_s"] == 59.4 and found["cpu_percent"] == 0.069
    assert found["last"]["wall_ms"] == 9999


def test_what_never_happened_is_unknown(api):
    found = api.get("/api/v1/status").json()["cycle"]
    assert found["wall_ms"] == {"count": 0, "mean": None, "p50": None, "p95": None, "p99": None}
    assert {name for name, value in found.items() if value is None} == {
        "last", "decisions_per_s", "cache_hit_percent", "cpu_percent", "longest_gap_s",
    }  # fmt: skip


def test_every_look_leaves_a_trace(user, api, monkeypatch):
    for _ in range(3):
        make.run_cycle()
    make.make_node()
    make.make_job(user)
    make.run_cycle()

    def lost(*_given: object) -> None:
        raise LeaseLost("cycle")

    monkeypatch.setattr(cycle, "one_cycle", lost)
    make.run_cycle()
    found = api.get("/api/v1/status").json()["cycle"]
    assert (found["looks_1h"], found["count_1h"], found["skipped_1h"]) == (5, 1, 1)
    assert 0 <= found["longest_gap_s"] < 60


def test_the_longest_gap_spans_minutes_and_reaches_to_now():
    now = clock.now()
    for ago_s, first_s, last_s, gap_ms in ((600, 0, 50, 9_000), (480, 10, 55, 5_000), (420, 0, 1, 0)):
        minute = now - timedelta(seconds=ago_s)
        Pulse.objects.create(
            minute=minute,
            looks=2,
            first_at=minute + timedelta(seconds=first_s),
            last_at=minute + timedelta(seconds=last_s),
            longest_gap_ms=gap_ms,
        )
    assert 419 <= status.cycle_status()["longest_gap_s"] < 430
    Pulse.objects.create(minute=now, looks=1, first_at=now, last_at=now)
    assert status.cycle_status()["longest_gap_s"] == pytest.approx(419, abs=0.01)


def test_a_silence_is_told_however_long_it_is():
    now = clock.now()
    for ago_h in (6, 4):
        at = now - timedelta(hours=ago_h)
        Pulse.objects.create(minute=at, looks=7, skipped=1, first_at=at, last_at=at, longest_gap_ms=9)
    found = status.cycle_status()
    assert found["longest_gap_s"] == pytest.approx(4 * 3600, abs=30)
    assert (found["looks_1h"], found["skipped_1h"]) == (0, 0)
    Pulse.objects.create(minute=now, looks=1, first_at=now, last_at=now)
    found = status.cycle_status()
    assert found["longest_gap_s"] == pytest.approx(4 * 3600, abs=30), "it ended within the hour"
    assert found["looks_1h"] == 1


def test_scores_that_are_still_right_are_hits(user):
    for _ in range(4):
        make.make_node()
    worker = cycle.Worker()
    for _ in range(2):
        make.make_job(user)
        make.run_cycle(worker)
    first, second = Cycle.objects.order_by("pk")
    assert (first.cache_hits, first.cache_lookups) == (0, 4)
    assert 0 < second.cache_hits < second.cache_lookups


def test_scores_are_counted_where_they_are_made(user):
    """The nodes that are there now say nothing of the nodes that were there when a score was made."""
    nodes = [make.make_node() for _ in range(4)]
    worker = cycle.Worker()
    make.make_job(user, resources={"devices": 1})
    make.run_cycle(worker)
    for node in nodes[1:]:
        node.delete()
    make.make_job(user, resources={"devices": 2})
    make.run_cycle(worker)
    _first, second = Cycle.objects.order_by("pk")
    assert 0 <= second.cache_hits <= second.cache_lookups <= 4


def test_agents_database_and_broker(api):
    make.make_node(agent_version="0.1.0")
    make.make_node(agent_version="0.1.0", state=NodeState.SILENT)
    make.make_node(agent_version="0.2.0", state=NodeState.LOST)
    make.make_node(state=NodeState.ENROLLED)
    make.make_node(
        agent_version="0.3.0", simulated=True, state=NodeState.MAINTENANCE, state_reason=NOT_SIMULATED
    )
    found = api.get("/api/v1/status").json()
    assert found["agents"] == {
        "online": 1,
        "silent": 2,
        "versions": [{"version": "0.1.0", "count": 2}, {"version": "0.2.0", "count": 1}],
    }
    assert found["database"]["ok"] and found["database"]["size_mib"] > 0 and found["database"]["version"]
    assert found["valkey"]["ok"] and found["valkey"]["version"]
    assert [row["name"] for row in found["workers"]] == ["cycle", "upkeep", "remote", "replay"]
    assert all(row["waiting"] is not None for row in found["workers"])


def test_a_broker_that_is_away_is_told_not_raised(api, monkeypatch):
    def away() -> None:
        raise NoConnection

    monkeypatch.setattr(streams, "client", away)
    found = api.get("/api/v1/status").json()
    assert found["valkey"] == {"ok": False, "version": None}
    assert {row["waiting"] for row in found["workers"]} == {None}
    assert "headrace_worker_queue_waiting{" not in api.get("/metrics").content.decode()


def test_metrics_need_a_token_that_may_read(user):
    past_cycles(10, 20)
    make.make_device(make.make_node())
    make.make_job(user, resources={"devices": 9})
    _token, secret = ApiToken.objects.create(user=user, name="scrape", scopes=["read"])
    client = APIClient()
    assert client.get("/metrics").status_code in (401, 403)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    answer = client.get("/metrics", HTTP_ACCEPT="application/openmetrics-text;version=1.0.0,*/*;q=0.1")
    assert answer.status_code == 200 and answer["Content-Type"].startswith("text/plain")
    lines = answer.content.decode().splitlines()
    assert 'headrace_cycle_wall_seconds{stat="p50"} 0.015' in lines
    assert 'headrace_nodes{state="ready"} 1.0' in lines
    assert 'headrace_devices{health="healthy"} 1.0' in lines
    assert 'headrace_jobs{status="pending"} 1.0' in lines
    assert not any(user.username in line for line in lines)
    assert client.get("/metrics", HTTP_ACCEPT="text/plain").status_code == 200


def test_metrics_tell_models_hosts_and_queues(user, monkeypatch):
    node = make.make_node(cores=8, memory_mib=1024)
    first = make.make_device(node, model="A", memory_mib=1000)
    make.make_device(node, index=1, model="A", memory_mib=1000, health="quarantined")
    make.make_device(node, index=2, model="B")
    now = clock.now()
    DeviceReading.objects.create(
        device=first, at=now, memory_used_mib=10, utilization_pct=50, temperature_c=61, power_mw=2500
    )
    NodeReading.objects.create(node=node, at=now, cpu_used_milli=1500, power_mw=9000)
    make.make_job(user)
    lines = exposition().decode().splitlines()
    assert 'headrace_device_models{health="healthy",model="A",vendor="nvidia"} 1.0' in lines
    assert 'headrace_device_models{health="quarantined",model="A",vendor="nvidia"} 1.0' in lines
    assert 'headrace_device_memory_bytes{model="A",vendor="nvidia"} 2.097152e+09' in lines
    assert 'headrace_device_utilization_ratio{model="A",vendor="nvidia"} 0.5' in lines
    assert 'headrace_device_temperature_max_celsius{model="A",vendor="nvidia"} 61.0' in lines
    assert 'headrace_device_power_watts{model="A",vendor="nvidia"} 2.5' in lines
    assert 'headrace_devices_utilization_ratio{stat="p95"} 0.5' in lines
    assert "headrace_host_cpu_used_cores 1.5" in lines and "headrace_host_power_watts 9.0" in lines
    assert 'headrace_queue_jobs{queue="training",status="pending"} 1.0' in lines
    assert any(line.startswith("headrace_readings_waiting ") for line in lines)
    unknown = [line for line in lines if 'model="B"' in line and "device_models" not in line]
    assert unknown == ['headrace_device_memory_bytes{model="B",vendor="nvidia"} 4.294967296e+10']
    assert not any(
        line.startswith(("headrace_host_memory", "headrace_queue_wait_seconds{")) for line in lines
    )
    monkeypatch.setattr(fleet_metrics, "MOST_MODELS", 1)
    lines = exposition().decode().splitlines()
    assert 'headrace_device_models{health="healthy",model="other",vendor="other"} 1.0' in lines


def test_a_token_for_metrics_reads_nothing_else(user):
    _token, secret = ApiToken.objects.create(user=user, name="scrape", scopes=["metrics"])
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    assert client.get("/metrics").status_code == 200
    assert client.get("/api/v1/status").status_code == 403


def test_status_needs_a_constant_number_of_queries(api, django_assert_num_queries):
    api.get("/api/v1/status")
    with django_assert_num_queries(9):
        api.get("/api/v1/status")
    past_cycles(1, 2, 3)
    for _ in range(3):
        make.make_node(agent_version="1")
    with django_assert_num_queries(9):
        api.get("/api/v1/status")
    assert connection.vendor == "postgresql"

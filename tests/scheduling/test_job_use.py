"""What running jobs use: told by agents, never stored, unknown where a part of it is unknown."""

from __future__ import annotations

from datetime import timedelta

import pytest
from rest_framework.test import APIClient

from agent.protocol import DeviceUse, NodeSample, TaskPhase, TaskState
from controlplane.base import clock
from inventory import streams, telemetry
from inventory.models import DeviceReading
from scheduling.models import Placement
from tests.scheduling import factories as make

USE = "/api/v1/jobs/use"


@pytest.fixture(autouse=True)
def empty_stream(valkey_url):
    streams.client().delete(streams.STREAM)
    yield
    streams.client().flushdb()


@pytest.fixture
def user(db):
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def api(user):
    client = APIClient()
    client.force_authenticate(user)
    return client


def run(user, node, **resources):
    job = make.make_job(user, resources=resources)
    make.run_cycle()
    placement = Placement.objects.get(job=job)
    make.report(node, make.started(placement))
    return placement


def tell(node, placement, **used):
    task = TaskState(placement.pk, placement.attempt, placement.fence, TaskPhase.RUNNING, **used)
    assert streams.push(node.pk, clock.now_ms(), NodeSample(cpu_used_milli=1), [], [task])
    telemetry.flush(None)


def test_what_a_job_uses_stands_beside_what_it_booked(api, user):
    node = make.make_node()
    make.make_device(node)
    placement = run(user, node, devices=1, cores=2, memory=4096)
    device = placement.slices.get().device
    tell(
        node,
        placement,
        memory_used_mib=1000,
        cpu_used_milli=1500,
        device_use=[DeviceUse(device.uuid or device.pci_bus_id, 321)],
    )
    DeviceReading.objects.update_or_create(device=device, defaults={"at": clock.now(), "utilization_pct": 40})
    (row,) = api.get(USE).json()["results"]
    assert (row["host_memory_used_mib"], row["host_memory_booked_mib"]) == (1000, 4096)
    assert (row["cpu_used_milli"], row["cores"], row["devices"]) == (1500, 2, 1)
    assert (row["device_use_pct"], row["device_memory_used_mib"]) == (40, 321)
    assert row["nodes"] == [node.name] and row["running_s"] == 0 and not row["shares_devices"]


def test_what_nobody_told_or_is_old_is_unknown(api, user):
    node = make.make_node()
    make.make_device(node)
    placement = run(user, node, devices=1)
    device = placement.slices.get().device
    old = clock.now() - timedelta(minutes=3)
    DeviceReading.objects.update_or_create(
        device=device, defaults={"at": old, "utilization_pct": 0, "memory_used_mib": 5}
    )
    (row,) = api.get(USE).json()["results"]
    unknown = ("host_memory_used_mib", "cpu_used_milli", "device_use_pct", "device_memory_used_mib")
    assert [row[name] for name in unknown] == [None] * 4


def test_a_whole_device_uses_what_is_used_of_it(api, user):
    node = make.make_node()
    make.make_device(node)
    placement = run(user, node, devices=1)
    reading = {"at": clock.now(), "memory_used_mib": 777, "utilization_pct": 1}
    DeviceReading.objects.update_or_create(device=placement.slices.get().device, defaults=reading)
    assert api.get(USE).json()["results"][0]["device_memory_used_mib"] == 777


def test_another_node_tells_nothing_of_a_job(api, user):
    node, stranger = make.make_node(cores=8), make.make_node(cores=1)
    placement = run(user, node, cores=4)
    tell(stranger, placement, memory_used_mib=9)
    tell(node, placement, memory_used_mib=10**12)
    assert api.get(USE).json()["results"][0]["host_memory_used_mib"] is None


def test_only_jobs_with_a_place_that_the_caller_may_see(api, user, django_assert_num_queries):
    node = make.make_node(cores=8)
    run(user, node, cores=1)
    make.make_job(user, resources={"cores": 100})
    other = make.make_user("bob", team=make.make_team("others"))
    run(other, node, cores=1)
    with django_assert_num_queries(3):
        assert len(api.get(USE).json()["results"]) == 1
    run(user, node, cores=1)
    with django_assert_num_queries(3):
        assert len(api.get(USE).json()["results"]) == 2
    assert api.get(f"{USE}?owner=bob").json()["results"] == []
    assert api.get(f"{USE}?colour=red").status_code == 400

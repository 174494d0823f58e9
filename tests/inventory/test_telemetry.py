"""Readings through the stream to the latest row."""

import time

import pytest
import redis
from django.db import OperationalError

from agent.protocol import DeviceSample, NodeSample
from controlplane.base import tx
from controlplane.base.broker import Breaker
from inventory import plausible, streams, telemetry
from inventory.models import Device, DeviceHealth, DeviceReading, Node, NodeReading
from inventory.tasks import flush_telemetry
from inventory.wiring import Booked
from tests.inventory.factories import GIB, make_device, make_node

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def empty_stream(valkey_url):
    streams.client().delete(streams.STREAM)


def push(node, at_ms, *samples, host=None):
    assert streams.push(node.pk, at_ms, host, samples)


def sample(device="GPU-00000000", **values):
    return DeviceSample(device=device, **values)


def test_the_latest_by_time_of_receipt_wins_in_any_order():
    node = make_node()
    device = make_device(node)
    push(node, 2000, sample(memory_used_mib=20), host=NodeSample(cpu_used_milli=2))
    push(node, 1000, sample(memory_used_mib=10), host=NodeSample(cpu_used_milli=1))
    assert telemetry.flush(None).entries == 2
    push(node, 1500, sample(memory_used_mib=15))
    telemetry.flush(None)
    assert DeviceReading.objects.get(device=device).memory_used_mib == 20
    assert NodeReading.objects.get(node=node).cpu_used_milli == 2
    assert streams.client().xlen(streams.STREAM) == 0


def test_new_readings_are_told_as_readings(monkeypatch, django_capture_on_commit_callbacks):
    """A console that heard of a changed map would read the overview anew every two seconds."""
    told = []
    monkeypatch.setattr(tx, "tell", lambda topic, key="": told.append((topic, key)))
    node = make_node()
    make_device(node)
    push(node, 1000, sample(memory_used_mib=10))
    with django_capture_on_commit_callbacks(execute=True):
        telemetry.flush(None)
    assert told == [(tx.Topic.HINT, ("readings",))]


def test_storing_twice_changes_nothing():
    node = make_node()
    make_device(node)
    push(node, 1000, sample(memory_used_mib=10))
    _ids, readings = streams.take(10)
    assert telemetry.store(readings, None) == 1
    assert telemetry.store(readings, None) == 0


@pytest.mark.parametrize("value", [4294967295, 9223372036854775794, 140737488355328, -1, -(2**63), 2**70])
def test_sentinels_are_unknown_and_leave_the_rest(value):
    node = make_node()
    make_device(node)
    push(
        node,
        1000,
        sample(memory_used_mib=value, utilization_pct=value, temperature_c=value, power_mw=70_000),
        host=NodeSample(cpu_used_milli=value, memory_used_mib=value, load1_milli=value, power_mw=value),
    )
    telemetry.flush(None)
    reading = DeviceReading.objects.get()
    assert (reading.memory_used_mib, reading.utilization_pct, reading.temperature_c) == (None, None, None)
    assert reading.power_mw == 70_000
    assert NodeReading.objects.get().cpu_used_milli is None


def test_more_used_than_there_is_is_unknown():
    node = make_node(memory_mib=1000)
    make_device(node, memory_total_mib=1000)
    push(node, 1000, sample(memory_used_mib=1001), host=NodeSample(memory_used_mib=1001))
    telemetry.flush(None)
    assert (
        DeviceReading.objects.get().memory_used_mib is None
        and NodeReading.objects.get().memory_used_mib is None
    )


def test_devices_are_found_by_bus_address_and_strangers_are_ignored():
    node = make_node()
    device = make_device(node, pci_bus_id="0000:3b:00.0")
    make_device(make_node("machine-2"), 1, pci_bus_id="0000:3b:00.0")
    push(node, 1000, sample("00000000:3B:00.0", power_mw=1), sample("GPU-nobody", power_mw=2))
    assert telemetry.flush(None).devices == 1
    assert DeviceReading.objects.get().device == device


def test_a_device_named_in_two_ways_has_one_reading_the_newest():
    node = make_node()
    device = make_device(node, pci_bus_id="0000:3b:00.0")
    push(node, 1000, sample("0000:3b:00.0", power_mw=1), sample(device.identity, power_mw=2))
    assert telemetry.flush(None).devices == 1
    assert DeviceReading.objects.get().power_mw == 2
    push(node, 2000, sample(device.identity, power_mw=3))
    push(node, 3000, sample("0000:3b:00.0", power_mw=4))
    assert telemetry.flush(None).devices == 1
    assert DeviceReading.objects.get().power_mw == 4


def test_a_reading_that_the_database_refuses_holds_nobody_up(monkeypatch):
    node = make_node()
    device = make_device(node)
    refuse = plausible.Range(0, 2**70)
    monkeypatch.setattr(plausible, "DEVICE_POWER_MW", refuse)
    push(node, 1000, sample(power_mw=7))
    push(node, 2000, sample(power_mw=2**65))
    assert telemetry.flush(None) == telemetry.Flushed(entries=2, devices=1)
    assert DeviceReading.objects.get(device=device).power_mw == 7
    assert streams.client().xlen(streams.STREAM) == 0


def test_readings_wait_in_the_stream_while_the_database_is_away(monkeypatch):
    def gone(readings, booked_reader):
        raise OperationalError("gone")

    monkeypatch.setattr(telemetry, "store", gone)
    push(make_node(), 1000, sample(power_mw=7))
    assert flush_telemetry() == 0
    assert streams.client().xlen(streams.STREAM) == 1


def test_readings_of_a_deleted_node_are_dropped():
    node = make_node()
    push(node, 1000, sample(power_mw=1), host=NodeSample(power_mw=1))
    Node.objects.all().delete()
    assert telemetry.flush(None).entries == 1


def test_the_stream_is_bounded(monkeypatch):
    monkeypatch.setattr(streams, "MAX_ENTRIES", 100)
    node = make_node()
    for number in range(500):
        push(node, number, sample(power_mw=number))
    assert streams.client().xlen(streams.STREAM) < 300


def test_rubbish_in_the_stream_is_thrown_away():
    streams.client().xadd(streams.STREAM, {b"r": b"{"})
    streams.client().xadd(streams.STREAM, {b"x": b"y"})
    assert telemetry.flush(None).entries == 2


def test_without_valkey_a_report_loses_its_readings_quickly_and_quietly(monkeypatch):
    gone = redis.Redis.from_url("redis://127.0.0.1:1/0", socket_connect_timeout=0.25)
    monkeypatch.setattr(streams, "client", lambda: gone)
    monkeypatch.setattr(streams, "_breaker", Breaker())
    started = time.monotonic()
    assert [streams.push(1, 1, None, [sample(power_mw=1)]) for _ in range(50)] == [False] * 50
    assert time.monotonic() - started < 1


def flush_with(booked_mib):
    booked = {device: Booked(memory_mib, 1000) for device, memory_mib in booked_mib.items()}
    telemetry.flush(lambda device_ids: booked)


def foreign():
    return Device.objects.get().foreign_mib


def test_use_that_nobody_booked_is_foreign_once_two_readings_show_it():
    node = make_node()
    device = make_device(node, memory_total_mib=24 * GIB)
    push(node, 1000, sample(memory_used_mib=20 * GIB))
    flush_with({})
    assert foreign() == 0
    push(node, 2000, sample(memory_used_mib=20 * GIB))
    flush_with({})
    assert foreign() == 20 * GIB
    push(node, 3000, sample(memory_used_mib=20 * GIB))
    flush_with({device.pk: 8 * GIB})
    assert foreign() == 12 * GIB
    push(node, 4000, sample(memory_used_mib=300))
    flush_with({})
    assert foreign() == 0


def test_foreign_use_is_written_only_when_it_crosses_a_step():
    node = make_node()
    make_device(node)
    for at_ms in (1000, 2000):
        push(node, at_ms, sample(memory_used_mib=5000))
        flush_with({})
    assert foreign() == 5120
    revision = Node.objects.get().revision
    for at_ms, used_mib in ((3000, 5010), (4000, 4990), (5000, 5120)):
        push(node, at_ms, sample(memory_used_mib=used_mib))
        flush_with({})
    assert Node.objects.get().revision == revision and foreign() == 5120
    push(node, 6000, sample(memory_used_mib=4800))
    flush_with({})
    assert Node.objects.get().revision == revision + 1


def test_telemetry_alone_never_touches_inventory_rows():
    node = make_node()
    make_device(node)
    before = (Node.objects.values().get(), Device.objects.values().get())
    push(node, 1000, sample(memory_used_mib=100, utilization_pct=50), host=NodeSample(cpu_used_milli=5))
    flush_with({})
    assert (Node.objects.values().get(), Device.objects.values().get()) == before


def test_a_missing_device_does_not_take_the_readings_of_its_successor():
    node = make_node()
    make_device(node, 0, pci_bus_id="0000:3b:00.0", health=DeviceHealth.MISSING)
    new = make_device(node, 1, identity="0000:3b:00.0", uuid=None, pci_bus_id="0000:3b:00.0")
    push(node, 1000, sample("0000:3b:00.0", power_mw=1))
    telemetry.flush(None)
    assert DeviceReading.objects.get().device == new


def test_ten_thousand_readings_take_few_statements(django_assert_max_num_queries):
    node = make_node()
    Device.objects.bulk_create(
        Device(node=node, identity=f"D{number}", uuid=f"D{number}", index=number, vendor="nvidia")
        for number in range(2000)
    )
    for at_ms in range(5):
        for start in range(0, 2000, 500):
            push(node, at_ms, *(sample(f"D{n}", memory_used_mib=n) for n in range(start, start + 500)))
    with django_assert_max_num_queries(8):
        assert telemetry.flush(None).devices == 2000

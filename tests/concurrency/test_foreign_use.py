"""Foreign use beside other writers of the same devices and nodes."""

import threading

import pytest
from django.db import connection, transaction

from agent.protocol import NodeSample
from controlplane.base import tx
from inventory import streams
from inventory.foreign_use import update_foreign
from inventory.models import Device, DeviceReading, Node
from inventory.revisions import nodes_changed
from inventory.tasks import flush_telemetry
from tests.inventory.factories import make_device, make_node

pytestmark = pytest.mark.django_db(transaction=True)
READ_AT = "2026-01-01T00:00:00Z"


def used(*devices: Device) -> list[int]:
    """Readings that twice showed 2 GiB in use."""
    for device in devices:
        DeviceReading.objects.create(device=device, at=READ_AT, memory_used_mib=2048, unbooked_mib=2048)
    return [device.pk for device in devices]


def foreign() -> list[int]:
    return list(Device.objects.order_by("pk").values_list("foreign_mib", flat=True))


def test_a_device_that_somebody_holds_is_left_for_the_next_reading():
    nodes = [make_node(f"m{number}") for number in range(2)]
    ids = used(*(make_device(node) for node in nodes))
    found = []

    def elsewhere() -> None:
        try:
            update_foreign(ids, {})
            found.append(foreign())
        finally:
            connection.close()

    with transaction.atomic():
        Device.objects.select_for_update().get(pk=ids[0])
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join(timeout=30)
    assert found == [[0, 2048]]
    update_foreign(ids, {})
    assert foreign() == [2048, 2048]
    revisions = Node.objects.order_by("pk").values_list("revision", flat=True)
    assert list(revisions) == [node.revision + 1 for node in nodes]


def test_twins_over_many_nodes_wait_for_nobody_in_a_circle(at_once):
    nodes = [make_node(f"m{number}") for number in range(20)]
    ids = used(*(make_device(node) for node in nodes))
    done = at_once(*[lambda: update_foreign(ids, {})] * 3, *[lambda: update_foreign(ids[::-1], {})] * 3)
    assert done == [None] * 6
    update_foreign(ids, {})
    assert foreign() == [2048] * 20


def test_one_flush_at_a_time(valkey_url):
    streams.client().delete(streams.STREAM)
    node = make_node()
    make_device(node)
    with streams.taken_alone() as still_alone:
        assert still_alone
        with streams.taken_alone() as another:
            assert another is None
        assert still_alone()
        streams.push(node.pk, 1000, NodeSample(cpu_used_milli=1), [])
        assert flush_telemetry() == 0
    assert flush_telemetry() == 1
    with streams.taken_alone() as still_alone:
        assert still_alone
        streams.client().delete(f"{streams.STREAM}:taken")
        assert not still_alone()


def test_many_nodes_are_told_by_one_hint(monkeypatch):
    told = []
    monkeypatch.setattr(tx, "tell", lambda topic, key="": told.append((topic, key)))
    nodes = [make_node(f"m{number}").pk for number in range(33)]
    with transaction.atomic():
        nodes_changed(nodes)
    assert told == [(tx.Topic.CYCLE_WAKE, ""), (tx.Topic.HINT, ("node",)), (tx.Topic.HINT, ("map",))]

"""Slices of partitioned devices: rows beside that of their whole, one by one told apart, with its health."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agent.protocol import Check, CheckResult, Partition, Vendor
from controlplane.alerts.models import Alert, Severity
from controlplane.alerts.service import raise_alert
from controlplane.base import clock
from inventory import device_health, probing
from inventory.device_facts import SLICE_WORD, SLICE_WORDS
from inventory.ingest import apply_facts
from inventory.models import Device, DeviceEvent, DeviceLink, Node
from inventory.selectors import device_rows, node_rows, node_summary
from inventory.wiring import UPWARD, Booked
from scheduling.engine import modelnames
from tests.inventory.factories import GIB, THRESHOLDS, device_facts, facts, link, make_node, partition

pytestmark = pytest.mark.django_db
MODEL = "NVIDIA A100-SXM4-80GB"


def ingest(node: Node, *devices, **changes) -> list[Device]:
    apply_facts(node, facts(*devices, **changes), digest="d", thresholds=THRESHOLDS)
    return list(Device.objects.filter(node=node).order_by("id"))


def cut(*parts: Partition, index: int = 0, **changes):
    return device_facts(index, partitions=list(parts), **changes)


def check(node: Node, result: CheckResult = CheckResult.OK, *, device: str = "GPU-00000000") -> None:
    rows = Device.objects.filter(node=node).order_by("id")
    device_health.observe_checks(rows, [Check(device, result, "code", "evidence")], THRESHOLDS)


def healths(node: Node) -> list[str]:
    return list(Device.objects.filter(node=node).order_by("id").values_list("health", flat=True))


def test_slices_are_devices_of_their_own_below_their_whole():
    whole, first, second = ingest(
        make_node(),
        cut(partition(1), partition(2, name="1g.10gb", memory_total_mib=9984), cpu_affinity=[0, 1]),
    )
    assert [device.parent_id for device in (whole, first, second)] == [None, whole.pk, whole.pk]
    assert (first.identity, first.uuid, first.index, first.pci_bus_id) == ("MIG-00000001",) * 2 + (1, None)
    assert (first.memory_total_mib, first.compute_milli, first.numa_node) == (40 * GIB, 429, 0)
    assert (first.model, second.model) == (f"{MODEL} MIG 3g.40gb", f"{MODEL} MIG 1g.10gb")
    assert second.cpu_affinity == [0, 1] and second.power_limit_w is None


def test_slices_without_names_or_numbers_are_told_apart_and_stay_the_same():
    node = make_node()
    blank = [Partition(memory_total_mib=8 * GIB), Partition(instance=100, memory_total_mib=-1)]
    ascend = {"vendor": Vendor.ASCEND, "model": "910B3", "uuid": None, "pci_bus_id": "0000:c1:00.0"}
    made = ingest(node, cut(*blank, **ascend))
    assert [d.identity for d in made[1:]] == ["0000:c1:00.0/#0", "0000:c1:00.0/100"]
    assert [d.index for d in made[1:]] == [0, 100] and made[2].memory_total_mib is None
    assert made[1].model == "910B3 vNPU"
    assert [d.pk for d in ingest(node, cut(*blank, **ascend))] == [d.pk for d in made]


def test_a_slice_is_its_uuid_whatever_its_number_and_place():
    node = make_node()
    _whole, first, second = ingest(node, cut(partition(1), partition(2)))
    ingest(
        node, cut(partition(5, uuid=second.uuid), partition(3, uuid=first.uuid), index=4, uuid="GPU-00000000")
    )
    again = Device.objects.in_bulk()
    assert (again[first.pk].index, again[second.pk].index, len(again)) == (3, 5, 3)


def test_what_was_reported_as_a_device_and_is_a_slice_stays_one_row():
    node = make_node()
    (alone,) = ingest(node, device_facts(0, uuid="MIG-00000001", pci_bus_id=None))
    _alone, whole = ingest(node, cut(partition(1)))
    alone.refresh_from_db()
    assert alone.parent_id == whole.pk


def test_a_slice_stands_as_its_device_does_and_nobody_is_alerted_of_it_twice():
    node = make_node()
    ingest(node, cut(partition(1), partition(2)))
    check(node)
    assert healths(node) == ["healthy"] * 3
    check(node, CheckResult.FATAL)
    assert healths(node) == ["quarantined"] * 3
    assert Alert.objects.filter(code="device-quarantined", cleared_at=None).count() == 1
    assert DeviceEvent.objects.filter(to_health="quarantined", evidence="evidence").count() == 3


def test_a_slice_with_a_check_of_its_own_stands_for_itself():
    node = make_node()
    ingest(node, cut(partition(1), partition(2)))
    check(node)
    rows = Device.objects.filter(node=node).order_by("id")
    checks = [Check("GPU-00000000", CheckResult.OK), Check("MIG-00000002", CheckResult.FATAL, "xid-79")]
    device_health.observe_checks(rows, checks, THRESHOLDS)
    assert healths(node) == ["healthy", "healthy", "quarantined"]
    assert Alert.objects.filter(code="device-quarantined").count() == 1


def test_cutting_a_device_anew_does_not_wash_its_quarantine_away():
    node = make_node()
    ingest(node, device_facts(0))
    check(node, CheckResult.FATAL)
    ingest(node, cut(partition(1)))
    check(node)
    assert healths(node) == ["quarantined"] * 2
    ingest(node)
    ingest(node, cut(partition(1), partition(2)))
    check(node)
    assert healths(node) == ["quarantined"] * 3


def test_slices_that_nobody_holds_go_without_an_alert_and_their_rows_a_day_later():
    node = make_node()
    _whole, first, _second = ingest(node, cut(partition(1), partition(2)))
    check(node)
    ingest(node, cut(partition(9)))
    assert healths(node) == ["healthy", "missing", "missing", "healthy"]
    assert not Alert.objects.filter(code="device-missing").exists()
    Device.objects.filter(pk=first.pk).update(health_since=clock.now() - timedelta(days=2))
    raise_alert("device-overbooked", Severity.WARNING, subject_type="device", subject_id=first.pk)
    probing._forget_dissolved(clock.now())
    assert healths(node) == ["healthy", "missing", "healthy"]
    assert not Alert.objects.filter(cleared_at=None).exists()


def test_a_slice_that_somebody_holds_is_missed(monkeypatch):
    node = make_node()
    _whole, first = ingest(node, cut(partition(1)))
    monkeypatch.setattr(UPWARD, "booked", lambda ids: {first.pk: Booked(0, 1000)})
    ingest(node, device_facts(0))
    alert = Alert.objects.get(code="device-missing", cleared_at=None)
    assert alert.subject_id == str(first.pk)


def test_links_and_summaries_are_of_wholes():
    node = make_node()
    devices = [cut(partition(0), partition(1)), cut(index=1)]
    ingest(node, *devices, links=[link(0, 1)])
    a, b = Device.objects.filter(node=node, parent=None).order_by("index")
    assert DeviceLink.objects.values_list("first_id", "second_id").get() == (a.pk, b.pk)
    summary = node_summary(node_rows().get())
    assert (summary["devices"], summary["device_models"]) == (2, [MODEL])
    assert device_rows(node=node.pk).count() == 4


def test_too_many_slices_and_repeated_ones_are_left_out():
    node = make_node()
    parts = [partition(number) for number in range(80)]
    assert len(ingest(node, cut(*parts, partition(1)))) == 65
    warnings = {entry["code"] for entry in Node.objects.get(pk=node.pk).facts["warnings"]}
    assert "too-many" in warnings
    ingest(node, cut(partition(1), partition(1)))
    warnings = {entry["code"] for entry in Node.objects.get(pk=node.pk).facts["warnings"]}
    assert "device-twice" in warnings


def test_a_slice_bears_a_word_by_which_requests_tell_it_from_a_whole_device():
    words = {word.casefold() for word in (*SLICE_WORDS.values(), SLICE_WORD)}
    assert words == modelnames._SLICE_WORDS

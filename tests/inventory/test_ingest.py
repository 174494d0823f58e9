"""Facts into rows."""

import re

import msgspec
import pytest
from django.utils.translation import override

from agent import notices
from agent.protocol import Cpu, Notice, Runtime, StoredImage
from inventory.ingest import apply_facts
from inventory.models import Device, DeviceEvent, DeviceHealth, DeviceLink, Node
from inventory.warnings import TEXTS, warning_text
from tests.inventory.factories import GIB, THRESHOLDS, device_facts, facts, link, make_node

pytestmark = pytest.mark.django_db


def ingest(node, *devices, **changes):
    apply_facts(node, facts(*devices, **changes), digest="d", thresholds=THRESHOLDS)
    return list(Device.objects.filter(node=node).order_by("id"))


def revision(node):
    return Node.objects.values_list("revision", flat=True).get(pk=node.pk)


def test_columns_and_documents_of_the_node_are_stored():
    node = make_node()
    ingest(node, device_facts(0), labels={"zone": "a"}, node_set="left", images=["b", "a", "a"])
    node = Node.objects.get(pk=node.pk)
    assert (node.name, node.cpu_count, node.memory_mib) == ("n1", 4, 64 * GIB)
    assert node.node_set.name == "left" and node.labels == {"zone": "a"}
    assert node.facts["images"] == ["a", "b"] and node.facts["cpus"][0]["max_mhz"] == 3000
    assert node.facts_digest == "d" and node.facts_at is not None


@pytest.mark.parametrize(
    "said, runtimes, kept",
    [(True, [], True), (False, ["docker"], False), (None, ["docker"], True), (None, ["containerd"], False)],
)
def test_whether_containers_run_is_what_the_agent_says_and_of_an_older_one_which_engines_it_has(
    said, runtimes, kept
):
    node = make_node()
    ingest(node, runs_containers=said, runtimes=[Runtime(name=name) for name in runtimes])
    assert Node.objects.get(pk=node.pk).facts["runs_containers"] is kept


def test_a_device_is_its_uuid_whatever_its_index():
    node = make_node()
    a, b = ingest(node, device_facts(0, uuid="A"), device_facts(1, uuid="B"))
    again = ingest(node, device_facts(1, uuid="A"), device_facts(0, uuid="B"))
    assert [device.pk for device in again] == [a.pk, b.pk]
    assert [device.index for device in again] == [1, 0]


def test_without_uuid_the_bus_address_counts_in_every_spelling():
    node = make_node()
    (device,) = ingest(node, device_facts(0, uuid=None, pci_bus_id="00000000:3B:00.0"))
    assert device.identity == "0000:3b:00.0"
    (again,) = ingest(node, device_facts(3, uuid=None, pci_bus_id="3b:00.0"))
    assert again.pk == device.pk


def test_a_card_in_error_that_cannot_tell_its_uuid_is_still_itself():
    node = make_node()
    (device,) = ingest(node, device_facts(0, uuid="A"))
    (again,) = ingest(node, device_facts(0, uuid=None, model=None, memory_total_mib=None))
    assert (again.pk, again.uuid, again.identity) == (device.pk, "A", "A")
    assert again.memory_total_mib is None


def test_a_driver_loaded_later_gives_the_same_row_its_uuid():
    node = make_node()
    (device,) = ingest(node, device_facts(0, uuid=None))
    (again,) = ingest(node, device_facts(0, uuid="A"))
    assert (again.pk, again.identity) == (device.pk, "A")


def test_another_card_in_the_same_slot_is_another_device():
    node = make_node()
    ingest(node, device_facts(0, uuid="A"))
    old, new = ingest(node, device_facts(0, uuid="B"))
    assert (old.health, new.identity) == (DeviceHealth.MISSING, "B")


def test_a_vanished_device_is_missing_keeps_its_row_and_comes_back_untrusted():
    node = make_node()
    (device,) = ingest(node, device_facts(0))
    Device.objects.update(health=DeviceHealth.HEALTHY)
    (gone,) = ingest(node)
    assert (gone.pk, gone.health) == (device.pk, DeviceHealth.MISSING)
    (back,) = ingest(node, device_facts(0))
    assert (back.pk, back.health) == (device.pk, DeviceHealth.UNKNOWN)
    assert list(DeviceEvent.objects.order_by("id").values_list("to_health", flat=True)) == [
        "missing",
        "unknown",
    ]


def test_a_device_that_shrank_is_stored_as_it_is():
    node = make_node()
    ingest(node, device_facts(0))
    (device,) = ingest(node, device_facts(0, memory_total_mib=10 * GIB))
    assert device.memory_total_mib == 10 * GIB


def warnings_of(node):
    return [warning_text(entry) for entry in Node.objects.get(pk=node.pk).facts["warnings"]]


def test_what_a_notice_leaves_out_is_unknown():
    said = warning_text({"code": "probe-failed", "params": {"vendor": "nvidia"}})
    assert said == "nvidia: the devices could not be read: unknown"
    for code in TEXTS:
        assert "%(" not in warning_text({"code": code, "params": {}})


@pytest.mark.parametrize("value", [-1, 4294967295, 2**63, 2**70, 140737488355328, 0])
def test_impossible_memory_is_unknown_with_a_warning(value):
    node = make_node()
    (device,) = ingest(node, device_facts(0, memory_total_mib=value))
    assert device.memory_total_mib is None
    assert any("memory_total_mib" in text for text in warnings_of(node))


def test_impossible_values_everywhere_do_not_stop_the_rest():
    node = make_node()
    (device,) = ingest(
        node,
        device_facts(0, compute_units=-1, power_limit_w=4294967295, numa_node=-1, memory_reserved_mib=2**40),
        memory_mib=-8,
    )
    assert (device.compute_units, device.power_limit_w, device.numa_node) == (None, None, None)
    assert device.memory_reserved_mib is None and device.memory_total_mib == 80 * GIB
    assert Node.objects.get(pk=node.pk).memory_mib is None


def test_text_that_postgres_cannot_hold_or_that_is_endless_is_cut():
    node = make_node()
    ingest(
        node,
        device_facts(0, model="x\x00" * 500),
        hostname="h" * 5000,
        labels={"a\x00": "b", "c": "d" * 5000},
    )
    node = Node.objects.get(pk=node.pk)
    assert len(node.name) == 255 and list(node.labels) == ["c"]
    assert "\x00" not in Device.objects.get(node=node).model


def test_sizes_are_bounded():
    node = make_node()
    devices = ingest(
        node, *(device_facts(number) for number in range(300)), images=[f"i{n}" for n in range(9000)]
    )
    assert len(devices) == 256
    stored = Node.objects.get(pk=node.pk).facts
    assert len(stored["images"]) == 4096 and any("images" in text for text in warnings_of(node))


def test_two_devices_with_one_identity_count_once():
    node = make_node()
    devices = ingest(node, device_facts(0, uuid="A"), device_facts(1, uuid="A"))
    assert [device.index for device in devices] == [0]


def test_two_dies_of_one_board_are_two_devices_whatever_their_indices():
    node = make_node()

    def board(*indices):
        return [device_facts(index, uuid=None, pci_bus_id="3b:00.0") for index in indices]

    a, b = ingest(node, *board(0, 1))
    assert (a.identity, b.identity) == ("0000:3b:00.0", "0000:3b:00.0/1")
    assert [device.pk for device in ingest(node, *board(4, 5))] == [a.pk, b.pk]
    named = [device_facts(n, uuid=f"0000:3b:00.0/{n}", pci_bus_id="3b:00.0") for n in (0, 1)]
    assert len({device.pk for device in ingest(make_node("machine-2"), *named)}) == 2


def test_implausible_cores_and_sockets_are_unknown_and_a_cpu_counts_once():
    node = make_node()
    cpus = [Cpu(id=0, core=-1, socket=2**40), Cpu(id=1, core=0, socket=0), Cpu(id=1, core=5, socket=0)]
    ingest(node, cpus=cpus)
    stored = Node.objects.get(pk=node.pk)
    assert [(cpu["id"], cpu["core"], cpu["socket"]) for cpu in stored.facts["cpus"]] == [
        (0, None, None),
        (1, 0, 0),
    ]
    assert stored.cpu_count == 2 and any("cpus.0.core" in text for text in warnings_of(node))


def test_images_with_their_sizes_are_known_by_name():
    node = make_node()
    images = [StoredImage(name="b", size_mib=7, digest="sha256:x"), StoredImage(name="c", size_mib=-1)]
    ingest(node, images=["a"], stored_images=images)
    stored = Node.objects.get(pk=node.pk).facts
    assert stored["images"] == ["a", "b", "c"]
    assert [image["size_mib"] for image in stored["stored_images"]] == [7, None]


def test_links_join_devices_and_follow_index_shifts():
    node = make_node()
    a, b = ingest(node, device_facts(0, uuid="A"), device_facts(1, uuid="B"), links=[link(0, 1, lanes=12)])
    found = DeviceLink.objects.get(node=node)
    assert (found.first_id, found.second_id, found.kind, found.lanes) == (a.pk, b.pk, "NV", 12)
    ingest(
        node, device_facts(1, uuid="A"), device_facts(0, uuid="B"), links=[link(1, 0, lanes=12), link(0, 7)]
    )
    assert DeviceLink.objects.get(node=node).pk == found.pk


def test_the_revision_grows_only_with_what_scheduling_sees():
    node = make_node()
    ingest(node, device_facts(0))
    first = revision(node)
    ingest(node, device_facts(0))
    ingest(node, device_facts(0, driver_version="999"), kernel="9", agent_version="9", warnings=["w"])
    assert revision(node) == first
    ingest(node, device_facts(0, memory_total_mib=40 * GIB), kernel="9", agent_version="9", warnings=["w"])
    assert revision(node) > first
    second = revision(node)
    ingest(node, device_facts(0, memory_total_mib=40 * GIB), labels={"a": "b"})
    assert revision(node) > second


def test_unknown_stays_unknown():
    node = make_node()
    blank = msgspec.structs.replace(
        device_facts(0),
        model=None,
        memory_total_mib=None,
        memory_reserved_mib=None,
        numa_node=None,
        driver_version=None,
    )
    (device,) = ingest(node, blank, cpu_model=None, cpus=[], numa=[])
    assert (device.model, device.memory_total_mib, device.memory_reserved_mib, device.numa_node) == (
        None,
    ) * 4
    assert Node.objects.get(pk=node.pk).cpu_count is None


def test_what_is_odd_is_said_in_the_readers_language_and_prose_of_older_agents_as_it_is():
    node = make_node()
    said = [
        Notice(code="no-devices", params={"vendor": "nvidia", "tool": "NVML\x1b[31m"}),
        Notice(code="of-tomorrow", params={"a": "1"}),
    ]
    ingest(node, warnings=["no container runtime", "\x00"], notices=said, labels={"a\n": "b"})
    shown = ["no container runtime", "nvidia: NVML[31m found no devices.", "of-tomorrow (a: 1)"]
    assert warnings_of(node) == [*shown, "labels: entries with control characters are left out."]
    with override("zh-hans"):
        assert warnings_of(node)[1] == "nvidia：NVML[31m 未找到任何设备。"


def test_every_notice_of_the_agent_has_a_sentence_here():
    assert set(notices.TEXTS) <= set(TEXTS)
    for code, text in notices.TEXTS.items():
        assert set(re.findall(r"{(\w+)}", text)) >= set(re.findall(r"%\((\w+)\)s", str(TEXTS[code]))), code

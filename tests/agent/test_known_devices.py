"""Who is who between two looks at the devices, and who is missing."""

from pathlib import Path

from agent.known_devices import KnownDevices, facts_of, fit, samples_of
from agent.protocol import Check, CheckResult, DeviceFacts, DeviceSample, Partition, Vendor
from agent.vendors.base import NO_INDEX, Reading, device_name

UUIDS = ("GPU-a", "GPU-b", "GPU-c")


def facts(index: int, *, uuid: str | None = None, bus: str | None = None, **more: object) -> DeviceFacts:
    return DeviceFacts(vendor=Vendor.NVIDIA, index=index, uuid=uuid, pci_bus_id=bus, **more)  # type: ignore[arg-type]


def reading(found: DeviceFacts, *, partitions: tuple[Partition, ...] = ()) -> Reading:
    name = device_name(found)
    check = Check(device=name, result=CheckResult.OK)
    return Reading(found, DeviceSample(device=name), check, partitions=list(partitions))


KNOWN = [facts(number, uuid=uuid, bus=f"0000:0{number}:00.0", model="M") for number, uuid in enumerate(UUIDS)]


def test_a_device_that_no_longer_tells_its_name_keeps_it() -> None:
    lost = [reading(KNOWN[0]), reading(facts(NO_INDEX, bus="0000:01:00.0")), reading(facts(2))]
    found = fit(lost, KNOWN)
    assert [one.facts.uuid for one in found] == list(UUIDS)
    assert [one.check.device for one in found] == [one.sample.device for one in found] == list(UUIDS)
    assert [(one.facts.index, one.facts.model) for one in found] == [(0, "M"), (1, "M"), (2, "M")]


def test_numbers_may_shift_and_names_count() -> None:
    shifted = [reading(facts(0, uuid="GPU-b", bus="0000:01:00.0")), reading(facts(1, uuid="GPU-c"))]
    found = {one.facts.uuid: one for one in fit(shifted, KNOWN)}
    assert (found["GPU-b"].facts.index, found["GPU-c"].facts.pci_bus_id) == (0, "0000:02:00.0")
    assert (found["GPU-a"].check.code, found["GPU-a"].check.result) == ("card-dropped", CheckResult.FATAL)
    assert found["GPU-a"].facts.index == 2  # its number is another's now
    cut = {one.facts.uuid: one for one in fit(shifted, KNOWN, whole=False)}
    assert (cut["GPU-a"].check.code, cut["GPU-a"].check.result) == ("no-reading", CheckResult.UNKNOWN)


def test_another_card_in_the_same_slot_is_another_device() -> None:
    found = fit([reading(facts(0, uuid="GPU-new", bus="0000:00:00.0"))], KNOWN[:1])
    assert [(one.facts.uuid, one.check.code) for one in found] == [("GPU-new", ""), ("GPU-a", "card-dropped")]


def test_a_device_without_a_number_gets_a_free_one() -> None:
    found = fit([reading(KNOWN[0]), *(reading(facts(NO_INDEX, bus=f"0000:a{n}:00.0")) for n in (1, 2))], [])
    assert [one.facts.index for one in found] == [0, 1, 2]


def test_use_of_slices_is_a_sample_and_no_fact() -> None:
    parts = (Partition(uuid="MIG-1", memory_used_mib=7), Partition(name="nameless", memory_used_mib=8))
    one = reading(KNOWN[0], partitions=parts)
    assert [part.memory_used_mib for part in facts_of(one).partitions] == [None, None]
    assert [(said.device, said.memory_used_mib) for said in samples_of(one)] == [
        ("GPU-a", None),
        ("MIG-1", 7),
    ]


def test_devices_of_this_boot_outlive_the_agent(tmp_path: Path) -> None:
    known = KnownDevices(tmp_path, "boot-1")
    known.see(Vendor.NVIDIA, KNOWN)
    known.save()
    assert KnownDevices(tmp_path, "boot-1").of(Vendor.NVIDIA) == KNOWN
    assert KnownDevices(tmp_path, "boot-2").of(Vendor.NVIDIA) == []
    (tmp_path / "devices.json").write_text("{damaged")
    assert KnownDevices(tmp_path, "boot-1").of(Vendor.NVIDIA) == []

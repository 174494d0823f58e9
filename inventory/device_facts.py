"""Accelerators, their slices and links as an agent sends them, made safe to store. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent.protocol import DeviceFacts, Link, Partition, Vendor, normal_pci
from inventory import plausible
from inventory.cleaning import Cleaner, cpu_ids, text
from inventory.identifiers import MAX_IDENTITY, normal_uuid

MAX_DEVICES = 256
MAX_PARTITIONS = 64
MAX_LINKS = 8192
# What a slice's model is called beside that of its device, so that no request for the whole takes a slice.
SLICE_WORDS = {Vendor.NVIDIA: "MIG", Vendor.ASCEND: "vNPU"}
SLICE_WORD = "slice"


@dataclass(frozen=True, slots=True)
class CleanDevice:
    """One accelerator or slice ready for the table; `columns` are the fields of the Device row that facts decide."""

    identity: str
    columns: dict[str, Any]
    partitions: tuple[CleanDevice, ...] = ()


@dataclass(frozen=True, slots=True)
class CleanLink:
    """A link between the devices with these indices, first < second."""

    first: int
    second: int
    columns: dict[str, Any]


def clean_devices(cleaner: Cleaner, reported: Sequence[DeviceFacts]) -> tuple[CleanDevice, ...]:
    """Every device once, with its slices."""
    known: set[str] = set()
    devices: list[CleanDevice] = []
    for facts in cleaner.upto("devices", reported, MAX_DEVICES):
        device = _device(cleaner, facts)
        if device is not None:
            device = _told_from_its_twin(device, known, devices)
        if device is not None and _is_new(cleaner, device, known):
            slices = _partitions(cleaner, facts, device)
            kept = tuple(part for part in slices if _is_new(cleaner, part, known))
            devices.append(CleanDevice(device.identity, device.columns, kept))
    return tuple(devices)


def _told_from_its_twin(device: CleanDevice, known: set[str], devices: Sequence[CleanDevice]) -> CleanDevice:
    """Dies of one board may share its address and have no UUID: the second one is told by its place on the board."""
    index, pci = device.columns["index"], device.columns["pci_bus_id"]
    twins = [one for one in devices if pci is not None and one.columns["pci_bus_id"] == pci]
    if device.identity != pci or pci not in known or any(one.columns["index"] == index for one in twins):
        return device
    return CleanDevice(f"{pci}/{len(twins)}", device.columns)


def _is_new(cleaner: Cleaner, device: CleanDevice, known: set[str]) -> bool:
    if device.identity in known:
        cleaner.warn("device-twice", device=device.identity)
        return False
    known.add(device.identity)
    return True


def _device(cleaner: Cleaner, facts: DeviceFacts) -> CleanDevice | None:
    index = cleaner.number("devices.index", facts.index, plausible.DEVICE_INDEX)
    if index is None:
        return None
    uuid, pci = normal_uuid(facts.uuid), normal_pci(facts.pci_bus_id)
    name = f"devices.{index}"
    total = cleaner.number(f"{name}.memory_total_mib", facts.memory_total_mib, plausible.DEVICE_MEMORY_MIB)
    reserved_limits = plausible.Range(0, total or plausible.DEVICE_MEMORY_MIB.high)
    columns = {
        "uuid": uuid,
        "pci_bus_id": pci,
        "index": index,
        "vendor": facts.vendor.value,
        "model": text(facts.model, 200),
        "memory_total_mib": total,
        "memory_reserved_mib": cleaner.number(
            f"{name}.memory_reserved_mib", facts.memory_reserved_mib, reserved_limits
        ),
        "compute_units": cleaner.number(
            f"{name}.compute_units", facts.compute_units, plausible.COMPUTE_UNITS
        ),
        # Vendors say -1 where there is no preference; that is no fault worth a warning.
        "numa_node": plausible.NUMA_ID.clean(facts.numa_node),
        "cpu_affinity": None if facts.cpu_affinity is None else cpu_ids(facts.cpu_affinity),
        "driver_version": text(facts.driver_version, 100),
        "power_limit_w": cleaner.number(
            f"{name}.power_limit_w", facts.power_limit_w, plausible.POWER_LIMIT_W
        ),
    }
    return CleanDevice(uuid or pci or f"{facts.vendor.value}:{index}", columns)


def _partitions(cleaner: Cleaner, facts: DeviceFacts, whole: CleanDevice) -> list[CleanDevice]:
    name = f"devices.{whole.columns['index']}.partitions"
    parts = cleaner.upto(name, facts.partitions, MAX_PARTITIONS)
    return [_partition(cleaner, part, whole, number) for number, part in enumerate(parts)]


def _partition(cleaner: Cleaner, part: Partition, whole: CleanDevice, number: int) -> CleanDevice:
    """A slice lies where its device lies; its index is the vendor's number of it within the device."""
    instance = plausible.DEVICE_INDEX.clean(part.instance)
    uuid = normal_uuid(part.uuid)
    place = f"devices.{whole.columns['index']}.partitions.{number}"
    columns = {
        "uuid": uuid,
        "pci_bus_id": None,
        "index": number if instance is None else instance,
        "vendor": whole.columns["vendor"],
        "model": _slice_model(whole, text(part.name, 100)),
        "memory_total_mib": cleaner.number(
            f"{place}.memory_total_mib", part.memory_total_mib, plausible.DEVICE_MEMORY_MIB
        ),
        "memory_reserved_mib": None,
        "compute_units": None,
        "numa_node": whole.columns["numa_node"],
        "cpu_affinity": whole.columns["cpu_affinity"],
        "driver_version": whole.columns["driver_version"],
        "power_limit_w": None,
        "compute_milli": cleaner.number(
            f"{place}.compute_milli", part.compute_milli, plausible.COMPUTE_MILLI
        ),
        "memory_group": plausible.DEVICE_INDEX.clean(part.memory_group),
    }
    return CleanDevice(uuid or _slice_identity(part, whole, number), columns)


def _slice_identity(part: Partition, whole: CleanDevice, number: int) -> str:
    """The vendor's numbers within the device; without any, the place in its list."""
    numbers = [str(one) for one in (part.instance, part.compute_instance) if one is not None]
    suffix = "/" + (".".join(numbers) or f"#{number}")
    return whole.identity[: MAX_IDENTITY - len(suffix)] + suffix


def _slice_model(whole: CleanDevice, name: str | None) -> str:
    word = SLICE_WORDS.get(Vendor(whole.columns["vendor"]), SLICE_WORD)
    model = whole.columns["model"] or ""
    own = (name or "").removeprefix(model).strip()
    said = own if word.casefold() in own.casefold().split() else f"{word} {own}"
    return f"{model} {said}".strip()[:200]


def clean_links(cleaner: Cleaner, reported: Sequence[Link], *, known: set[int]) -> tuple[CleanLink, ...]:
    """Links between two different devices with these indices, each pair once."""
    links: dict[tuple[int, int], CleanLink] = {}
    for link in cleaner.upto("links", reported, MAX_LINKS):
        first, second = sorted((link.a, link.b))
        if first == second or not {first, second} <= known:
            cleaner.warn("link-unknown", a=link.a, b=link.b)
            continue
        columns = {
            "kind": text(link.kind, 20) or "SYS",
            "lanes": plausible.LINK_LANES.clean(link.lanes),
            "bandwidth_mb_s": plausible.LINK_MB_S.clean(link.bandwidth_mb_s),
        }
        links.setdefault((first, second), CleanLink(first, second, columns))
    return tuple(links.values())

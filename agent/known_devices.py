"""Devices seen since boot, and how a new look fits to them: who is who, and who is missing."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from agent.journal import Unreadable, read_kept, write_atomic
from agent.protocol import Check, CheckResult, DeviceFacts, DeviceSample, Vendor
from agent.runners.memory import DeviceMemory
from agent.vendors.base import NO_INDEX, Reading, device_name, with_facts

logger = logging.getLogger("headrace.agent.known_devices")
DROPPED = (
    CheckResult.FATAL,
    "card-dropped",
    "it was there since boot, and the vendor's interface no longer lists it",
)
CUT_OFF = (CheckResult.UNKNOWN, "no-reading", "the answer is cut off or damaged, and does not list it")


class Kept(msgspec.Struct, frozen=True):
    """The file: devices by vendor, of one boot."""

    boot_id: str
    devices: dict[str, list[DeviceFacts]]


class KnownDevices:
    """Kept on disk, so that a probe that fails after a restart does not make devices vanish."""

    def __init__(self, state_dir: Path, boot_id: str) -> None:
        self._path = state_dir / "devices.json"
        self._boot_id = boot_id
        self._all = self._load()
        self._unsaved = False

    def of(self, vendor: Vendor) -> list[DeviceFacts]:
        """Last seen devices of one vendor."""
        return self._all.get(vendor.value, [])

    def see(self, vendor: Vendor, devices: list[DeviceFacts]) -> None:
        """Remember them; `save` puts them down."""
        if self._all.get(vendor.value, []) != devices:
            self._all[vendor.value] = devices
            self._unsaved = True

    def save(self) -> None:
        """Put down what changed; a disk that does not take it is asked again with the next look."""
        if not self._unsaved:
            return
        try:
            write_atomic(self._path, msgspec.json.encode(Kept(self._boot_id, self._all)))
        except OSError as error:
            logger.warning("the devices seen cannot be kept in %s: %s", self._path, error)
        else:
            self._unsaved = False

    def _load(self) -> dict[str, list[DeviceFacts]]:
        try:
            kept = read_kept(self._path, Kept)
        except Unreadable:
            return {}
        return kept.devices if kept.boot_id == self._boot_id else {}


def fit(readings: Sequence[Reading], known: Sequence[DeviceFacts], *, whole: bool = True) -> list[Reading]:
    """The readings under the names that their devices had before, and a check for each device that is missing: what an
    interface forgets is not gone. Dropped, which is fatal, is only what a `whole` answer does not list.
    """
    left = list(known)
    found = []
    for reading in readings:
        older = next((facts for facts in left if _same(facts, reading.facts)), None)
        if older is not None:
            left.remove(older)
            reading = with_facts(reading, _named_as(reading.facts, older))
        found.append(reading)
    taken = {reading.facts.index for reading in found}
    found += [_missing(facts, taken, whole=whole) for facts in left]
    return [_numbered(reading, found, at) for at, reading in enumerate(found)]


def facts_of(reading: Reading) -> DeviceFacts:
    """What a device is, its slices without what they use: use is a sample."""
    slices = [msgspec.structs.replace(part, memory_used_mib=None) for part in reading.partitions]
    return msgspec.structs.replace(reading.facts, partitions=slices)


def check_of(reading: Reading) -> Check:
    """The device's check: the worst finding, with the evidence of the others behind its own."""
    others = [
        f"{other.code}: {other.evidence}" for other in reading.findings if other.result is not CheckResult.OK
    ]
    evidence = "; ".join(filter(None, [reading.check.evidence, *others]))
    return msgspec.structs.replace(reading.check, evidence=evidence)


def samples_of(reading: Reading) -> list[DeviceSample]:
    """The device's sample, and one of each slice that has a name."""
    slices = [
        DeviceSample(device=part.uuid, memory_used_mib=part.memory_used_mib)
        for part in reading.partitions
        if part.uuid
    ]
    return [reading.sample, *slices]


def memories_of(reading: Reading) -> dict[str, DeviceMemory]:
    """Who uses the device's memory, and of each slice with a name how much is used, by the names of samples."""
    by_pid = {process.pid: process.memory_used_mib for process in reading.processes}
    slices = {
        part.uuid: DeviceMemory(used_mib=part.memory_used_mib) for part in reading.partitions if part.uuid
    }
    sample = reading.sample
    whole = DeviceMemory(
        sample.memory_used_mib, reading.facts.memory_reserved_mib or 0, by_pid, sample.utilization_pct
    )
    return {reading.sample.device: whole, **slices}


def unknown_checks(devices: Iterable[DeviceFacts], problem: str) -> list[Check]:
    """A probe that failed says nothing good and nothing bad of the devices it should have seen."""
    return [
        Check(
            device=device_name(device),
            result=CheckResult.UNKNOWN,
            code="probe-failed",
            evidence=problem[:500],
        )
        for device in devices
    ]


def _same(older: DeviceFacts, now: DeviceFacts) -> bool:
    if older.uuid and now.uuid:
        return older.uuid == now.uuid
    if older.pci_bus_id and now.pci_bus_id:
        return older.pci_bus_id == now.pci_bus_id
    return older.index == now.index and now.index != NO_INDEX


def _named_as(now: DeviceFacts, older: DeviceFacts) -> DeviceFacts:
    """What is known now, with what a broken device no longer says of itself."""
    said = {name: getattr(now, name) for name in now.__struct_fields__}
    kept = {name: getattr(older, name) for name, value in said.items() if value is None}
    if now.index == NO_INDEX:
        kept["index"] = older.index
    return msgspec.structs.replace(now, **kept)


def _missing(facts: DeviceFacts, taken: set[int], *, whole: bool) -> Reading:
    if facts.index in taken:  # the numbers shifted when it went
        facts = msgspec.structs.replace(facts, index=NO_INDEX)
    name = device_name(facts)
    result, code, evidence = DROPPED if whole else CUT_OFF
    check = Check(device=name, result=result, code=code, evidence=evidence)
    return Reading(
        facts=facts, sample=DeviceSample(device=name), check=check, partitions=list(facts.partitions)
    )


def _numbered(reading: Reading, all_: Sequence[Reading], at: int) -> Reading:
    """A device that never had a number gets a free one; the same as long as the others stay."""
    if reading.facts.index != NO_INDEX:
        return reading
    taken = max((other.facts.index for other in all_), default=NO_INDEX)
    unnumbered = sum(other.facts.index == NO_INDEX for other in all_[:at])
    return with_facts(reading, msgspec.structs.replace(reading.facts, index=taken + 1 + unnumbered))

"""One device in several rows, sections or outputs: what is known of it together, and the worst of what is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from agent.protocol import Check, CheckResult, DeviceFacts, Link, Notice, Numa, Partition, Vendor
from agent.vendors.base import NO_INDEX, Process, Reading, Readout, with_facts
from agent.vendors.nvidia import states

Struct = TypeVar("Struct", bound=msgspec.Struct)


class Merged:
    """Readings of devices, each added to what is known of the same device: by UUID, bus id, and index only where
    neither contradicts.
    """

    def __init__(self) -> None:
        self._all: list[Reading] = []
        self._places: dict[str | int, int] = {}

    def add(self, reading: Reading) -> None:
        """One more; a reading that names no device is left out."""
        facts = reading.facts
        if facts.index < 0 and not facts.uuid and not facts.pci_bus_id:
            return
        at = self._find(facts)
        if at is None:
            at = len(self._all)
            self._all.append(reading)
        else:
            self._all[at] = join(self._all[at], reading)
        for name in _names(self._all[at].facts):
            self._places.setdefault(name, at)

    def readings(self) -> list[Reading]:
        """All devices, in the order of their first appearance. Of two with one number nothing good is known."""
        numbers = Counter(reading.facts.index for reading in self._all if reading.facts.index >= 0)
        return [_doubt(reading) if numbers[reading.facts.index] > 1 else reading for reading in self._all]

    def _find(self, facts: DeviceFacts) -> int | None:
        for name in _names(facts):
            at = self._places.get(name)
            if at is not None and not _differ(self._all[at].facts, facts):
                return at
        return None


def merge_readouts(readouts: Iterable[Readout]) -> Readout:
    """One readout of several outputs about the same machine."""
    merged = Merged()
    driver: str | None = None
    links: dict[tuple[int, int], Link] = {}
    numa: list[Numa] = []
    warnings: list[Notice] = []
    for readout in readouts:
        driver = driver or readout.driver_version
        for reading in readout.readings:
            merged.add(reading)
        links |= {(link.a, link.b): link for link in readout.links}
        numa = numa or list(readout.numa)
        warnings += [said for said in readout.warnings if said not in warnings]
    return Readout(
        vendor=Vendor.NVIDIA,
        driver_version=driver,
        readings=merged.readings(),
        links=list(links.values()),
        numa=numa,
        warnings=warnings,
    )


def settled(readings: list[Reading]) -> list[Reading]:
    """Rows of processes name their device by its UUID alone. Where the devices were listed without theirs, it is one
    of these: the one that has its processes, or the only one; else nobody knows which, and there is none more of it.
    """
    nameless = [at for at, one in enumerate(readings) if one.facts.index >= 0 and not one.facts.uuid]
    found = dict(enumerate(readings))
    loose = [at for at, one in found.items() if _is_of_processes(one)]
    if len(loose) > len(nameless):
        return readings
    for at in loose:
        mine = {process.pid for process in found[at].processes}
        homes = [home for home in nameless if mine <= {process.pid for process in found[home].processes}]
        homes = homes or (nameless if len(nameless) == 1 else [])
        reading = found.pop(at)
        if len(homes) == 1:
            found[homes[0]] = join(found[homes[0]], reading)
    return list(found.values())


def _is_of_processes(reading: Reading) -> bool:
    nowhere = reading.facts.index < 0 and not reading.facts.pci_bus_id
    return nowhere and bool(reading.processes) and not states.is_broken(reading.check)


def join(first: Reading, second: Reading) -> Reading:
    """What two readings of one device say together; the second one's figures are the later ones."""
    facts = fill(first.facts, second.facts)
    if first.facts.index == NO_INDEX:
        facts = msgspec.structs.replace(facts, index=second.facts.index)
    checks = _ranked([first.check, *first.findings, second.check, *second.findings])
    sample = fill(second.sample, first.sample)
    if states.hides_use(checks[0]) and sample.memory_used_mib == 0:
        sample = msgspec.structs.replace(sample, memory_used_mib=None)
    joined = msgspec.structs.replace(
        fill(second, first),
        facts=facts,
        sample=sample,
        check=checks[0],
        findings=checks[1:],
        partitions=_join_partitions(first.partitions, second.partitions),
        processes=_join_processes(first.processes, second.processes),
        ports=second.ports or first.ports,
    )
    return with_facts(joined, facts)


def fill(known: Struct, other: Struct) -> Struct:
    """`known`, with the other's values where it has none."""
    gaps = {
        name: getattr(other, name)
        for name in known.__struct_fields__
        if getattr(known, name) is None or getattr(known, name) == []
    }
    return msgspec.structs.replace(known, **gaps)


def _doubt(reading: Reading) -> Reading:
    if reading.check.result is not CheckResult.OK:
        return reading
    evidence = f"two devices are number {reading.facts.index}"
    check = Check(
        device=reading.check.device, result=CheckResult.UNKNOWN, code="no-reading", evidence=evidence
    )
    return msgspec.structs.replace(reading, check=check)


def _names(facts: DeviceFacts) -> list[str | int]:
    names: list[str | int] = [name for name in (facts.uuid, facts.pci_bus_id) if name]
    return [*names, facts.index] if facts.index >= 0 else names


def _differ(a: DeviceFacts, b: DeviceFacts) -> bool:
    pairs = ((a.uuid, b.uuid), (a.pci_bus_id, b.pci_bus_id))
    return any(one and other and one != other for one, other in pairs)


def _ranked(checks: list[Check]) -> list[Check]:
    by_code: dict[str, Check] = {}
    for check in sorted(checks, key=states.severity, reverse=True):
        by_code.setdefault(check.code, check)
    ranked = list(by_code.values())
    return ranked[:1] + [check for check in ranked[1:] if states.severity(check) > 0]


def _join_partitions(first: list[Partition], second: list[Partition]) -> list[Partition]:
    if len(first) != len(second):
        return max(first, second, key=len)
    if any(part.instance is None for part in (*first, *second)):
        return [fill(one, other) for one, other in zip(first, second, strict=True)]
    rest = list(second)
    found = []
    for one in first:
        other = next((part for part in rest if _is_same(one, part)), None)
        if other is None:
            return second
        rest.remove(other)
        found.append(fill(one, other))
    return found


def _is_same(one: Partition, other: Partition) -> bool:
    """Whether two outputs tell of one slice; the list of GPU instances does not tell how these are divided."""
    known = None not in (one.compute_instance, other.compute_instance)
    return one.instance == other.instance and (not known or one.compute_instance == other.compute_instance)


def _join_processes(first: list[Process], second: list[Process]) -> list[Process]:
    by_pid = {process.pid: process for process in first}
    for process in second:
        older = by_pid.get(process.pid)
        by_pid[process.pid] = process if older is None else fill(process, older)
    return list(by_pid.values())

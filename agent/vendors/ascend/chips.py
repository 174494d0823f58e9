"""One Ascend chip as pieced together from several outputs of npu-smi, and what is told of it in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from agent.notices import notice
from agent.protocol import (
    Check,
    CheckResult,
    DeviceFacts,
    DeviceSample,
    Link,
    Notice,
    Partition,
    Vendor,
)
from agent.vendors.ascend.states import OK, UNKNOWN, Verdict, worse
from agent.vendors.base import Process, Reading, Readout, device_name

SILENT: Verdict = (UNKNOWN, "no-reading", "this output says nothing of health")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """What is known of chip `chip` of board `npu`; None = not told. `logic` counts the chips that processes here may
    use, `phy` all of the machine.
    """

    npu: int
    chip: int = 0
    logic: int | None = None
    phy: int | None = None
    name: str | None = None
    bus_id: str | None = None
    total_mib: int | None = None
    used_mib: int | None = None
    used_pct: int | None = None
    utilization_pct: int | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    compute_units: int | None = None
    ecc: bool | None = None
    uncorrectable: int | None = None
    cpus: tuple[int, ...] | None = None
    verdict: Verdict | None = None
    processes: tuple[Process, ...] | None = None
    partitions: tuple[Partition, ...] | None = None

    def over(self, older: Chip) -> Chip:
        """Both as one: this one's values where both tell, and the worse verdict."""
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        newer = replace(older, **{name: value for name, value in told.items() if value is not None})
        return replace(newer, verdict=worse(older.verdict, self.verdict))


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What one output told. `links` and `affinities` count devices as the topology does: by Phy-ID where `by_phy`,
    else by NPU.
    """

    chips: tuple[Chip, ...] = ()
    links: tuple[Link, ...] = ()
    affinities: tuple[tuple[int, tuple[int, ...] | None], ...] = ()
    by_phy: bool = False
    driver_version: str | None = None
    warnings: tuple[Notice, ...] = ()


def combine(findings: Iterable[Findings]) -> Findings:
    """All as one; a chip told of twice is one chip."""
    parts = list(findings)
    chips: dict[tuple[int, int, str | None], Chip] = {}
    for chip in (chip for part in parts for chip in part.chips):
        key = _key(chips, chip)
        known = chips.pop(key, None)
        joined = chip.over(known) if known else chip
        chips[joined.npu, joined.chip, joined.bus_id] = joined
    topology = next((part for part in parts if part.affinities), Findings())
    return replace(
        topology,
        chips=tuple(sorted(chips.values(), key=lambda chip: (chip.npu, chip.chip))),
        driver_version=next((part.driver_version for part in parts if part.driver_version), None),
        warnings=_once(said for part in parts for said in part.warnings),
    )


def conclude(found: Findings, *, by_logic: bool = False) -> Readout:
    """Facts and readings of all chips. `by_logic`: count devices as the visible-devices variable of a job does, where
    that is known.
    """
    placed = _with_topology(found)
    indices = _indices(placed.chips, by_logic=by_logic)
    places = Counter(chip.bus_id or "" for chip in placed.chips)
    readings = [
        _reading(chip, index, driver=found.driver_version, twins=places[chip.bus_id or ""] > 1)
        for chip, index in zip(placed.chips, indices, strict=True)
    ]
    minor = [
        notice("minor-alarm", device=device_name(reading.facts))
        for chip, reading in zip(placed.chips, readings, strict=True)
        if chip.verdict and chip.verdict[:2] == (OK, "minor-alarm")
    ]
    return Readout(
        vendor=Vendor.ASCEND,
        driver_version=found.driver_version,
        readings=readings,
        links=_links(placed, indices),
        warnings=[*found.warnings, *minor],
    )


def _key(chips: dict[tuple[int, int, str | None], Chip], chip: Chip) -> tuple[int, int, str | None]:
    """Whom a chip is: the same place and, where both tell one, the same bus id."""
    places = [key for key in chips if key[:2] == (chip.npu, chip.chip)]
    if chip.bus_id is None:
        return places[0] if places else (chip.npu, chip.chip, None)
    same = [key for key in places if key[2] in (None, chip.bus_id)]
    return same[0] if same else (chip.npu, chip.chip, chip.bus_id)


def _once(said: Iterable[Notice]) -> tuple[Notice, ...]:
    found: list[Notice] = []
    for each in said:
        if each not in found:
            found.append(each)
    return tuple(found)


def _with_topology(found: Findings) -> Findings:
    """CPU affinities given to their chips; a topology alone names the devices itself."""
    chips = list(found.chips)
    for number, cpus in found.affinities:
        places = _places(chips, number, by_phy=found.by_phy)
        for place in places:
            chips[place] = replace(chips[place], cpus=cpus)
        if not found.chips:
            chips.append(Chip(npu=number, phy=number if found.by_phy else None, cpus=cpus))
    return replace(found, chips=tuple(chips))


def _places(chips: Sequence[Chip], number: int, *, by_phy: bool) -> list[int]:
    numbers = [chip.phy if by_phy else chip.npu for chip in chips]
    return [place for place, other in enumerate(numbers) if other == number]


def _links(found: Findings, indices: Sequence[int]) -> list[Link]:
    links = []
    for link in found.links:
        for first in _places(found.chips, link.a, by_phy=found.by_phy):
            for second in _places(found.chips, link.b, by_phy=found.by_phy):
                a, b = sorted((indices[first], indices[second]))
                links.append(Link(a=a, b=b, kind=link.kind))
    return sorted(links, key=lambda link: (link.a, link.b))


def _indices(chips: Sequence[Chip], *, by_logic: bool) -> list[int]:
    """Boards with one chip are counted by NPU id, chips of several by Phy-ID, else as the driver counts them; a board
    of two dies alone has the Phy-IDs 2n and 2n+1.
    """
    if by_logic and all(chip.logic is not None for chip in chips):
        return [chip.logic for chip in chips if chip.logic is not None]
    per_board = _chips_per_board(chips)
    told = [chip.phy for chip in chips if chip.phy is not None]
    if len(set(told)) < len(told):  # in a container that was given a part of a board, its dies may share one
        chips = [replace(chip, phy=None) for chip in chips]
    return [_index(chip, chips_per_board=per_board) for chip in chips]


def _chips_per_board(chips: Sequence[Chip]) -> int:
    """As boards show that have their first, second ... chip; what is told of single chips shows at least that many."""
    boards: dict[int, set[int]] = {}
    for chip in chips:
        boards.setdefault(chip.npu, set()).add(chip.chip)
    whole = [len(places) for places in boards.values() if places == set(range(len(places)))]
    return max(whole, default=max((chip.chip for chip in chips), default=0) + 1)


def _index(chip: Chip, *, chips_per_board: int) -> int:
    if chip.phy is not None:
        return chip.phy
    if chips_per_board == 1 or chip.npu < 0:
        return chip.npu
    if chip.logic is not None:
        return chip.logic
    return chip.npu * chips_per_board + min(chip.chip, chips_per_board - 1)


def _reading(chip: Chip, index: int, *, driver: str | None, twins: bool) -> Reading:
    facts = DeviceFacts(
        vendor=Vendor.ASCEND,
        index=index,
        uuid=f"{chip.bus_id}/{chip.chip}" if twins and chip.bus_id else None,
        pci_bus_id=chip.bus_id,
        model=chip.name,
        memory_total_mib=chip.total_mib,
        compute_units=chip.compute_units,
        cpu_affinity=list(chip.cpus) if chip.cpus else None,
        driver_version=driver,
        partitions=list(chip.partitions or ()),
    )
    result, code, evidence = chip.verdict or SILENT
    name = device_name(facts)
    check = Check(device=name, result=result)
    if result is not CheckResult.OK:
        check = Check(device=name, result=result, code=code, evidence=evidence)
    broken = result in (CheckResult.FAILED, CheckResult.FATAL)
    return Reading(
        facts=facts,
        sample=DeviceSample(
            device=name,
            memory_used_mib=None if broken and chip.used_mib == 0 else chip.used_mib,
            utilization_pct=chip.utilization_pct,
            temperature_c=chip.temperature_c,
            power_mw=None if chip.power_w is None else round(chip.power_w * 1000),
        ),
        check=check,
        ecc=chip.ecc,
        uncorrectable=chip.uncorrectable,
        partitions=list(chip.partitions or ()),
        processes=list(chip.processes or ()),
        memory_used_pct=chip.used_pct,
    )

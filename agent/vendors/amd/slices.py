"""Partitioned Instinct devices: the tools list every slice as a device of its own; together they are one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import msgspec

from agent.protocol import Link, Partition
from agent.vendors.reading.findings import Capture, Finding, mib

WHOLE = "SPX"
_MEMORY_MODE = re.compile(r"^NPS(\d)$")


def gather(capture: Capture) -> Capture:
    """One finding per physical device: slices of one slot become its partitions, in the order of the tool, and links
    between slices become links of their devices.

    In a memory mode NPSn the device's memory is n parts, each shared by the slices that lie on it.
    """
    same = Counter(key for finding in capture.findings if (key := _identity(finding)))
    groups: list[list[Finding]] = []
    by_slot: dict[str, list[Finding]] = {}
    for finding in capture.findings:
        place, identity = finding.slot, _identity(finding)
        sliced = (_mode(finding)[0] or WHOLE) != WHOLE or (identity is not None and same[identity] > 1)
        if place and sliced and place in by_slot:
            by_slot[place].append(finding)
        elif place is None and groups and _follows(finding, groups[-1]):
            groups[-1].append(finding)
        else:
            groups.append([finding])
            if place and sliced:
                by_slot[place] = groups[-1]
    most = _most_slices(groups)
    findings = tuple(_one(group, max(len(group), most.get(_mode(group[0])[0], 1))) for group in groups)
    return replace(capture, findings=findings, links=_links(capture.links, groups))


def _follows(finding: Finding, group: list[Finding]) -> bool:
    """Whether this is the next slice of the device above it, in an output that tells no addresses."""
    mode = _mode(finding)[0]
    return (
        bool(finding.partitions)
        and finding.partitions[0].instance == _number(group[-1], len(group) - 1) + 1
        and group[0].slot is None
        and mode != WHOLE
        and mode in (None, _mode(group[0])[0])
    )


def _number(finding: Finding, place: int) -> int:
    """The slice's number on its device, as told or else as it comes."""
    told = finding.partitions[0].instance if finding.partitions else None
    return place if told is None else told


def _most_slices(groups: list[list[Finding]]) -> dict[str | None, int]:
    """Into how many slices each mode divides a device, by the highest number: a capture may be cut at both ends."""
    found: dict[str | None, int] = {}
    for group in groups:
        mode = _mode(group[0])[0]
        if mode not in (None, WHOLE):
            highest = max(_number(finding, place) for place, finding in enumerate(group))
            found[mode] = max(found.get(mode, 1), highest + 1)
    return found


def _links(links: tuple[Link, ...], groups: list[list[Finding]]) -> tuple[Link, ...]:
    heads = {finding.index: group[0].index for group in groups for finding in group}
    found: dict[tuple[int, int], Link] = {}
    for link in links:
        a, b = sorted((heads.get(link.a, link.a), heads.get(link.b, link.b)))
        if a != b:
            found.setdefault((a, b), msgspec.structs.replace(link, a=a, b=b))
    return tuple(found.values())


def _identity(finding: Finding) -> tuple[str, str] | None:
    """Slot and name, which slices have in common in a list of devices that tells no mode."""
    place = finding.slot
    return (place, finding.uuid) if place and finding.uuid else None


def _mode(finding: Finding) -> tuple[str | None, str]:
    name = finding.partitions[0].name if finding.partitions else None
    compute, _, memory = (name or "").partition("/")
    return compute or None, memory or "?"


def _one(group: list[Finding], count: int) -> Finding:
    """The device of these slices, of which it has `count`."""
    if count == 1:
        return replace(group[0], partitions=())
    head = group[0]
    compute, memory = next((mode for finding in group if (mode := _mode(finding))[0]), (None, "?"))
    parts = _parts(memory, count)
    whole, sizes = _sizes([mib(finding.memory_total) for finding in group])
    numbers = [_number(finding, place) for place, finding in enumerate(group)]
    place = head.slot
    address = f"{place}.0" if place else None
    stem = head.uuid or address or f"amd-{head.index}"
    return replace(
        head,
        pci_bus_id=address,
        memory_total=f"{whole} MiB" if whole else _whole_memory(sizes, parts),
        memory_used=head.memory_used if parts == 1 else None,  # of the first part only, where there are more
        memory_share=head.memory_share if parts == 1 else None,
        tells_memory=False,
        partitions=tuple(
            Partition(
                name=f"{compute}/{memory}" if compute else None,
                uuid=finding.uuid if finding.uuid != head.uuid else f"{stem}-{number}",
                memory_total_mib=size,
                instance=number,
                # Without a mode, some may not be shown.
                compute_milli=1000 // count if compute else None,
                memory_group=number * parts // count if parts else None,
            )
            for number, finding, size in zip(numbers, group, sizes, strict=True)
        ),
        uncorrectable=_added([finding.uncorrectable for finding in group]),
        states=tuple(dict.fromkeys(state for finding in group for state in finding.states)),
        complaints=tuple(line for finding in group for line in finding.complaints),
        processes=tuple(dict.fromkeys(process for finding in group for process in finding.processes)),
        damaged=any(finding.damaged for finding in group),
    )


def _added(counts: list[int | None]) -> int | None:
    """The errors of all slices that tell of them: the tools tell some counts of a device's first slice only."""
    told = [count for count in counts if count is not None]
    return sum(told) if told else None


def _sizes(sizes: list[int | None]) -> tuple[int | None, list[int | None]]:
    """(the device's memory, that of its slices) where the first slice tells the device's, else (None, as told)."""
    first, *others = sizes
    other = others[0] if others else None
    if first and other and set(others) == {other} and first >= 2 * other:
        return first, [other for _ in sizes]
    return None, sizes


def _parts(memory: str, slices: int) -> int | None:
    match = _MEMORY_MODE.match(memory)
    count = int(match.group(1)) if match else None
    return min(count, slices) if count else None


def _whole_memory(sizes: list[int | None], parts: int | None) -> str | None:
    known = [size for size in sizes if size]
    return f"{max(known) * parts} MiB" if known and parts else None

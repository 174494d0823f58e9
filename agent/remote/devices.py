"""The devices of a node without an agent, out of what its vendors' tools printed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from agent.known_devices import fit
from agent.notices import notice
from agent.protocol import DeviceFacts, Notice, Vendor
from agent.vendors import PROBES
from agent.vendors.amd import AmdProbe, amd_smi, slices
from agent.vendors.amd.captured import TABLE, read_text
from agent.vendors.ascend.boards import looks_like_boards, parse_boards
from agent.vendors.ascend.chips import combine
from agent.vendors.ascend.chips import conclude as conclude_chips
from agent.vendors.ascend.mapping import looks_like_mapping, parse_mapping
from agent.vendors.ascend.slices import with_slices
from agent.vendors.ascend.table import looks_like_table, parse_table
from agent.vendors.ascend.topology import looks_like_topology, parse_topology
from agent.vendors.base import ProbeError, Reading, Readout, device_name, plain
from agent.vendors.command import CommandProbe
from agent.vendors.reading.conclusions import conclude
from agent.vendors.reading.findings import merge

_LOGGED = re.compile(r"\[ *(\d{1,12})\.(\d{1,9})\] ")
# Lines that are logged at the same time need not stand in the order of their stamps.
_RACE_US = 1_000_000


class LogPlace(msgspec.Struct, frozen=True):
    """How far the kernel's log was read: up to a time after boot, and which of the lines shortly before it."""

    at_us: int
    lines: list[str] = []


@dataclass(frozen=True)
class Said:
    """One tool's answer; `problem` is empty where it ended well."""

    text: str
    problem: str = ""


def read_devices(vendor: Vendor, answers: Sequence[Said], known: Sequence[DeviceFacts] = ()) -> Readout:
    """The readout of a vendor's tools: the first answer must be recognised, the others add what they can. Slices that
    they do not tell of are those of the devices `known`. Raises ProbeError: what is not recognised is no sign of
    devices that are gone.
    """
    first, *others = answers
    readout = _read(vendor, [first.text], known)
    none = any(said.code == "no-devices" for said in readout.warnings)
    if not readout.readings and (first.problem or not none):
        raise ProbeError(first.problem or "its output was not recognised")
    more = [said.text for said in others if not said.problem]
    if more:
        readout = _read(vendor, [first.text, *more], known)
    problems = dict.fromkeys(said.problem for said in answers if said.problem)
    said = [notice("tool-failed", problem=problem) for problem in problems]
    return msgspec.structs.replace(readout, warnings=[*_known(readout.warnings), *said])


def new_log_lines(text: str, since: LogPlace) -> tuple[str, LogPlace | None]:
    """Lines of the kernel's log that were not read before, and how far it is read now; None where no line has a time.
    A line without one belongs to the message above it.
    """
    stamped: list[tuple[int, str]] = []
    for line in text.split("\n"):
        match = _LOGGED.match(line)
        if match:
            stamped.append((int(match.group(1)) * 1_000_000 + int(match.group(2)[:6].ljust(6, "0")), line))
        elif stamped and line.strip():
            stamped.append((stamped[-1][0], line))
    if not stamped:
        return "", None
    known = set(since.lines)
    marked = [(at_us, _mark(at_us, line), line) for at_us, line in stamped]
    fresh = [line for at_us, mark, line in marked if at_us > since.at_us - _RACE_US and mark not in known]
    last_us = max(since.at_us, *(at_us for at_us, _ in stamped))
    near = [mark for at_us, mark, _ in marked if at_us > last_us - _RACE_US]
    return "\n".join(fresh), LogPlace(last_us, list(dict.fromkeys(near)))


def _mark(at_us: int, line: str) -> str:
    return hashlib.sha256(f"{at_us} {line}".encode()).hexdigest()[:12]


def _read(vendor: Vendor, texts: Sequence[str], known: Sequence[DeviceFacts]) -> Readout:
    """Several outputs of one look: the same device is told by its address, else by its number."""
    probe = PROBES[vendor]
    if issubclass(probe, CommandProbe):
        return conclude(vendor, merge(probe.tool.collect(text) for text in texts), probe.tool.table)
    if probe is AmdProbe:
        # What seldom changes comes after the measured, and is the older of both.
        measured, *facts = [read_text(text) for text in texts]
        return conclude(vendor, slices.gather(amd_smi.join(merge(facts), measured)), TABLE)
    if vendor is Vendor.ASCEND:
        return _read_ascend(texts, known)
    return probe.parse(plain("\n".join(texts)))


def _read_ascend(texts: Sequence[str], known: Sequence[DeviceFacts]) -> Readout:
    joined = plain("\n".join(texts))
    if not looks_like_table(joined):
        readout = PROBES[Vendor.ASCEND].parse(joined)
        readings = [_with_known_slices(reading, known) for reading in readout.readings]
        return msgspec.structs.replace(readout, readings=readings)
    table = parse_table(plain(texts[0]))
    listed = {(chip.npu, chip.chip) for chip in table.chips}
    parts = [parse_mapping(text) for text in texts if looks_like_mapping(text)]
    parts += [parse_topology(text) for text in texts if looks_like_topology(text)]
    boards = combine(parse_boards(plain(text)) for text in texts if looks_like_boards(text))
    # Every board is asked of a second chip, which is none for having no slices.
    told = tuple(chip for chip in boards.chips if chip.partitions is None or (chip.npu, chip.chip) in listed)
    found = combine([table, *parts, replace(boards, chips=told)])
    chips = tuple(with_slices(chip, chip.partitions or ()) for chip in found.chips)
    # Numbered as a look at the node itself would: by the mapping, where that is told.
    readout = conclude_chips(replace(found, chips=chips), by_logic=True)
    readings = [
        _with_known_slices(reading, known) if chip.partitions is None else reading
        for chip, reading in zip(found.chips, readout.readings, strict=True)
    ]
    return msgspec.structs.replace(readout, readings=readings)


def _with_known_slices(reading: Reading, known: Sequence[DeviceFacts]) -> Reading:
    """The reading of a device whose slices were not told."""
    name = device_name(fit([reading], known)[0].facts)
    before = next((facts.partitions for facts in known if device_name(facts) == name), [])
    if reading.partitions or not before:
        return reading
    facts = msgspec.structs.replace(reading.facts, partitions=before)
    return msgspec.structs.replace(reading, facts=facts, partitions=before)


def _known(warnings: Sequence[Notice]) -> list[Notice]:
    """Without what only says that one of several outputs is of another kind."""
    return [said for said in warnings if said.code != "not-recognised"]

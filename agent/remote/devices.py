"""The devices of a node without an agent, out of what its vendors' tools printed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from agent.notices import notice
from agent.protocol import Notice, Vendor
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
from agent.vendors.base import ProbeError, Readout, plain
from agent.vendors.command import CommandProbe
from agent.vendors.reading.conclusions import conclude
from agent.vendors.reading.findings import merge

_LOGGED = re.compile(r"\[ *(\d{1,12})\.\d{1,9}\] ")


@dataclass(frozen=True)
class Said:
    """One tool's answer; `problem` is empty where it ended well."""

    text: str
    problem: str = ""


def read_devices(vendor: Vendor, answers: Sequence[Said]) -> Readout:
    """The readout of a vendor's tools: the first answer must be recognised, the others add what they can. Raises
    ProbeError: what is not recognised is no sign of devices that are gone.
    """
    first, *others = answers
    readout = _read(vendor, [first.text])
    none = any(said.code == "no-devices" for said in readout.warnings)
    if not readout.readings and (first.problem or not none):
        raise ProbeError(first.problem or "its output was not recognised")
    more = [said.text for said in others if not said.problem]
    if more:
        readout = _read(vendor, [first.text, *more])
    problems = dict.fromkeys(said.problem for said in answers if said.problem)
    said = [notice("tool-failed", problem=problem) for problem in problems]
    return msgspec.structs.replace(readout, warnings=[*_known(readout.warnings), *said])


def new_log_lines(text: str, *, since_s: int) -> tuple[str, int]:
    """Lines of the kernel's log that are younger than so many seconds after boot, and the age of the youngest."""
    stamped = [(int(match.group(1)), line) for line in text.split("\n") if (match := _LOGGED.match(line))]
    fresh = [line for at_s, line in stamped if at_s > since_s]
    return "\n".join(fresh), max([since_s, *(at_s for at_s, _ in stamped)])


def _read(vendor: Vendor, texts: Sequence[str]) -> Readout:
    """Several outputs of one look: the same device is told by its address, else by its number."""
    probe = PROBES[vendor]
    if issubclass(probe, CommandProbe):
        return conclude(vendor, merge(probe.tool.collect(text) for text in texts), probe.tool.table)
    if probe is AmdProbe:
        # What seldom changes comes after the measured, and is the older of both.
        measured, *facts = [read_text(text) for text in texts]
        return conclude(vendor, slices.gather(amd_smi.join(merge(facts), measured)), TABLE)
    joined = plain("\n".join(texts))
    if vendor is Vendor.ASCEND and looks_like_table(joined):
        parts = [parse_mapping(text) for text in texts if looks_like_mapping(text)]
        parts += [parse_topology(text) for text in texts if looks_like_topology(text)]
        parts += [parse_boards(plain(text)) for text in texts if looks_like_boards(text)]
        found = combine([parse_table(plain(texts[0])), *parts])
        chips = tuple(with_slices(chip, chip.partitions or ()) for chip in found.chips)
        # Numbered as a look at the node itself would: by the mapping, where that is told.
        return conclude_chips(replace(found, chips=chips), by_logic=True)
    return probe.parse(joined)


def _known(warnings: Sequence[Notice]) -> list[Notice]:
    """Without what only says that one of several outputs is of another kind."""
    return [said for said in warnings if said.code != "not-recognised"]

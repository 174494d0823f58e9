"""`npu-smi info -t info-vnpu` and `-t template-info`: the slices of a chip and what their templates hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import msgspec

from agent.host.files import parse_count
from agent.notices import notice
from agent.protocol import Partition
from agent.vendors.ascend.chips import Chip, Findings
from agent.vendors.ascend.table import TOOL
from agent.vendors.base import NO_INDEX, to_int

MOST_SLICES = 64
_TOTAL = re.compile(r"Total number of vnpu:\s*(\d{1,4})", re.IGNORECASE)
_CORES = re.compile(r"^\s*(?:\d{1,5}|NA)\s*/\s*(\d{1,5})$")
_NAMED_CORES = re.compile(r"^vir(\d{1,4})(?:_|$)", re.IGNORECASE)
_NAMED_GIB = re.compile(r"_(\d{1,4})g(?:_|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Template:
    """What a slice of this kind holds."""

    cores: int | None = None
    memory_mib: int | None = None


def looks_like_slices(captured: str) -> bool:
    """Whether this is a list of slices."""
    return bool(_TOTAL.search(captured)) or "Vnpu ID" in captured or "instance template info" in captured


def parse_templates(captured: str) -> dict[str, Template]:
    """Templates by name."""
    found: dict[str, Template] = {}
    for tokens in _rows(captured):
        if len(tokens) >= 3 and tokens[0].lower().startswith("vir"):
            gib = to_int(tokens[2], low=1, high=4096)
            found[tokens[0]] = Template(to_int(tokens[1], low=1, high=4096), gib and gib * 1024)
    return found


def parse_slices(captured: str, templates: Mapping[str, Template] | None = None) -> Findings:
    """One chip with its slices; the output does not say which chip. Sizes come from the templates' table, else from
    what a template's name says.
    """
    known = {**(templates or {}), **parse_templates(captured)}
    total_cores = _total_cores(captured)
    slices: dict[int, Partition] = {}
    for tokens in _rows(captured):
        number = parse_count(tokens[0]) if len(tokens) == 5 else None
        if number is not None and number < 1 << 16:
            slices[number] = _slice(number, tokens[4], known, total_cores)
    stated = _TOTAL.search(captured)
    missing = int(stated.group(1)) - len(slices) if stated else 0
    warnings = (notice("output-damaged", tool=TOOL),) if missing > 0 else ()
    chips = (Chip(npu=NO_INDEX, partitions=tuple(slices.values())[:MOST_SLICES]),) if slices else ()
    return Findings(chips=chips, warnings=warnings)


def told_slices(captured: str, templates: Mapping[str, Template]) -> tuple[Partition, ...] | None:
    """All slices of a chip; None where the output does not tell how many there are, or tells fewer."""
    found = parse_slices(captured, templates)
    if found.warnings or not (found.chips or _TOTAL.search(captured)):
        return None
    return (found.chips[0].partitions or ()) if found.chips else ()


def with_slices(chip: Chip, slices: Iterable[Partition]) -> Chip:
    """The chip with its slices, which are named after it."""
    home = chip.bus_id or f"npu{chip.npu}/{chip.chip}"
    named = [msgspec.structs.replace(part, uuid=f"{home}/vnpu{part.instance}") for part in slices]
    return replace(chip, partitions=tuple(named))


def _rows(captured: str) -> list[list[str]]:
    """The words of each row, whether or not its borders were kept."""
    rows = [line.replace("|", " ").split() for line in captured.splitlines()]
    return [tokens for tokens in rows if tokens]


def _total_cores(captured: str) -> int | None:
    """The second number of `free/total` under AICORE, the first column."""
    for tokens in _rows(captured):
        match = _CORES.match(tokens[0])
        if match:
            return int(match.group(1)) or None
    return None


def _slice(number: int, name: str, templates: Mapping[str, Template], total_cores: int | None) -> Partition:
    template = templates.get(name) or _by_name(name)
    milli = template.cores * 1000 // total_cores if template.cores and total_cores else None
    return Partition(
        name=None if name.upper() == "NA" else name,
        instance=number,
        memory_total_mib=template.memory_mib,
        compute_milli=milli if milli is not None and 1 <= milli <= 1000 else None,
    )


def _by_name(name: str) -> Template:
    """`vir10_3c_16g` is ten cores and 16 GiB; `vir04` is four cores and says nothing of memory."""
    cores, gib = _NAMED_CORES.search(name), _NAMED_GIB.search(name)
    return Template(
        int(cores.group(1)) or None if cores else None, int(gib.group(1)) * 1024 or None if gib else None
    )

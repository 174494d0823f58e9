"""`npu-smi info -t common|usages|memory|health|ecc|power|temp|board|proc-mem` and `-l`: lines of `key : value`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from agent.host.files import parse_count
from agent.notices import notice
from agent.protocol import CheckResult, normal_pci
from agent.vendors.ascend.chips import Chip, Findings
from agent.vendors.ascend.states import Verdict, judge_health, judge_value, worse
from agent.vendors.ascend.table import HOTTEST_C, MOST_BOARD_W, TOOL
from agent.vendors.base import (
    EVIDENCE_CHARS,
    MOST_ERRORS,
    MOST_MEMORY_MIB,
    NO_INDEX,
    Process,
    to_int,
    to_number,
)
from agent.vendors.reading.findings import known

CONTROLLERS = frozenset({"mcu", "3559"})
TEMPERATURES = ("temperature", "npu temperature")
POWERS = ("npu real-time power", "power dissipation", "rated power dissipation", "power", "npu power")
UTILIZATIONS = ("aicore usage rate", "npu utilization")
CAPACITIES = ("hbm capacity", "ddr capacity", "memory capacity")
RATES = ("hbm usage rate", "ddr usage rate", "memory usage rate")
HEALTHS = ("health", "health status")
LINKS = ("hccs health status", "xlink health status")
DOUBLE_BIT = ("hbm double bit error count", "ddr double bit error count", "double-bit error count")
AGGREGATES = ("hbm double bit aggregate total err cnt", "ddr double bit aggregate total err cnt")
ECC_SWITCHES = ("ecc enable", "hbm ecc enable", "ddr ecc enable", "ecc mode")
ON_WORDS = {
    "true": True,
    "enable": True,
    "enabled": True,
    "false": False,
    "disable": False,
    "disabled": False,
}
MEASURED = frozenset((*TEMPERATURES, *POWERS, *UTILIZATIONS, *CAPACITIES, *RATES, *DOUBLE_BIT, *AGGREGATES))
TELLING = frozenset(
    (
        *TEMPERATURES,
        *POWERS,
        *UTILIZATIONS,
        *CAPACITIES,
        *RATES,
        *HEALTHS,
        *LINKS,
        *DOUBLE_BIT,
        *AGGREGATES,
        *ECC_SWITCHES,
    )
) | {"pcie bus info", "aicore count", "process id"}
_FIELD = re.compile(r"^\s*([A-Za-z][^:|]{0,120}?)(?:\([^)]{0,60}\)\s{0,60})?:\s*(.*\S|)\s*$")
_PROCESS = re.compile(r"Process id:\s*(\d{1,9})\s+Process name:(.{0,400}?)Process memory\(MB\):\s*(\d{1,9})")


@dataclass
class _Block:
    """The fields of one chip."""

    npu: int | None
    values: dict[str, str] = field(default_factory=dict)
    processes: list[Process] = field(default_factory=list)

    @property
    def is_controller(self) -> bool:
        return self.values.get("chip name", "").lower() in CONTROLLERS


def looks_like_fields(captured: str) -> bool:
    """Whether some line is a field that npu-smi prints of a chip, or of the list of boards."""
    return any(key in TELLING or key == "npu id" for key, _ in _fields(captured))


def parse_fields(captured: str) -> Findings:
    """Chips with what is told of them; the board's controller is none. A rate without an amount stays a rate."""
    blocks = list(_blocks(captured))
    told = [block for block in blocks if TELLING & set(block.values) or block.processes]
    chips = [_chip(block) for block in told if not block.is_controller]
    if _is_mixed_up(told):
        chips = [replace(chip, verdict=worse(chip.verdict, _worst(told))) for chip in chips]
    board = {key: value for block in blocks for key, value in block.values.items()}
    listed = _listed(captured) if not chips else ()
    total = parse_count(board.get("total count", board.get("card count", "")))
    missing = total - len(listed) if total is not None and not chips else 0
    return Findings(
        chips=tuple(_once_a_board(chips)) or listed,
        driver_version=known(board.get("software version")),
        warnings=(notice("devices-missing", missing=missing, attached=total, tool=TOOL),)
        if missing > 0
        else (),
    )


def _is_mixed_up(blocks: Iterable[_Block]) -> bool:
    """Whether one cannot tell whose health is whose: a controller with a chip's id or before a chip, or nobody's
    health.
    """
    healths = [block for block in blocks if set(HEALTHS) & set(block.values)]
    odd = any(("chip id" in block.values) is block.is_controller for block in healths)
    return len(healths) > 1 and (odd or any(block.is_controller for block in healths[:-1]))


def _worst(blocks: Iterable[_Block]) -> Verdict | None:
    found: Verdict | None = None
    for block in blocks:
        found = worse(found, _verdict(block.values))
    return found


def _fields(captured: str) -> Iterator[tuple[str, str]]:
    for line in captured.splitlines():
        match = _FIELD.match(line)
        if match:
            yield match.group(1).strip().lower(), match.group(2)


def _blocks(captured: str) -> Iterator[_Block]:
    """Chips are parted by blank lines; where these were lost, by a key that comes again. The chip's id stands before
    or after its values.
    """
    block = _Block(npu=None)
    for line in captured.splitlines():
        match = _FIELD.match(line)
        if match is None:
            if not line.strip() and TELLING & set(block.values):
                yield block
                block = _Block(npu=block.npu)
            continue
        key, value = match.group(1).strip().lower(), match.group(2)
        process = _PROCESS.search(line)
        if process:
            used = to_int(process.group(3), low=0, high=MOST_MEMORY_MIB)
            block.processes.append(
                Process(
                    pid=int(process.group(1)), name=process.group(2).strip() or None, memory_used_mib=used
                )
            )
            continue
        if key in block.values or _starts_controller(block, key, value):
            yield block
            block = _Block(npu=block.npu)
        if key == "npu id":
            block.npu = parse_count(value)
        block.values[key] = value
    yield block


def _starts_controller(block: _Block, key: str, value: str) -> bool:
    return key == "chip name" and value.lower() in CONTROLLERS and "chip id" in block.values


def _chip(block: _Block) -> Chip:
    values = block.values
    number = block.npu if block.npu is not None and block.npu < 1 << 16 else None
    chip = parse_count(values.get("chip id", "")) or 0
    name = known(values.get("npu name", values.get("chip name")))
    capacity = _first(values, CAPACITIES, MOST_MEMORY_MIB, low=1)
    return Chip(
        npu=NO_INDEX if number is None else number,
        chip=min(chip, 1 << 16),
        name=name,
        bus_id=normal_pci(values.get("pcie bus info")),
        total_mib=capacity,
        used_pct=_rate(values),
        utilization_pct=_first(values, UTILIZATIONS, 100),
        temperature_c=_first(values, TEMPERATURES, HOTTEST_C, low=1),
        power_w=_power_w(values, chip),
        compute_units=to_int(values.get("aicore count"), low=1, high=1 << 16),
        ecc=next((ON_WORDS[word] for word in _words(values, ECC_SWITCHES) if word in ON_WORDS), None),
        uncorrectable=_uncorrectable(values),
        verdict=_verdict(values),
        processes=tuple(block.processes) or None,
    )


def _words(values: Mapping[str, str], keys: Iterable[str]) -> Iterator[str]:
    return (values[key].lower() for key in keys if key in values)


def _first(values: Mapping[str, str], keys: Iterable[str], high: int, *, low: int = 0) -> int | None:
    numbers = (to_int(values.get(key), low=low, high=high) for key in keys)
    return next((number for number in numbers if number is not None), None)


def _rate(values: Mapping[str, str]) -> int | None:
    """Of the memory that counts: where HBM is named, the rate of the other memory says nothing."""
    if (
        "hbm usage rate" in values
        or (to_int(values.get("hbm capacity"), low=1, high=MOST_MEMORY_MIB) or 0) > 0
    ):
        return to_int(values.get("hbm usage rate"), low=0, high=100)
    return _first(values, RATES, 100)


def _power_w(values: Mapping[str, str], chip: int) -> float | None:
    """The second die of a board with HBM repeats the power of the board, which its first die has told."""
    if chip > 0 and ("hbm usage rate" in values or "hbm capacity" in values):
        return None
    watts = (to_number(values.get(key), low=0, high=MOST_BOARD_W) for key in POWERS)
    return next((number for number in watts if number), None)


def _uncorrectable(values: Mapping[str, str]) -> int | None:
    for keys in (DOUBLE_BIT, AGGREGATES):
        counts = [to_int(values.get(key), low=0, high=MOST_ERRORS) for key in keys]
        known = [count for count in counts if count is not None]
        if known:
            return sum(known)
    return None


def _verdict(values: Mapping[str, str]) -> Verdict | None:
    word = next((values[key] for key in HEALTHS if key in values), None)
    if word is None:
        return _trouble(values)
    result, code, evidence = judge_health(word)
    details = [known(values.get(key)) for key in ("error code", "error information")]
    said = result, code, " ".join(filter(None, [evidence, *details]))[:EVIDENCE_CHARS]
    return worse(said, _trouble(values))


def _trouble(values: Mapping[str, str]) -> Verdict | None:
    """The worst of what stands in the place of a value."""
    found: Verdict | None = None
    for key in MEASURED & set(values):
        found = worse(found, judge_value(key, values[key]))
    for key in LINKS:
        if values.get(key, "").upper() == "NOK":
            found = worse(found, (CheckResult.FAILED, "link-failed", f"{key}: {values[key]}"))
    return found


def _listed(captured: str) -> tuple[Chip, ...]:
    """The boards of `-l`, each with its chips."""
    chips: list[Chip] = []
    npu: int | None = None
    for key, value in _fields(captured):
        if key == "npu id":
            npu = parse_count(value)
            if npu is not None and npu < 1 << 16:
                chips.append(Chip(npu=npu))
        elif key == "chip count" and npu is not None and chips:
            chips += [Chip(npu=npu, chip=number) for number in range(1, min(parse_count(value) or 1, 16))]
            npu = None
    return tuple(dict.fromkeys(chips))


def _once_a_board(chips: Iterable[Chip]) -> list[Chip]:
    """Chips of a capture of several commands, each once."""
    found: dict[tuple[int, int], Chip] = {}
    for chip in chips:
        place = chip.npu, chip.chip
        found[place] = chip.over(found[place]) if place in found else replace(chip)
    return list(found.values())

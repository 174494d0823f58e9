"""rocm-smi and the tools modelled on it: the same keys in JSON, in CSV and in lines, and one table of all devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from agent.notices import notice
from agent.protocol import Link, Partition
from agent.vendors.base import EVIDENCE_CHARS, to_int, to_number
from agent.vendors.reading.complaints import UNSUPPORTED, loose_lines
from agent.vendors.reading.documents import as_text
from agent.vendors.reading.findings import Capture, Finding, Table, first_told, known
from agent.vendors.reading.matrix import links_of, read_rows
from agent.vendors.reading.tables import csv_cells

_CARD = re.compile(r"^card(\d{1,4})$", re.IGNORECASE)
LINE = re.compile(r"^\s*(?:GPU|DCU|HCU)\[(\d{1,4})\]\s*:\s*(.*?)\s*:(?:\s+(.*)|)$")
_SIZE_KEY = re.compile(r"^(?:vram|hbm) total (used )?memory \((\w+)\)$")
_PAIR = re.compile(r"^\(topology\) (link type|hops|weight) between drm devices (\d{1,4}) and (\d{1,4})$")
_TABLE_HEAD = re.compile(r"^\s*(?:GPU|DCU|HCU|Device)\s.*\b(?:Temp|AvgPwr|Power)\b")
_TABLE_ENDS = re.compile(r"^\s*(?:GPU|TIMESTAMP)\s+[A-Z]|\bEnd of .*SMI\b|^\s*\$ |^[+|]", re.IGNORECASE)
_ROW = re.compile(r"^\s{0,3}\d{1,4}\s")
_NAME = re.compile(r"^\s{4,}(?!Name \()(\S.*?)\s*$")  # of the device in the row above
_SLICE = re.compile(r"^\s*([^,]+),\s*([^,]+),\s*(\d{1,2})\s*$")
# What the tools print on cards that lack a function, as loudly as if something had broken.
_ASIDE = re.compile(
    r"\bunable to (?:get|display|read|print|find)\b|\bexpected \w+ value from\b", re.IGNORECASE
)
_NAMED = re.compile(r"\b(?:GPU|DCU|HCU)\[(\d{1,4})\]")
_LEVEL = re.compile(r"^(?:ERROR|WARNING)\b[\s:]*", re.IGNORECASE)
_NO_STATE = ("", "n/a", "none", "unknown")
FEWEST_COLUMNS = 5
MOST_NODES = 1 << 12  # more is an unsigned -1, and that means no preference
_KINDS = ("XGMI", "PCIE")
_DEVICE = re.compile(r"^(?:GPU|DCU|HCU)(\d{1,4})$")
_LINK_TYPE = re.compile(r"^(XGMI|PCIE)()$")
_USE = ("gpu use (%)", "dcu use (%)", "hcu use (%)", "average_gfx_activity (%)", "current_gfx_activity (%)")
_SHARE = ("gpu memory allocated (vram%)", "gpu memory use (%)", "dcu memory use (%)", "hcu memory use (%)")
_POWER = (
    "average graphics package power (w)",
    "current socket graphics package power (w)",
    "current graphics package power (w)",
    "average graphics package power",
    "power draw (w)",
    "average gpu power",
    "current_socket_power (w)",
    "average_socket_power (w)",
)
_HEAT = ("sensor edge", "sensor core", "sensor junction", "sensor memory", "sensor mem", "sensor #1")
_SENSOR = re.compile(r"^temperature \(sensor #[^)]*\)(?: \(c\))?$")
_METRIC_HEAT = ("temperature_edge (c)", "temperature_hotspot (c)", "temperature_mem (c)")
_MODEL = ("card series", "device name", "card model", "product name")
_PCI_ID = ("device id", "gpu id")


def read_document(document: Mapping[str, Any]) -> Capture:
    """`--json`: one object per card and one of the system."""
    cards: dict[int, dict[str, str]] = {}
    system: dict[str, str] = {}
    for name, body in document.items():
        if not isinstance(body, dict):
            continue
        keys = {_key(key): as_text(value) or "" for key, value in body.items()}
        match = _CARD.match(str(name).strip())
        if match:
            cards[int(match.group(1))] = keys
        elif str(name).strip().lower() == "system":
            system = keys
    return _capture(cards, system)


def read_csv(text: str) -> Capture:
    """`--csv`: a line per card below a line of keys, the first of them `device`; other lines are passed over."""
    names: list[str] = []
    cards: dict[int, dict[str, str]] = {}
    for line in text.splitlines():
        cells = csv_cells(line)
        match = _CARD.match(cells[0]) if cells else None
        if cells and cells[0].lower() == "device":
            names = [_key(cell) for cell in cells]
        elif match and names:
            body = dict(zip(names[1:], cells[1:], strict=False))
            cards.setdefault(int(match.group(1)), {}).update(body)
    return _capture(cards, {})


def read_lines(text: str) -> Capture:
    """Lines `GPU[0] : key: value`, and the words that follow a bus id in a health check."""
    cards: dict[int, dict[str, str]] = {}
    system: dict[str, str] = {}
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            index, key, value = int(match.group(1)), _key(match.group(2)), (match.group(3) or "").strip()
            cards.setdefault(index, {})[key] = value
        elif line.strip().lower().startswith("driver version"):
            system["driver version"] = line.partition(":")[2].strip()
    capture = _capture(cards, system)
    return replace(capture, links=(*capture.links, *_matrix_links(text)))


def loose(text: str) -> list[str]:
    """Lines that hold no key and no row of a device: what the tool complains of."""
    bracketed = [line.strip() for line in text.splitlines() if re.match(r"\s*(?:GPU|DCU|HCU)\[", line)]
    others = [
        line for line in loose_lines(text) if not (re.match(r"(?:GPU|DCU|HCU)\[", line) or _is_row(line))
    ]
    return [*(line for line in bracketed if not LINE.match(line)), *others]


def _is_row(line: str) -> bool:
    """Whether this is a row of the table, whose cells are read with their device."""
    return _ROW.match(line) is not None and len(line.split()) > FEWEST_COLUMNS


def read_table(text: str) -> Capture:
    """The table printed without options; columns by name, whatever stands in which place."""
    columns: list[tuple[str, int]] = []
    findings: list[Finding] = []
    for line in text.splitlines():
        if _TABLE_HEAD.match(line):
            columns = [(found.group(), found.start()) for found in re.finditer(r"\S+(?: \S+)*", line)]
        elif columns and _ROW.match(line):
            findings.append(_row(line.rstrip(), columns))
        elif (
            findings and any(name.startswith("[Model") for name, _ in columns) and (own := _NAME.match(line))
        ):
            findings[-1] = replace(findings[-1], model=own.group(1))
        elif _TABLE_ENDS.search(line):
            columns = []
    return Capture(tuple(findings))


def split_asides(lines: list[str], table: Table) -> tuple[list[str], Capture]:
    """(the other lines, warnings of what the tool could not read): these say nothing of a device's health, but that
    there is one.
    """
    kept: list[str] = []
    warnings = []
    named: dict[int, Finding] = {}
    for line in lines:
        words = _LEVEL.sub("", line)
        if _ASIDE.search(words) and not table.judge(words):
            said = notice("tool-failed", problem=line[:EVIDENCE_CHARS])
            warnings += [] if said in warnings else [said]
            if device := _NAMED.search(words):
                named[int(device.group(1))] = Finding(index=int(device.group(1)), tells_memory=False)
        else:
            kept.append(line)
    return kept, Capture(tuple(named.values()), warnings=tuple(warnings))


def _row(line: str, columns: list[tuple[str, int]]) -> Finding:
    words = line.split()
    if len(words) == sum(len(name.split()) for name, _ in columns) == len(columns):
        cells = {name: word for (name, _), word in zip(columns, words, strict=True)}
    else:
        starts = _starts(line, [start for _, start in columns])
        cells = {
            name: line[start:end].strip()
            for (name, _), start, end in zip(columns, starts, [*starts[1:], None], strict=True)
        }
    said = tuple(cells.values())
    last = columns[-1][0]
    cells[last] = re.split(r"\s{2,}", cells[last], maxsplit=1)[0]  # before what somebody noted beside the row
    use = next((cells[name] for name in ("GPU%", "DCU%", "HCU%") if name in cells), None)
    cells_read = _without_fillers(cells)
    return Finding(
        index=int(words[0]),
        utilization=cells_read(use),
        temperature=cells_read(_below(cells, "Temp").split("°")[0].rstrip("cC") or None),
        power=cells_read(cells.get("AvgPwr") or cells.get("Power")),
        power_limit=cells.get("PwrCap"),
        complaints=tuple(cell for cell in said if not UNSUPPORTED.search(cell)),
        partitions=_slice(cells.get("Partitions")),
        memory_share=cells_read(cells.get("VRAM%")),
        damaged=not use,
        tells_memory=False,
    )


def _starts(line: str, columns: list[int]) -> list[int]:
    """Where the cells below these columns begin; a cell that stands across two columns is the second one's, if there
    is another one below the first, else the first one's.
    """
    found = columns[:1]
    for start in columns[1:]:
        if line[start - 1 : start].strip() and line[start : start + 1].strip():
            word = line.rfind(" ", 0, start) + 1
            end = line.find(" ", start)
            start = word if line[found[-1] : word].strip() else end if end >= 0 else len(line)
        found.append(start)
    return found


def _without_fillers(cells: Mapping[str, str]) -> Callable[[str | None], str | None]:
    """What passes a row's values on. Where the tool cannot tell a device's performance level, or calls its mode
    abnormal, the driver does not answer: zeros and negative values there stand for what could not be read.
    """
    silent = cells.get("Perf", "auto").lower() in _NO_STATE or cells.get("Mode", "").lower() == "abnormal"

    def passed(text: str | None) -> str | None:
        filler = silent and to_number(text, low=-(1 << 20), high=0) is not None
        return None if filler else text

    return passed


def _slice(cell: str | None) -> tuple[Partition, ...]:
    """`NPS1, DPX, 0`: the memory's mode, the device's mode, the number of this slice; later slices may tell no mode."""
    match = _SLICE.match(cell or "")
    if match is None:
        return ()
    memory, compute, number = known(match.group(1)), known(match.group(2)), int(match.group(3))
    name = f"{compute.upper()}/{memory or '?'}" if compute else None
    return (Partition(name=name, instance=number),) if name or number else ()


def _below(cells: Mapping[str, str], word: str) -> str:
    return next((cell for name, cell in cells.items() if name.split()[0] == word), "")


def _key(text: object) -> str:
    return " ".join(str(text).split()).rstrip(": ").lower()


def _capture(cards: Mapping[int, Mapping[str, str]], system: Mapping[str, str]) -> Capture:
    findings = [_finding(index, cards[index]) for index in sorted(cards)]
    driver = known(system.get("driver version"))
    return Capture(tuple(findings), driver, tuple(_links(system)))


def _finding(index: int, keys: Mapping[str, str]) -> Finding:
    memory: dict[bool, str] = {}
    for key, value in keys.items():
        match = _SIZE_KEY.match(key)
        if match and known(value):
            memory[bool(match.group(1))] = f"{value} {match.group(2)}"
    if True not in memory and False not in memory and known(keys.get("available memory size (mib)")):
        memory[False] = f"{keys['available memory size (mib)']} MiB"
    affinity = to_int(keys.get("(topology) numa affinity"), low=-(1 << 40), high=1 << 40)
    bus_id, _, health = keys.get("pci bus", keys.get("bus id", "")).partition(" ")
    return Finding(
        index=index,
        uuid=_unique_id(keys.get("unique id")),
        pci_bus_id=bus_id or None,
        model=_model(keys),
        memory_total=memory.get(False),
        memory_used=memory.get(True),
        memory_share=_told(keys, _SHARE) if True not in memory else None,
        utilization=_told(keys, _USE),
        temperature=_heat(keys),
        power=_told(keys, _POWER),
        power_limit=_told(keys, ("max graphics package power (w)", "power cap (w)")),
        numa_node=None
        if affinity is not None and not 0 <= affinity < MOST_NODES
        else keys.get("(topology) numa node"),
        states=(("health", health.strip(" :")),) if health.strip(" :") else (),
        complaints=tuple(value for value in keys.values() if value and not UNSUPPORTED.search(value)),
        tells_memory=False,
    )


def _told(keys: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return first_told(*(keys.get(name) for name in names))


def _heat(keys: Mapping[str, str]) -> str | None:
    names = tuple(f"temperature ({sensor}) (c)" for sensor in _HEAT)
    sensors = (key for key in keys if _SENSOR.match(key))
    found = _told(keys, (*names, *_METRIC_HEAT, "temperature", *sensors))
    return found.rstrip("cC") if found else None


def _model(keys: Mapping[str, str]) -> str | None:
    """The first name that is no number; where the tool knows none, the PCI device id."""
    names = [keys[name] for name in _MODEL if known(keys.get(name))]
    return next((name for name in names if not name.lower().startswith("0x")), _told(keys, _PCI_ID))


def _unique_id(text: str | None) -> str | None:
    clean = known(text)
    return None if clean is None or not clean.lower().removeprefix("0x").strip("0") else clean


def _matrix_links(text: str) -> list[Link]:
    """The matrix of link types in `--showtopo`; those of weights and hops hold numbers only."""
    rows = read_rows(text, _DEVICE)
    links = {
        pair: link for row in rows for pair, link in links_of(row, kinds=_LINK_TYPE, device=_DEVICE).items()
    }
    return [links[pair] for pair in sorted(links)]


def _links(system: Mapping[str, str]) -> list[Link]:
    found = {}
    for key, value in system.items():
        match = _PAIR.match(key)
        kind = value.strip().upper()
        if match and match.group(1) == "link type" and kind in _KINDS:
            a, b = sorted((int(match.group(2)), int(match.group(3))))
            found[a, b] = Link(a=a, b=b, kind=kind)
    return list(found.values())

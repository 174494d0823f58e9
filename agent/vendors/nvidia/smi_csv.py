"""`nvidia-smi --query-gpu` and `--query-compute-apps` as CSV: columns by their names, never by position."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.notices import notice
from agent.protocol import Notice, Vendor, normal_pci
from agent.vendors.base import NO_INDEX, Process, Reading, Readout, to_int, to_mib
from agent.vendors.nvidia import states
from agent.vendors.nvidia.look import (
    Look,
    conclude,
    identity,
    known,
    silent,
    to_count,
    to_index,
    told,
    told_apart,
)
from agent.vendors.nvidia.merging import Merged
from agent.vendors.nvidia.smi_xml import action_findings, fabric_findings
from agent.vendors.nvidia.text import is_complaint

ALIASES = {
    "gpu_uuid": "uuid",
    "gpu_name": "name",
    "gpu_bus_id": "pci.bus_id",
    "used_memory": "used_gpu_memory",
    "process_id": "pid",
    "gpu_index": "index",
}
KNOWN = frozenset(
    (
        *(
            "index",
            "uuid",
            "name",
            "serial",
            "count",
            "pci.bus_id",
            "driver_version",
            "timestamp",
            "compute_cap",
        ),
        *("memory.total", "memory.used", "memory.free", "memory.reserved", "temperature.gpu", "fan.speed"),
        *("utilization.gpu", "utilization.memory", "power.draw", "power.draw.instant", "power.draw.average"),
        *("power.limit", "enforced.power.limit", "pstate", "ecc.mode.current", "mig.mode.current"),
        *("gpu_recovery_action", "remapped_rows.failure", "remapped_rows.pending", "retired_pages.pending"),
        *("pid", "process_name", "used_gpu_memory"),
    )
)
# What is no reading of a device where it stands alone, and may be a word of anything.
UNTELLING = frozenset(
    {"timestamp", "count", "serial", "pid", "process_name", "driver_version", "compute_cap"}
)
DRAWS = ("power.draw", "power.draw.instant", "power.draw.average")
LIMITS = ("power.limit", "enforced.power.limit")
UNJUDGED = frozenset(
    {"gpu_recovery_action", "name", "uuid", "serial", "process_name", "timestamp", "hostname", "pid"}
)
_COLUMN = re.compile(r"^([A-Za-z][\w.]*)(?:\s*\[([^\]]*)\])?$")
_UUID = re.compile(r"GPU-[0-9A-Fa-f-]{8,}(?![\w*?.])")
_BUS = re.compile(r"(?<![0-9A-Fa-f:])[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]\b")
_ASKED = re.compile(r"nvidia-smi.*--query-(?:gpu|compute-apps)[= ]([\"']?)([\w.]+(?:,[\w.]+)*)\1(?:\s|$)")
_WATTS = re.compile(r"^\d{1,5}\.\d+ W$")
_VALUE = re.compile(r"^(?:-?[\d.]+(?: (?:%|[A-Za-z/]+))?|\[?N/A\]?|\[[A-Za-z ]+\])$")
_NAME = re.compile(r"\b(NVIDIA|GeForce|Tesla|Quadro|RTX|GTX|TITAN)\b")


@dataclass(frozen=True)
class Column:
    """A column's own name and its unit."""

    name: str
    unit: str


def header_of(line: str) -> list[Column] | None:
    """The columns, if this line is a header, or the command that asked for them."""
    asked = _ASKED.search(line)
    line = asked.group(2) if asked else line
    matches = [_COLUMN.match(cell.strip()) for cell in line.split(",")]
    columns = [Column(_own(match.group(1)), match.group(2) or "") for match in matches if match]
    if len(columns) != len(matches) or (len(columns) == 1 and columns[0].name in UNTELLING):
        return None
    named = sum(column.name in KNOWN for column in columns)
    return columns if named and 2 * named >= min(len(columns), 4) else None


def _own(name: str) -> str:
    return ALIASES.get(name.lower(), name.lower())


def parse_csv(captured: str) -> Readout:
    """Rows below a header, or rows that tell themselves what they are; lines of complaint are for others."""
    looks: list[Look] = []
    apps: list[Look] = []
    columns: list[Column] | None = None
    driver: str | None = None
    place = 0
    for line in captured.splitlines():
        header = header_of(line)
        if header is not None:
            columns, place = header, 0
            continue
        if not line.strip() or (is_complaint(line) and not _fits(line, columns)):
            continue
        if columns is not None and _is_of_others(line, columns):
            continue
        own = None if columns is None or _is_of_another(line, columns) else columns
        if own and any(column.name == "pid" for column in own):
            apps.append(_app(line, own))
        elif own or looks_like_row(line):
            look = _row(line, own, place) if own else _bare_row(line)
            place += 1
            driver = driver or _value(line, own, "driver_version")
            looks += [look] if look else []
    damaged = any(look.cut for look in looks)
    warnings: list[Notice] = [notice("output-damaged", tool="nvidia-smi")] if damaged else []
    readings = _together(looks, apps, driver)
    return Readout(vendor=Vendor.NVIDIA, driver_version=driver, readings=readings, warnings=warnings)


def _together(looks: list[Look], apps: list[Look], driver: str | None) -> list[Reading]:
    """One reading per device of all its rows and its processes."""
    merged = Merged()
    for at, look in enumerate(told_apart([*looks, *apps])):
        merged.add(conclude(look, driver) if at < len(looks) else silent(look))
    return merged.readings()


def looks_like_csv(captured: str) -> bool:
    """Whether some line is a header or a device's row."""
    return any(header_of(line) or looks_like_row(line) for line in captured.splitlines() if "," in line)


def looks_like_row(line: str) -> bool:
    """Whether a line without a header above it is a device's row."""
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) < 2 or "|" in line or (":" in cells[0].replace("GPU-", "") and not _BUS.search(cells[0])):
        return False
    identity = (
        to_index(cells[0]) is not None
        or _UUID.match(cells[0])
        or _BUS.match(cells[0])
        or _NAME.match(cells[0])
    )
    telling = any(
        _NAME.search(cell) or _WATTS.match(cell) or _UUID.match(cell) or _BUS.match(cell) for cell in cells
    )
    return bool(identity and telling)


def _is_of_others(line: str, columns: Sequence[Column]) -> bool:
    """Whether a line below a header is no row, be it cut: it stands in a table, or has no comma and names no device.
    Below the header of a single column stand values only.
    """
    clean = line.strip()
    if clean.startswith(("|", "+", "<", "#")):
        return True
    if "," in clean or _UUID.match(clean) or _BUS.match(clean):
        return False
    return len(columns) > 1 or not (_VALUE.match(clean) or _NAME.search(clean) or states.judge_text(clean))


def _fits(line: str, columns: Sequence[Column] | None) -> bool:
    """Whether a line has as many cells as the header above it, of which a sentence has few."""
    return columns is not None and len(columns) > 2 and line.count(",") + 1 == len(columns)


def _is_of_another(line: str, columns: Sequence[Column]) -> bool:
    """Whether a device's row has neither as many cells as the header above it, nor its kinds of cells: it is of a
    listing without a header.
    """
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) == len(columns) or not looks_like_row(line):
        return False
    named = [(column.name, cell) for column, cell in zip(columns, cells, strict=False)]
    return any(
        (_UUID.fullmatch(cell) and name != "uuid") or (_BUS.fullmatch(cell) and name != "pci.bus_id")
        for name, cell in named
    )


def _cells(line: str, columns: Sequence[Column]) -> Mapping[str, str] | None:
    """Cells by column; None where their number does not fit. Commas in a process's or device's name are its own."""
    cells = [cell.strip() for cell in line.split(",")]
    names = [column.name for column in columns]
    spare = len(cells) - len(names)
    wide = next((names.index(name) for name in ("process_name", "name") if name in names), None)
    if spare > 0 and wide is not None and "pid" in names:
        cells[wide : wide + spare + 1] = [", ".join(cells[wide : wide + spare + 1])]
    if len(cells) != len(names):
        return None
    return dict(zip(names, cells, strict=True))


def _value(line: str, columns: Sequence[Column] | None, name: str) -> str | None:
    cells = _cells(line, columns) if columns else None
    return known(cells.get(name)) if cells else None


def _row(line: str, columns: Sequence[Column], place: int) -> Look | None:
    cells = _cells(line, columns)
    if cells is None:
        return _damaged(line, columns)
    units = {column.name: column.unit for column in columns}
    index = to_index(cells.get("index"))
    asked = set(cells)
    if index is None and not identity(cells.get("uuid")) and not normal_pci(cells.get("pci.bus_id")):
        if {"index", "uuid", "pci.bus_id"} & asked and not any(to_mib(cell) for cell in cells.values()):
            return None  # the empty row of a lost device that the line above names
        index = place
    return Look(
        index=NO_INDEX if index is None else index,
        uuid=cells.get("uuid"),
        bus_id=cells.get("pci.bus_id"),
        name=cells.get("name"),
        total=_sized(cells, units, "memory.total"),
        used=_sized(cells, units, "memory.used"),
        reserved=_sized(cells, units, "memory.reserved"),
        utilization=cells.get("utilization.gpu"),
        temperature=cells.get("temperature.gpu"),
        draws=tuple(cells[name] for name in DRAWS if name in cells),
        limits=tuple(cells[name] for name in LIMITS if name in cells),
        ecc=cells.get("ecc.mode.current"),
        uncorrectable=to_count(cells.get("ecc.errors.uncorrected.volatile.total")),
        words=tuple((name, cell) for name, cell in cells.items() if name not in UNJUDGED),
        found=tuple(_found(cells)),
        memory_due="memory.used" in asked and cells.get("mig.mode.current") != "Enabled",
    )


def _sized(cells: Mapping[str, str], units: Mapping[str, str], name: str) -> str | None:
    cell, unit = cells.get(name), units.get(name)
    return f"{cell} {unit}" if cell and unit and cell.replace(".", "").isdecimal() else cell


def _found(cells: Mapping[str, str]) -> list[tuple[str, str]]:
    found = []
    for code, name, bad in (
        ("row-remap-failed", "remapped_rows.failure", ("yes", "1")),
        ("row-remap-pending", "remapped_rows.pending", ("yes", "1")),
        ("page-retirement-pending", "retired_pages.pending", ("yes", "1")),
        ("over-temperature", "clocks_event_reasons.hw_thermal_slowdown", ("active",)),
        ("over-temperature", "clocks_throttle_reasons.hw_thermal_slowdown", ("active",)),
        ("reset-required", "reset_status.reset_required", ("yes",)),
        ("drain-recommended", "reset_status.drain_and_reset_recommended", ("yes",)),
    ):
        if cells.get(name, "").strip().lower() in bad:
            found.append((code, f"{name}: {cells[name]}"))
    found += action_findings(cells.get("gpu_recovery_action"))
    return found + fabric_findings(cells.get("fabric.state"), cells.get("fabric.status"))


def _damaged(line: str, columns: Sequence[Column]) -> Look | None:
    """A row with too few or too many cells: who it is about, and whether it complains; no figure is trusted."""
    uuid, bus_id = _UUID.search(line), _BUS.search(line)
    first, comma, _ = line.partition(",")
    index = to_index(first) if comma and columns[0].name == "index" else None
    if not uuid and not bus_id and index is None:
        return None
    return Look(
        index=NO_INDEX if index is None else index,
        uuid=uuid.group(0) if uuid else None,
        bus_id=bus_id.group(0) if bus_id else None,
        words=(("row", line),) if states.judge_text(line) else (),
        cut=True,
    )


def _bare_row(line: str) -> Look:
    """A row without header: identity and name tell themselves; a draw is the one wattage that is no round limit."""
    cells = [cell.strip() for cell in line.split(",")]
    watts = [cell for cell in cells if _WATTS.match(cell)]
    limits = {cell for cell in watts if cell.endswith(".00 W")}
    draws = [cell for cell in watts if cell not in limits]
    uuid, bus_id = _UUID.search(line), _BUS.search(line)
    index = to_index(cells[0])
    return Look(
        index=NO_INDEX if index is None else index,
        uuid=uuid.group(0) if uuid else None,
        bus_id=bus_id.group(0) if bus_id else None,
        name=next((cell for cell in cells if _NAME.search(cell) and not _UUID.match(cell)), None),
        draws=tuple(draws) if len(draws) == 1 else (),
        limits=tuple(limits) if len(limits) == 1 else (),
        words=tuple(("row", cell) for cell in cells if not _NAME.search(cell)),
        memory_due=False,
    )


def _app(line: str, columns: Sequence[Column]) -> Look:
    """The device of a process; one that is only accounted for may have ended."""
    cells = _cells(line, columns) or {}
    now = {"used_gpu_memory", "process_name"} & set(cells)
    pid = to_int(cells.get("pid"), low=0, high=1 << 31) if now else None
    process = Process(
        pid=pid or 0,
        name=told(cells.get("process_name")),
        memory_used_mib=to_mib(cells.get("used_gpu_memory")),
    )
    uuid, bus_id = _UUID.search(line), _BUS.search(line)
    return Look(
        index=NO_INDEX,
        uuid=cells.get("uuid") or (uuid.group(0) if uuid else None),
        bus_id=cells.get("pci.bus_id") or (bus_id.group(0) if bus_id else None),
        name=cells.get("name"),
        processes=(process,) if pid is not None else (),
    )

"""Tenstorrent devices: the snapshot of `tt-smi -s` and the list of `tt-smi -ls`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from agent.protocol import CheckResult, Vendor
from agent.vendors.base import plain
from agent.vendors.command import CommandProbe, Tool
from agent.vendors.reading.complaints import add_complaints, loose_lines, nothing_found, with_damage
from agent.vendors.reading.documents import as_text, dig, entries_of, find_json, looks_cut
from agent.vendors.reading.findings import COMMON_RULES, Capture, Finding, Table, known, rule

TABLE = Table(
    rules=(
        rule(r"^(false|n|no)$|^faults 0x0*[1-9a-f]", CheckResult.FAILED, "error-state"),
        rule(r"reset (?:not completed|failed)", CheckResult.FAILED, "error-state"),
        rule(r"0xffffffff|arc (is )?(hung|not responding)", CheckResult.FATAL, "lost"),
        *COMMON_RULES,
    ),
    good_states=frozenset({"true", "y", "yes"}),
    too_hot_c=105,
)
TOOL = "tt-smi"
_CELL_ENDS = re.compile(r"[│┃|]")
# What the driver's library writes before its messages; the time may have been taken off already.
_LOGGED = re.compile(
    r"^[\d:. -]{0,40}\|[ ]{0,9}(?:debug|info|warning|error|critical)[ ]{0,9}\|[ ]{0,40}\w{1,40}[ ]{0,9}\|[ ]{0,9}",
    re.MULTILINE,
)
_LISTED = re.compile(r"^[ \t]*\d{1,4}: ([0-9A-Fa-f]{8,16}) \([^()]+ - ([^()]+)\)\s*$", re.MULTILINE)
MARKS = ("dev/tenstorrent", "sys/module/tenstorrent")


def collect(captured: str) -> Capture:
    """All devices of the first snapshot in this text, or else of its list."""
    clean = plain(captured)
    documents, rest = find_json(clean)
    document = next((found for found in documents if isinstance(dig(found, "device_info"), list)), None)
    devices = [device for device in dig(document, "device_info") or () if isinstance(device, dict)]
    driver = known(as_text(dig(document, "host_info", "driver")))
    found = [_finding(index, device) for index, device in enumerate(devices)]
    findings = _tell_apart(found or _read_list(rest))
    capture = with_damage(Capture(findings, driver), looks_cut(rest), tool=TOOL)
    capture = add_complaints(capture, loose_lines(_LOGGED.sub("", rest)), TABLE)
    empty = "no devices" if document is not None and not findings else rest
    return nothing_found(capture, empty, tool=TOOL)


def _finding(index: int, device: dict[str, Any]) -> Finding:
    board, telemetry, limits = (dig(device, name) for name in ("board_info", "telemetry", "limits"))
    dram = as_text(dig(board, "dram_status")) or ""
    faults = known(as_text(dig(device, "smbus_telem", "faults")))
    shown = [leaf.value for block in (board, telemetry) for leaf in entries_of(block) if leaf.value]
    return Finding(
        index=index,
        uuid=known(as_text(dig(board, "board_id"))),
        pci_bus_id=as_text(dig(board, "bus_id")),
        model=known(as_text(dig(board, "board_type"))),
        temperature=as_text(dig(telemetry, "asic_temperature")),
        hottest_allowed=known(as_text(dig(limits, "therm_trip_l1_limit")))
        or as_text(dig(limits, "thm_limit_shutdown")),
        power=as_text(dig(telemetry, "power")),
        power_limit=known(as_text(dig(limits, "tdp_limit"))) or as_text(dig(limits, "board_power_limit")),
        states=(("dram_status", dram.lower()),) if known(dram) else (),
        complaints=tuple(text for text in shown if text.lower() not in ("true", "false"))
        + ((f"faults {faults.lower()}",) if faults else ()),
        damaged=not dram and "dram_status" in (board if isinstance(board, dict) else ()),
        tells_memory=False,
    )


def _read_list(text: str) -> list[Finding]:
    """The first table of `-ls`: the second one has those boards again that can be reset. Its numbers are of device
    files, which the far chip of a board has not, so that the rows are counted as a snapshot's devices are.
    """
    columns: list[str] = []
    rows: list[dict[str, str]] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in _CELL_ENDS.split(line)[1:-1]]
        names = [cell.lower() for cell in cells]
        if "board type" in names:
            if rows:
                break
            columns = names
        elif columns and len(cells) == len(columns):
            rows.append(dict(zip(columns, cells, strict=True)))
    rows += [
        {"board id": number, "board type": kind} for number, kind in _LISTED.findall(text) if not columns
    ]
    return [_listed(index, row) for index, row in enumerate(rows)]


def _listed(index: int, row: dict[str, str]) -> Finding:
    return Finding(
        index=index,
        uuid=known(row.get("board number", row.get("board id"))),
        pci_bus_id=row.get("pci bdf"),
        model=known(row.get("device series", row.get("board type"))),
        complaints=tuple(row.values()),
        tells_memory=False,
    )


def _tell_apart(findings: list[Finding]) -> tuple[Finding, ...]:
    """The chips of one board share its serial number: all but the first get their letter, or their number there."""
    seen: dict[str, int] = {}
    named = []
    for finding in findings:
        serial = finding.uuid or ""
        place = seen.get(serial, 0) if serial else 0
        seen[serial] = place + 1
        side = (finding.model or "").split()[-1:]
        letter = side[0] if side and side[0] in ("L", "R") else str(place)
        named.append(replace(finding, uuid=f"{serial}-{letter}") if place else finding)
    return tuple(named)


class TenstorrentProbe(CommandProbe):
    """Live and captured output."""

    tool = Tool(
        Vendor.TENSTORRENT,
        TABLE,
        collect,
        names=(TOOL,),
        questions=(("-s",),),
        marks=MARKS,
    )

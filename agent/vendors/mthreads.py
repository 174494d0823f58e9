"""Moore Threads devices: mthreads-gmi's table of three lines per card, its `-q` list, its `-q -j` document, its
`topo -m`, and the driver's lines in the kernel log.
"""

from __future__ import annotations

import re
from typing import Any

from agent.notices import notice
from agent.protocol import CheckResult, Notice, Vendor
from agent.vendors.base import plain, to_int
from agent.vendors.command import CommandProbe, Tool
from agent.vendors.reading.complaints import add_complaints, loose_lines, nothing_found, spoken, with_damage
from agent.vendors.reading.documents import as_text, dig, entries_of, find_json, looks_cut
from agent.vendors.reading.findings import (
    COMMON_RULES,
    Capture,
    Finding,
    Table,
    known,
    merge,
    rule,
    uncorrectable_errors,
    with_processes,
)
from agent.vendors.reading.matrix import looks_like_matrix, read_matrix
from agent.vendors.reading.tables import (
    NAMED_LINE,
    Entry,
    Record,
    read_entries,
    read_names,
    read_processes,
    read_records,
    split_blocks,
    split_pair,
    value_of,
)

TABLE = Table(
    rules=(
        rule(r"^(abnormal|inactive|offline)$", CheckResult.FAILED, "error-state"),
        # The vendor's guide has a card set aside on these XIDs of the bus and of the links between cards.
        rule(
            r"\bmtlink (is )?down\b|\bxid\b.*\b0x0(2000007|700000[13])\b", CheckResult.FAILED, "error-state"
        ),
        rule(r"\bxid\b\W+0x\d", CheckResult.UNKNOWN, "state-unknown"),
        *COMMON_RULES,
    ),
    good_states=frozenset({"normal", "ok", "healthy"}),
    too_hot_c=105,
)
MARKS = ("dev/mtgpu.0", "sys/module/mtgpu")
TOOL = "mthreads-gmi"
HEADER = (
    ("ID Name", "PCIe", "%GPU Mem"),
    ("Device Type", "Pcie Lane Width", "Temp MPC Capable"),
    ("", "", "ECC Mode"),
)
_BLOCK = re.compile(
    r"^GPU\s?(\d{1,4})?\s*:?\s*((?:[0-9a-fA-FxX*#]{1,8}:)?[0-9a-fA-FxX*#]{1,2}:[0-9a-fA-FxX*#]{1,2}\.[\dxX*#])?\s*$"
)
_LANES = re.compile(r"^(\d{1,2})x\s*\(\s*(\d{1,2})x\s*\)$")


def collect(captured: str) -> Capture:
    """All that is said in this text."""
    clean = plain(captured)
    documents, rest = find_json(clean)
    captures = [_read_document(document) for document in documents]
    names = tuple(Finding(index=number, model=name, uuid=uuid) for number, name, uuid in read_names(rest))
    captures += [_read_table(rest), _read_list(rest), Capture(names)]
    captures += [read_matrix(rest)] if looks_like_matrix(rest) else []
    loose = [line for line in loose_lines(rest) if not (_BLOCK.match(line) or NAMED_LINE.match(line))]
    capture = with_processes(merge(captures), read_processes(rest))
    capture = with_damage(add_complaints(capture, loose, TABLE), looks_cut(rest), tool=TOOL)
    return nothing_found(capture, clean, tool=TOOL)


def _read_table(clean: str) -> Capture:
    findings, warnings = [], []
    for record in read_records(clean, frozenset({"ID"}), otherwise=HEADER):
        first = record.lines[0][0].split(maxsplit=1)
        if len(first) == 2:
            findings.append(_from_table(record, int(first[0]), first[1]))
            warnings += _degraded(first[0], record.under("Lane"))
    driver = re.search(r"Driver Version:\s*(\S+)", clean)
    return Capture(tuple(findings), driver.group(1) if driver else None, (), tuple(warnings))


def _from_table(record: Record, index: int, model: str) -> Finding:
    use = (record.under("Mem") or "").split(maxsplit=1)
    used, total = split_pair(use[1] if len(use) > 1 else None)
    heat = (record.under("Temp") or "").split()
    ecc = (
        record.lines[2][-1] if len(record.lines) > 2 else None
    )  # copies differ in how many bars stand before it
    return Finding(
        index=index,
        pci_bus_id=record.under("PCIe"),
        model=model,
        memory_used=used,
        memory_total=total,
        utilization=use[0] if use else None,
        temperature=heat[0] if heat else None,
        ecc=None if not known(ecc) else (ecc or "").lower() not in ("off", "disabled", "no"),
        complaints=record.cells,
        damaged=not _is_whole(record) or not heat,
    )


def _is_whole(record: Record) -> bool:
    upper = Record(record.header[:2], record.lines[:2])
    return upper.whole and (len(record.header) < 3 or (len(record.lines) > 2 and bool(record.lines[2][-1])))


def _degraded(device: str, lanes: str | None) -> list[Notice]:
    match = _LANES.match(lanes or "")
    if match is None or int(match.group(1)) >= int(match.group(2)):
        return []
    return [notice("link-degraded", device=device, current=match.group(1), most=match.group(2))]


def _read_list(clean: str) -> Capture:
    head, blocks = split_blocks(clean, _BLOCK)
    driver = value_of(read_entries(head), "driver version")
    captures = [
        _from_entries(order, read_entries(body), match.group(1), match.group(2))
        for order, (match, body) in enumerate(blocks)
        if ":" in body
    ]
    return merge([*captures, Capture(driver_version=driver)])


def _read_document(document: Any) -> Capture:
    cards = dig(document, "gpu")
    cards = cards if isinstance(cards, list) else [cards] if isinstance(cards, dict) else []
    captures = [_from_entries(order, list(entries_of(card)), None, None) for order, card in enumerate(cards)]
    return merge([*captures, Capture(driver_version=known(as_text(dig(document, "driver version"))))])


def _from_entries(order: int, entries: list[Entry], number: str | None, bus_id: str | None) -> Capture:
    own = [entry for entry in entries if "process" not in entry.key]
    index = to_int(value_of(own, "index", "minor number") or number, low=0, high=1 << 12)
    place = order if index is None else index
    width = [value_of(own, f"link width/{name}") for name in ("current", "max")]
    finding = Finding(
        index=place,
        uuid=value_of(own, "gpu uuid", "uuid"),
        pci_bus_id=value_of(own, "pci/bus id", "bus id") or bus_id,
        model=value_of(own, "product name"),
        memory_total=value_of(own, "fb memory usage/total", "memory usage/total"),
        memory_used=value_of(own, "fb memory usage/used", "memory usage/used"),
        utilization=value_of(own, "utilization/gpu"),
        temperature=value_of(own, "temperature/gpu current temp", "temperature/gpu temp"),
        hottest_allowed=value_of(own, "temperature/gpu shutdown temp"),
        power=value_of(own, "power readings/power draw"),
        power_limit=value_of(own, "power readings/current power limit", "power readings/power limit"),
        ecc={"enabled": True, "on": True, "disabled": False, "off": False}.get(
            (value_of(own, "ecc mode/current") or "").lower()
        ),
        uncorrectable=uncorrectable_errors(own),
        complaints=spoken(own),
    )
    return Capture((finding,), None, (), tuple(_degraded(str(place), f"{width[0]}({width[1]})")))


class MthreadsProbe(CommandProbe):
    """Live and captured output."""

    tool = Tool(
        Vendor.MTHREADS,
        TABLE,
        collect,
        names=(TOOL,),
        questions=((), ("-q",), ("topo", "-m")),
        marks=MARKS,
    )

"""MetaX devices: the tables of mx-smi and of its OEM twin ht-smi, their lists and their topology."""

from __future__ import annotations

import re
from dataclasses import replace

from agent.notices import notice
from agent.protocol import CheckResult, Vendor
from agent.vendors.base import plain
from agent.vendors.command import CommandProbe, Tool
from agent.vendors.reading.complaints import add_complaints, loose_lines, nothing_found, spoken
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
    Entry,
    Record,
    read_entries,
    read_processes,
    read_records,
    split_blocks,
    split_pair,
    value_of,
)

TABLE = Table(
    rules=(
        rule(r"\bunavailable\b|\bnot available\s*\(|^not available$", CheckResult.FAILED, "error-state"),
        rule(r"^(disabled|offline)$", CheckResult.FAILED, "error-state"),
        rule(r"^dropped$", CheckResult.FATAL, "card-dropped"),
        *COMMON_RULES,
    ),
    good_states=frozenset({"available"}),
    too_hot_c=108,
)
TOOLS = ("mx-smi", "ht-smi")
FOLDERS = ("/opt/mxdriver/bin", "/opt/maca/bin", "/opt/hpcc/bin")
QUESTIONS = ((), ("-L",), ("topo", "-m"), ("--count-ecc",))
MARKS = ("dev/mxcd", "sys/module/metax")
HEADER = (("GPU NAME", "Bus-id", "GPU-Util"), ("Temp Pwr:Usage/Cap", "Memory-Usage", "GPU-State"))
_STARTS = re.compile(r"^\d{1,4}\s|^[^|]*\|\s*\d{1,4}\s+(?:On|Off|N/A)\b")
_LISTED = re.compile(
    r"^\s*GPU#(\d{1,4})\s+(\S+(?: [A-Z]\S*){0,3})\s+(\S*:\S*\.\S)\s*(?:(\S.*?)\s*)?(?:\(UUID:\s*([^()]+)\)\s*)?$"
)
_ON = re.compile(r"\s+(?:On|Off|N/A)$")


def collect(captured: str) -> Capture:
    """All that is said in this text."""
    clean = plain(captured)
    tool = "ht-smi" if "ht-smi" in clean.lower() else "mx-smi"
    captures = [_read_table(clean), _read_blocks(clean)]
    captures += [read_matrix(clean)] if looks_like_matrix(clean) else []
    loose = [line for line in loose_lines(clean) if not _LISTED.match(line)]
    capture = with_processes(merge(captures), read_processes(clean))
    capture = add_complaints(capture, loose, TABLE)
    attached = re.search(r"^Attached GPUs\s*:\s*(\d{1,4})\s*$", clean, re.MULTILINE)
    missing = int(attached.group(1)) - len(capture.findings) if attached else 0
    if missing > 0 and capture.findings:
        said = notice(
            "devices-missing", missing=missing, attached=attached.group(1) if attached else "", tool=tool
        )
        capture = merge([capture, Capture(warnings=(said,))])
    return nothing_found(capture, clean, tool=tool)


def _read_table(clean: str) -> Capture:
    records = read_records(clean, frozenset({"GPU", "Board"}), starts=_STARTS, otherwise=HEADER)
    findings: list[Finding] = []
    for record in records:
        finding = _from_table(record)
        if finding and finding.model is None and findings:
            finding = replace(finding, model=findings[-1].model)  # another die of the board above
        findings += [finding] if finding else []
    driver = re.search(r"Kernel Mode Driver Version:\s*([^\s|]+)", clean)
    return Capture(tuple(findings), driver.group(1) if driver else None)


def _from_table(record: Record) -> Finding | None:
    """Older tables name the GPU in the first cell, newer ones the board there and its GPU in the second."""
    upper = record.lines[0]
    by_board = record.header[0][0].startswith("Board")
    number = re.match(r"\d{1,4}", upper[1] if by_board and len(upper) > 1 else upper[0])
    if number is None:
        return None
    lower = " ".join(record.lines[1]) if len(record.lines) > 1 else ""
    power = re.search(r"(\S+)\s*/\s*(\S+?W|N/?A)\b", record.under("Pwr:Usage/Cap") or "")
    alone = re.search(r"(\S+W)\b", record.under("Power") or "")  # tables of older versions know no limit
    heat = re.search(r"(?:^|\s)(-?[\d.]+|N/A)\s*C\b", lower)
    used, total = split_pair(record.under("Memory-Usage"))
    use = (record.under("GPU-Util") or "").split()
    state = known(record.under("GPU-State"))
    return Finding(
        index=int(number.group()),
        pci_bus_id=record.under("Bus-id"),
        model=_ON.sub("", re.sub(r"^\d+\s*", "", upper[0])) or None,
        memory_used=used,
        memory_total=total,
        utilization=use[0] if use else None,
        temperature=heat.group(1) if heat else None,
        power=power.group(1) if power else alone.group(1) if alone else None,
        power_limit=power.group(2) if power else None,
        states=(("GPU-State", state),) if state else (),
        complaints=tuple(cell for cell in record.cells if not re.search(r"%\s+\w+$", cell)),
        damaged=not record.whole or not heat,
    )


def _read_blocks(clean: str) -> Capture:
    """`-L`, and the lists of the `--show` options: a line per GPU, with keys below it or none."""
    _, blocks = split_blocks(clean, _LISTED)
    return merge(Capture((_from_block(match, read_entries(body)),)) for match, body in blocks)


def _from_block(match: re.Match[str], entries: list[Entry]) -> Finding:
    state = known(match.group(4))
    return Finding(
        index=int(match.group(1)),
        model=match.group(2),
        pci_bus_id=match.group(3),
        uuid=match.group(5),
        memory_total=value_of(entries, "vram total", "vis_vram total", "memory/total"),
        memory_used=value_of(entries, "vram used", "vis_vram used", "memory/used"),
        utilization=value_of(entries, "utilization/gpu", "gpu util", "gpu"),
        temperature=next((entry.value for entry in entries if entry.path[-1].startswith("hotspot")), None),
        power=value_of(entries, "power/total", "board power/total", "total"),
        uncorrectable=uncorrectable_errors(entries, within=""),
        states=(("state", state),) if state else (),
        complaints=spoken(entries),
    )


class MetaxProbe(CommandProbe):
    """Live and captured output."""

    tool = Tool(Vendor.METAX, TABLE, collect, names=TOOLS, questions=QUESTIONS, marks=MARKS, folders=FOLDERS)

"""Cambricon devices: cnmon's table of versions 4 to 6, the lists of `cnmon info` and the matrix of `cnmon topo -m`."""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec

from agent.protocol import CheckResult, Partition, Vendor
from agent.vendors.base import MOST_ERRORS, Process, plain, to_int
from agent.vendors.command import CommandProbe, Tool
from agent.vendors.reading.complaints import add_complaints, loose_lines, nothing_found, spoken
from agent.vendors.reading.findings import (
    COMMON_RULES,
    Capture,
    Finding,
    Table,
    known,
    merge,
    mib,
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
        rule(r"^off$|^(not|un)[ -]?initiali[sz]ed$|^stopped$", CheckResult.FAILED, "error-state"),
        rule(r"^warning$", CheckResult.FAILED, "error-state"),
        *COMMON_RULES,
    ),
    good_states=frozenset({"on", "good", "running", "ok", "normal", "healthy"}),
    too_hot_c=105,
)
FOLDERS = ("/usr/local/neuware/bin",)
MARKS = ("dev/cambricon_ctl", "dev/cambricon_dev0", "proc/driver/cambricon")
OLD_HEADER = (
    ("Card VF Name Firmware", "Inited Driver", "Util Ecc-Error"),
    ("Fan Temp Pwr:Usage/Cap", "Memory-Usage", "vMemory-Usage"),
)
NEW_HEADER = (
    ("Card VF Name Firmware", "Bus-Id", "Util Ecc-Error"),
    (*OLD_HEADER[1][:2], "Mode Compute-Mode"),
)
_BLOCK = re.compile(r"^\s{0,2}Card\s+(\d{1,4})\s*:?\s*$", re.IGNORECASE)
_FIRST = re.compile(r"^(\d{1,4})\s+(\S+)\s+(\S.*?)(?:\s+(v[\d.]+|N/A))?$")
_HEAT = re.compile(r"(?:^|\s)(-?[\d.]+|N/A)\s*C\b")
_NO_HEAT = re.compile(r"^\s*\S+\s+N/?A(?=\s)")
_POWER = re.compile(r"(\S{1,16}(?: W)?)\s{0,8}/\s{0,8}(\S{1,16}(?: W)?)\s*$")


def collect(captured: str) -> Capture:
    """All that is said in this text."""
    clean = plain(captured)
    _, blocks = split_blocks(clean, _BLOCK)
    matrix = [read_matrix(clean)] if looks_like_matrix(clean) else []
    capture = merge([_read_table(clean), _read_info(blocks), *matrix])
    capture = with_processes(capture, [] if blocks else read_processes(clean))
    loose = [line for line in loose_lines(clean) if not _BLOCK.match(line)]
    return nothing_found(add_complaints(capture, loose, TABLE), clean, tool="cnmon")


def _read_table(clean: str) -> Capture:
    findings: list[Finding] = []
    old = re.search(r"\|\s*(On|Off)\s+v\d", clean) is not None
    for record in read_records(clean, frozenset({"Card"}), otherwise=OLD_HEADER if old else NEW_HEADER):
        match = _FIRST.match(record.lines[0][0])
        if match is None:
            continue
        finding = _from_table(record, match)
        parent = next((at for at, older in enumerate(findings) if older.index == finding.index), None)
        if parent is None or not match.group(2).isdigit():
            findings.append(finding)
        else:
            function = _function(finding, match.group(2))
            findings[parent] = replace(findings[parent], partitions=(*findings[parent].partitions, function))
    driver = re.search(r"^[ \t]*\|.*\bDriver\s+(v[\w.\-]+)\s*\|\s*$", clean, re.MULTILINE)
    version = driver.group(1) if driver else next((one.driver_version for one in findings), None)
    return Capture(tuple(findings), version)


def _from_table(record: Record, match: re.Match[str]) -> Finding:
    use = (record.under("Util") or "").split()
    lower = record.under("Pwr:Usage/Cap") or ""
    heat, power = _HEAT.search(lower), _POWER.search(lower)
    draws = power is not None and re.match(r"\d", power.group(1)) is not None
    unknown = None if heat else _NO_HEAT.match(lower) if draws else None
    used, total = split_pair(record.under("Memory-Usage"))
    inited = (record.under("Inited") or "").split()
    errors = use[-1] if len(use) > 1 else None
    return Finding(
        index=int(match.group(1)),
        pci_bus_id=record.under("Bus-Id"),
        model=match.group(3),
        driver_version=inited[-1] if len(inited) > 1 else None,
        memory_used=used,
        memory_total=total,
        utilization=use[0] if use else None,
        temperature=heat.group(1) if heat else "N/A" if unknown else None,
        power=power.group(1) if power else None,
        power_limit=power.group(2) if power else None,
        ecc=True if errors and to_int(errors, low=0, high=MOST_ERRORS) is not None else None,
        states=(("inited", inited[0]),) if inited else (),
        complaints=record.cells,
        damaged=not record.whole or not (heat or unknown),
    )


def _function(finding: Finding, number: str) -> Partition:
    return Partition(name=f"VF{number}", memory_total_mib=mib(finding.memory_total), instance=int(number[:4]))


def _read_info(blocks: list[tuple[re.Match[str], str]]) -> Capture:
    findings = [_from_info(int(match.group(1)), read_entries(body)) for match, body in blocks]
    driver = next((finding.driver_version for finding in findings if finding.driver_version), None)
    return Capture(tuple(findings), driver)


def _from_info(index: int, entries: list[Entry]) -> Finding:
    own = [entry for entry in entries if "process" not in entry.key]
    # A heading with a line for each part, or all of it in one line.
    states = [entry for entry in own if entry.path[0] == "health state"]
    said = any(
        entry.path[-1] == "device" or (len(entry.path) == 1 and known(entry.value)) for entry in states
    )
    memory = ("physical memory usage", "memory usage", "memory")
    return Finding(
        index=index,
        uuid=value_of(own, "uuid"),
        pci_bus_id=_bus_id(own),
        model=value_of(own, "product name"),
        driver_version=value_of([entry for entry in own if len(entry.path) == 1], "driver", "driver version"),
        memory_total=value_of(own, *(f"{name}/total" for name in memory)),
        memory_used=value_of(own, *(f"{name}/used" for name in memory)),
        utilization=value_of(own, "utilization/mlu average", "utilization/board", "utilization/mlu"),
        temperature=value_of(own, "temperature/chip", "temperature/board", "temperature/cluster 0"),
        power=value_of(own, "power/usage"),
        power_limit=value_of(own, "power/cap"),
        numa_node=value_of(own, "numa node id", "numa node", "numa"),
        uncorrectable=uncorrectable_errors(own),
        states=tuple((entry.key, entry.value) for entry in states if known(entry.value)),
        complaints=spoken(own),
        processes=_processes(entries),
        damaged=bool(states) and not said,
    )


def _processes(entries: list[Entry]) -> tuple[Process, ...]:
    """Every `pid` begins a process; what follows is of it."""
    found: list[Process] = []
    for entry in entries:
        pid = to_int(entry.value, low=0, high=1 << 31) if entry.path[-1] == "pid" else None
        if pid is not None:
            found.append(Process(pid=pid))
        elif found and entry.path[-1] in ("cmdline", "command line"):
            found[-1] = msgspec.structs.replace(found[-1], name=entry.value or None)
        elif found and entry.path[-1] == "mlu memory usage":
            found[-1] = msgspec.structs.replace(found[-1], memory_used_mib=mib(entry.value))
    return tuple(found)


def _bus_id(entries: list[Entry]) -> str | None:
    parts = [
        value_of(entries, *names)
        for names in (("pci/domain id",), ("pci/bus num", "pci/bus"), ("pci/device",), ("pci/function",))
    ]
    if None in parts[1:]:
        return value_of(entries, "pci/bus id", "bus-id", "bus id")
    return "{}:{}:{}.{}".format(parts[0] or "0", *parts[1:])


class CambriconProbe(CommandProbe):
    """Live and captured output."""

    tool = Tool(
        Vendor.CAMBRICON,
        TABLE,
        collect,
        names=("cnmon",),
        questions=((), ("info",), ("topo", "-m")),
        marks=MARKS,
        folders=FOLDERS,
    )

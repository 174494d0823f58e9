"""amd-smi: its JSON of all generations (bare list, `gpu_data`, values with units or without), and its lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from agent.protocol import Link, Partition
from agent.vendors.base import MOST_ERRORS, Process, to_int
from agent.vendors.reading.documents import as_text, dig, entries_of
from agent.vendors.reading.findings import Capture, Finding, first_told, known, mib
from agent.vendors.reading.tables import read_entries as read_list_entries
from agent.vendors.reading.tables import split_blocks

MOST_INDEX = 1 << 12
_BLOCK = re.compile(r"^\s{0,2}GPU: (\d{1,4})\s*$")
_KEY = re.compile(r"^(\s{2,}|)[A-Z][A-Z0-9_]+(?: \d+)?:(?:\s|$)")
_OF_LIST = re.compile(r"^\s+\S|^[A-Z][A-Z0-9_]*(?: [A-Z0-9_]+)*:(?:\s|$)")
_SPOKEN = re.compile(r"^(?:ERROR|WARNING|CRITICAL|FATAL|INFO)\b")
_HEAT = ("edge", "edge_temperature", "gpu_temp", "hotspot", "hotspot_temperature", "mem")
_TOTAL = (
    ("vram", "size"),
    ("vram", "vram_size_mb"),
    ("mem_usage", "total_vram"),
    ("fb_usage", "total_vram"),
    ("memory", "vram_total"),
    ("vram_total",),
)
_USED = (
    ("mem_usage", "used_vram"),
    ("fb_usage", "used_vram"),
    ("memory", "vram_used"),
    ("vram_used",),
)
_NAMED = ("thermal_violation_status", "bad_page_threshold_exceeded")
_PAGES = ("retired", "pending", "un_res")
_LIMITS = (
    ("limit", "ppt0", "socket_power_limit"),
    ("limit", "ppt0", "max_power_limit"),
    ("limit", "socket_power"),
    ("limit", "max_power"),
    ("limit", "power"),
    ("power", "power_limit"),
)


def read_entries(entries: Iterable[dict[str, Any]]) -> list[Capture]:
    """One capture per object of a device."""
    captures = []
    for order, entry in enumerate(entries):
        index = to_int(as_text(dig(entry, "gpu")), low=0, high=MOST_INDEX)
        if index is None and any(dig(entry, name) is not None for name in ("asic", "vram", "usage", "bdf")):
            index = order
        if index is not None:
            captures.append(Capture((_finding(index, entry),), _driver(entry), _links(index, entry)))
    return captures


def read_list(text: str) -> list[Capture]:
    """What amd-smi prints without `--json`: indented keys below `GPU: n`; lines of other outputs are passed over."""
    own = "\n".join(line for line in text.splitlines() if not line.strip() or is_of_list(line))
    _, blocks = split_blocks(own, _BLOCK)
    captures = [(_nested(body) | {"gpu": match.group(1)}) for match, body in blocks]
    return read_entries(captures)


def is_of_list(line: str) -> bool:
    """Whether this may be a line of a list of keys."""
    return _OF_LIST.match(line) is not None and not _SPOKEN.match(line)


def head_is_cut(text: str) -> bool:
    """Whether keys of a device stand above the first `GPU: n`."""
    titled = False
    for line in text.splitlines():
        if _BLOCK.match(line):
            break
        key = _KEY.match(line)
        if key and key.group(1) and not titled:
            return True
        titled = titled or bool(key)
    return False


def driver_number(text: str | None) -> str | None:
    """A driver's version; where the tool prints the kernel's banner instead, the number in it, if it is not cut."""
    clean = known(text)
    if clean is None or not clean.lower().startswith("linux"):
        return clean
    match = re.search(r"version\s*(\d+(?:\.\d+)+(?:-[\w.]+)?)", clean, re.IGNORECASE)
    return match.group(1) if match else None


def join(facts: Capture, metric: Capture) -> Capture:
    """The current readings over facts of an earlier look; devices are those that answer now."""
    older = {finding.index: finding for finding in facts.findings}
    findings = tuple(
        finding.over(older[finding.index]) if finding.index in older else finding
        for finding in metric.findings
    )
    return replace(
        metric,
        findings=findings,
        driver_version=metric.driver_version or facts.driver_version,
        links=metric.links or facts.links,
    )


def _finding(index: int, entry: dict[str, Any]) -> Finding:
    serial = known(as_text(dig(entry, "asic", "asic_serial")))
    named = known(as_text(dig(entry, "uuid"))) or known(as_text(dig(entry, "hip_uuid")))
    return Finding(
        index=index,
        uuid=serial.lower() if serial and serial.lower().removeprefix("0x").strip("0") else named,
        pci_bus_id=as_text(dig(entry, "bus", "bdf")) or as_text(dig(entry, "bdf")),
        model=known(as_text(dig(entry, "asic", "market_name")))
        or as_text(dig(entry, "board", "product_name")),
        driver_version=_driver(entry),
        memory_total=_megabytes(*(dig(entry, *path) for path in _TOTAL)),
        memory_used=_megabytes(*(dig(entry, *path) for path in _USED)),
        utilization=_first(
            dig(entry, "usage", "gfx_activity"), dig(entry, "usage", "gfx_usage"), dig(entry, "gfx")
        ),
        temperature=_first(
            *(dig(entry, "temperature", name) for name in _HEAT), dig(entry, "hotspot_temperature")
        ),
        hottest_allowed=_first(
            dig(entry, "limit", "shutdown_edge_temperature")
            if known(_first(dig(entry, "temperature", "edge")))
            else dig(entry, "limit", "shutdown_hotspot_temperature")
        ),
        power=_first(
            dig(entry, "power", "socket_power"),
            dig(entry, "power", "current_socket_power"),
            dig(entry, "power", "average_socket_power"),
            dig(entry, "power", "average_power"),
            dig(entry, "power", "current_power"),
            dig(entry, "power_usage"),
        ),
        power_limit=_limit(entry),
        numa_node=_numa(entry),
        cpus=_cpus(entry),
        compute_units=to_int(as_text(dig(entry, "asic", "num_compute_units")), low=1, high=1 << 16),
        ecc=_ecc(entry),
        uncorrectable=_uncorrectable(entry),
        complaints=tuple(_spoken(entry)),
        partitions=_slice(entry),
        processes=_processes(entry),
    )


def _processes(entry: dict[str, Any]) -> tuple[Process, ...]:
    """`process_list`: a process each, or a sentence that there is none."""
    listed = dig(entry, "process_list")
    found = []
    for item in listed if isinstance(listed, list) else ():
        info = dig(item, "process_info")
        pid = to_int(as_text(dig(info, "pid")), low=0, high=1 << 31)
        if pid is not None:
            memory = _first(dig(info, "memory_usage", "vram_mem"), dig(info, "mem_usage"))
            name = known(as_text(dig(info, "name")))
            found.append(Process(pid=pid, name=name, memory_used_mib=mib(memory, unit="B")))
    return tuple(found)


def _slice(entry: dict[str, Any]) -> tuple[Partition, ...]:
    """The mode this object stands in, as the one slice that it may be."""
    compute = _first(
        dig(entry, "partition", "compute_partition"), dig(entry, "partition", "accelerator_partition")
    )
    number = _first(dig(entry, "partition", "partition_id"), dig(entry, "partition_id"))
    return slice_of(compute, as_text(dig(entry, "partition", "memory_partition")), number)


def slice_of(compute: str | None, memory: str | None, number: str | None) -> tuple[Partition, ...]:
    """The slice that these modes and this number tell of; none where they tell nothing."""
    instance = to_int((number or "").split(",")[0], low=0, high=64)
    if not known(compute):
        return (Partition(instance=instance),) if instance else ()
    return (
        Partition(name=f"{(compute or '').strip('*').upper()}/{known(memory) or '?'}", instance=instance),
    )


def _driver(entry: dict[str, Any]) -> str | None:
    return driver_number(
        as_text(dig(entry, "driver", "version")) or as_text(dig(entry, "driver", "driver_version"))
    )


def _first(*values: Any) -> str | None:
    return first_told(*(as_text(value) for value in values))


def _megabytes(*values: Any) -> str | None:
    """Sizes without a unit are in what amd-smi calls MB, which is 1024 x 1024 bytes."""
    text = _first(*values)
    return f"{text} MB" if text and text.replace(".", "", 1).isdigit() else text


def _limit(entry: dict[str, Any]) -> str | None:
    """The first limit that allows something: some boards tell 0 W for the one in force."""
    texts = (as_text(dig(entry, *path)) for path in _LIMITS)
    return next((text for text in texts if text and re.search("[1-9]", text)), None)


def _numa(entry: dict[str, Any]) -> str | None:
    affinity = as_text(dig(entry, "numa", "affinity"))
    return None if affinity and affinity.startswith("-") else as_text(dig(entry, "numa", "node"))


def _cpus(entry: dict[str, Any]) -> str | None:
    """`cpu_affinity`: a mask and a list of CPUs for each 64 of them; unused ones say N/A."""
    lists = dig(entry, "numa", "cpu_affinity")
    told = (
        [as_text(dig(one, "cpu_cores_affinity")) for one in lists.values()] if isinstance(lists, dict) else []
    )
    return ",".join(text for text in told if text and known(text)) or None


def _spoken(entry: dict[str, Any]) -> Iterator[str]:
    """All values in which trouble may show; limits that are exceeded and states of bad pages with their names."""
    for leaf in entries_of(entry):
        if "process" not in leaf.key:
            named = leaf.path[-1].endswith(_NAMED) or (leaf.path[-1] == "status" and leaf.path[0] in _PAGES)
            yield f"{leaf.path[-1]}: {leaf.value}" if named else leaf.value


def _ecc(entry: dict[str, Any]) -> bool | None:
    blocks = dig(entry, "ras", "ecc_block_state")
    if isinstance(blocks, dict):
        states = [as_text(value) for value in blocks.values()]
    elif isinstance(blocks, list):
        states = [as_text(dig(block, "status")) for block in blocks]
    else:
        return None
    upper = {clean.upper() for state in states if (clean := known(state))}
    return None if not upper else "ENABLED" in upper


def _uncorrectable(entry: dict[str, Any]) -> int | None:
    names = ("total_uncorrectable_count", "total_uncorrectable", "total_uncorrect")
    total = _first(*(dig(entry, "ecc", name) for name in names))
    return to_int(total, low=0, high=MOST_ERRORS)


def _links(index: int, entry: dict[str, Any]) -> tuple[Link, ...]:
    found = []
    links = dig(entry, "links")
    for link in links if isinstance(links, list) else ():
        other = to_int(as_text(dig(link, "gpu")), low=0, high=MOST_INDEX)
        kind = (as_text(dig(link, "link_type")) or "").upper()
        off = (as_text(dig(link, "link_status")) or "").upper() == "DISABLED"
        if other is not None and index < other and not off and kind in ("XGMI", "PCIE"):
            found.append(Link(a=index, b=other, kind=kind))
    return tuple(found)


def _nested(body: str) -> dict[str, Any]:
    """Indented keys as a document: blanks of the keys become underscores."""
    tree: dict[str, Any] = {}
    for entry in read_list_entries(body):
        if not entry.value:
            continue
        place = tree
        for name in entry.path[:-1]:
            inner = place.setdefault(name.replace(" ", "_"), {})
            place = inner if isinstance(inner, dict) else {}
        place.setdefault(entry.path[-1].replace(" ", "_"), entry.value)
    return tree

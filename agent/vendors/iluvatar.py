"""Iluvatar devices: ixsmi's table, its `-q` list, its XML, its CSV, its list of devices and its topology."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agent.protocol import CheckResult, Vendor
from agent.vendors.base import plain, to_int
from agent.vendors.command import CommandProbe, Tool
from agent.vendors.reading.complaints import add_complaints, loose_lines, nothing_found, spoken, with_damage
from agent.vendors.reading.documents import entries_of_element, read_elements
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
from agent.vendors.reading.matrix import is_matrix_row, looks_like_matrix, read_matrix
from agent.vendors.reading.tables import (
    NAMED_LINE,
    Entry,
    Record,
    csv_cells,
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
        rule(r"xid\b.*\b(79|119|120)\b", CheckResult.FATAL, "lost"),
        rule(r"row remap\w* failure|remapping failed", CheckResult.FAILED, "row-remap-failed"),
        *COMMON_RULES,
    ),
    too_hot_c=105,
)
TOOL = "ixsmi"
FOLDERS = ("/usr/local/corex/bin",)
MARKS = ("dev/iluvatar0", "sys/module/iluvatar")
HEADER = (
    ("GPU Name", "Bus-Id", "Clock-SM Clock-Mem"),
    ("Fan Temp Perf Pwr:Usage/Cap", "Memory-Usage", "GPU-Util Compute M."),
)
_BLOCK = re.compile(
    r"^GPU\s+((?:[0-9a-fA-FxX*#]{1,8}:)?[0-9a-fA-FxX*#]{1,2}:[0-9a-fA-FxX*#]{1,2}\.[\dxX*#])\s*$"
)
_XML = re.compile(r"(?:<\?xml|<(?=[\w]*log\b|gpu\b)).*?(?:</\w*log>|\Z)", re.DOTALL)
_OPENING = re.compile(r"<(\w{0,40}log)\b")
_MASKED = re.compile(r"[xX*#]{2}|\.\.\.|\[")
_SECOND = re.compile(r"^(\S+)\s+(\S+)\s+(\S+)\s+(.*)$")
_COLUMNS = {
    "index": "index",
    "uuid": "uuid",
    "name": "model",
    "gpu_name": "model",
    "pci.bus_id": "pci_bus_id",
    "gpu_bus_id": "pci_bus_id",
    "driver_version": "driver_version",
    "memory.total": "memory_total",
    "memory.used": "memory_used",
    "utilization.gpu": "utilization",
    "temperature.gpu": "temperature",
    "power.draw": "power",
    "gpu.power.draw": "power",
    "power.limit": "power_limit",
    "gpu.current.power.limit": "power_limit",
}


def collect(captured: str) -> Capture:
    """All that is said in this text, also by several outputs one after the other."""
    clean = plain(captured)
    captures = [_read_xml(document) for document in _XML.findall(clean)]
    # Where a document does not end, lists may stand below what only looks like its beginning.
    rest = _without_documents(clean)
    names = tuple(Finding(index=number, model=name, uuid=uuid) for number, name, uuid in read_names(rest))
    captures += [_read_table(rest), _read_list(rest), Capture(names), _read_csv(rest)]
    captures += [read_matrix(rest)] if looks_like_matrix(rest) else []
    capture = with_processes(merge(captures), read_processes(rest))
    shapes = (_BLOCK, NAMED_LINE)
    loose = [line for line in loose_lines(clean) if not any(shape.match(line) for shape in shapes)]
    return nothing_found(add_complaints(capture, loose, TABLE), clean, tool=TOOL)


def _without_documents(text: str) -> str:
    """What is outside of XML documents that end."""
    rest: list[str] = []
    position = 0
    endless: set[str] = set()
    for match in _OPENING.finditer(text):
        name = match.group(1)
        if match.start() < position or name in endless:
            continue
        end = text.find(f"</{name}>", match.end())
        if end < 0:
            endless.add(name)
            continue
        rest.append(text[position : match.start()])
        position = end + len(f"</{name}>")
    return "".join([*rest, text[position:]])


def _read_table(clean: str) -> Capture:
    findings = []
    for record in read_records(clean, frozenset({"GPU"}), otherwise=HEADER):
        first = record.lines[0][0].split(maxsplit=1)
        if len(first) == 2:
            findings.append(_from_table(record, int(first[0]), first[1]))
    driver = re.search(r"Driver Version:\s*([^\s|]+)", clean)
    return Capture(tuple(findings), driver.group(1) if driver and findings else None)


def _from_table(record: Record, index: int, model: str) -> Finding:
    lower = record.lines[1][0] if len(record.lines) > 1 else ""
    match = _SECOND.match(lower)
    power, limit = _power(match.group(4)) if match else (None, None)
    used, total = split_pair(record.under("Memory-Usage"))
    use = (record.under("GPU-Util") or "").split()
    return Finding(
        index=index,
        pci_bus_id=record.under("Bus-Id"),
        model=model,
        memory_used=used,
        memory_total=total,
        utilization=use[0] if use else None,
        temperature=match.group(2) if match else None,
        power=power,
        power_limit=limit,
        complaints=record.cells,
        damaged=not record.whole or match is None,
    )


def _power(text: str) -> tuple[str | None, str | None]:
    """Draw and cap; each may be N/A, with a slash of its own: the cap of a board stands at one of its dies only."""
    first, second = split_pair(text.replace("N/A", "NA"))
    return first, second


def _read_list(clean: str) -> Capture:
    head, blocks = split_blocks(clean, _BLOCK)
    orders = _orders(match.group(1) for match, _ in blocks)
    findings = [
        _from_entries(order, read_entries(body), match.group(1))
        for order, (match, body) in zip(orders, blocks, strict=True)
    ]
    return Capture(tuple(findings), value_of(read_entries(head), "driver version") if findings else None)


def _orders(places: Iterable[str | None]) -> list[int]:
    """Devices counted as they come; one that comes again under its own address or identity keeps its number."""
    seen: dict[str | int, int] = {}
    found = []
    for number, place in enumerate(places):
        key: str | int = number if place is None or _MASKED.search(place) or not known(place) else place
        found.append(seen.setdefault(key, len(seen)))
    return found


def _read_xml(clean: str) -> Capture:
    elements, outside, whole = read_elements(clean, "gpu")
    findings = [
        _from_entries(order, list(entries_of_element(element)), element.get("id"))
        for order, element in enumerate(elements)
    ]
    capture = Capture(tuple(findings), outside.get("driver_version"))
    return with_damage(capture, not whole, tool=TOOL)


def _from_entries(order: int, entries: list[Entry], bus_id: str | None) -> Finding:
    own = [entry for entry in entries if "process" not in entry.key]
    index = to_int(value_of(own, "index", "gpu index"), low=0, high=1 << 12)
    return Finding(
        index=order if index is None else index,
        uuid=value_of(own, "gpu uuid", "uuid"),
        pci_bus_id=value_of(own, "pci/bus id", "pci/pci bus id") or bus_id,
        model=value_of(own, "product name"),
        memory_total=value_of(own, "fb memory usage/total", "memory usage/total"),
        memory_used=value_of(own, "fb memory usage/used", "memory usage/used"),
        memory_reserved=value_of(own, "fb memory usage/reserved"),
        utilization=value_of(own, "utilization/gpu", "utilization/gpu util"),
        temperature=value_of(own, "temperature/gpu current temp", "temperature/gpu temp"),
        hottest_allowed=value_of(own, "temperature/gpu shutdown temp", "temperature/gpu temp max threshold"),
        power=value_of(own, *(f"{block}/power draw" for block in _POWER_BLOCKS)),
        power_limit=value_of(
            own,
            *(
                f"{block}/{name}"
                for block in _POWER_BLOCKS
                for name in ("current power limit", "power limit")
            ),
        ),
        ecc={"enabled": True, "disabled": False}.get(
            (value_of(own, "ecc mode/current", "ecc mode/current ecc") or "").lower()
        ),
        uncorrectable=uncorrectable_errors(own, within="ecc errors"),
        numa_node=value_of(own, "numa node", "numa node id"),
        complaints=spoken(own),
    )


_POWER_BLOCKS = ("power readings", "gpu power readings")


def _read_csv(clean: str) -> Capture:
    """`--query-gpu --format=csv`: columns by name, their units in brackets."""
    names: list[str | None] = []
    rows: list[tuple[dict[str | None, str], list[str]]] = []
    for line in clean.splitlines():
        cells = [] if "|" in line or is_matrix_row(line) else csv_cells(line)
        columns = [_COLUMNS.get(cell.split(" ")[0].lower()) for cell in cells]
        if sum(column is not None for column in columns) > 1:
            names = columns
        elif names and len(cells) == len(names):
            rows.append((dict(zip(names, cells, strict=True)), cells))
    orders = _orders(row.get("uuid", row.get("pci_bus_id")) for row, _ in rows)
    findings = [_from_row(order, row, cells) for order, (row, cells) in zip(orders, rows, strict=True)]
    return merge([Capture((finding,)) for finding in findings])


def _from_row(order: int, row: dict[str | None, str], cells: list[str]) -> Finding:
    texts = {name: text for name, text in row.items() if name and name != "index"}
    index = to_int(row.get("index"), low=0, high=1 << 12)
    due = {"memory_used", "memory_total"} <= set(texts)
    place = order if index is None else index
    return Finding(index=place, complaints=tuple(cells), tells_memory=due, **texts)  # type: ignore[arg-type]


class IluvatarProbe(CommandProbe):
    """Live and captured output."""

    tool = Tool(
        Vendor.ILUVATAR,
        TABLE,
        collect,
        names=(TOOL,),
        questions=((), ("-q",), ("-L",), ("topo", "-m")),
        marks=MARKS,
        folders=FOLDERS,
    )

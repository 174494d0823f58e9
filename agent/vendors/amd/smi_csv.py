"""amd-smi's `--csv`: a row per device below a row of keys, which stand without the headings of the other formats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agent.vendors.amd.amd_smi import read_entries
from agent.vendors.reading.findings import Capture, Finding, merge
from agent.vendors.reading.tables import csv_cells

_HEADING = {
    "asic": "market_name asic_serial num_compute_units",
    "bus": "bdf",
    "board": "product_name",
    "driver": "driver_version",
    "numa": "node affinity",
    "vram": "vram_size_mb size",
    "mem_usage": "total_vram used_vram",
    "usage": "gfx_activity",
    "temperature": "edge hotspot mem",
    "power": "current_socket_power average_socket_power power_limit",
    "limit": "max_power shutdown_edge_temperature shutdown_hotspot_temperature",
    "ecc": "total_uncorrectable_count",
    "partition": "compute_partition accelerator_partition memory_partition",
}
_PLACE = {name: (heading, name) for heading, names in _HEADING.items() for name in names.split()} | {
    "gpu_bdf": ("bus", "bdf"),
    "vram_size": ("vram", "size"),
    "numa_node": ("numa", "node"),
    "numa_affinity": ("numa", "affinity"),
    "max_power_limit": ("limit", "max_power"),
    "socket_power_limit": ("limit", "socket_power"),
    "edge_temperature": ("temperature", "edge_temperature"),
}
_TOP = frozenset(
    (
        "gpu",
        "uuid",
        "gpu_uuid",
        "gfx",
        "power_usage",
        "hotspot_temperature",
        "vram_used",
        "vram_total",
        "partition_id",
    )
)
_INDEX = re.compile(r"^\d{1,4}$")


def read_csv(text: str) -> list[Capture]:
    """One capture per row of a device; tables of processes are passed over."""
    names: list[str] = []
    captures: list[Capture] = []
    for line in text.splitlines():
        cells = csv_cells(line)
        lower = [cell.lower() for cell in cells]
        if "gpu" in lower[:2]:
            names = [] if "pid" in lower else lower
        elif names and cells and _INDEX.match(cells[names.index("gpu")]):
            # Of two columns with one name the first is meant: it was looked at just now.
            row = dict(reversed([*zip(names, cells, strict=False)]))
            captures.append(_row(row, whole=len(cells) == len(names)))
    return captures


def _row(row: Mapping[str, str], *, whole: bool) -> Capture:
    if not whole:
        return Capture((Finding(index=int(row["gpu"]), complaints=tuple(row.values()), damaged=True),))
    return merge(read_entries([_document(row)]))


def _document(row: Mapping[str, str]) -> dict[str, Any]:
    """A row as the document that `--json` would give."""
    tree: dict[str, Any] = {name.removeprefix("gpu_"): value for name, value in row.items() if name in _TOP}
    for name, value in row.items():
        heading, key = _PLACE.get(name, ("other", name))
        if name not in _TOP:
            tree.setdefault(heading, {})[key] = value
    if row.get("name") == "amdgpu" and "version" in row:
        tree.setdefault("driver", {})["version"] = row["version"]
    if "socket_power" in row:  # beside limits it is the limit, elsewhere it is what the socket draws
        heading = "limit" if {"max_power", "max_power_limit"} & set(row) else "power"
        tree.setdefault(heading, {})["socket_power"] = row["socket_power"]
    return tree

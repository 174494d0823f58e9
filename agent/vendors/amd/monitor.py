"""`amd-smi monitor`: one line per device and look, columns by name, every value with its unit beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agent.protocol import Partition
from agent.vendors.base import MOST_ERRORS, to_int
from agent.vendors.reading.findings import Capture, Finding, first_told, known, merge
from agent.vendors.reading.tables import split_pair

_HEAD = re.compile(r"^\s*(?:TIMESTAMP\s+)?GPU(?:\s+[A-Z][A-Z0-9_%]*)+\s*$")
_MEASURED = re.compile(
    r"\b(?:POWER|GPU_T|GPU_TEMP|GFX_UTIL|MEM_UTIL|VRAM_\w+|\w+_ECC|PCIE_BW|(?:GFX|MEM|ENC|DEC)%)"
)
_ROW = re.compile(r"^\s*\d+\s+(?:\d|N/A)")
_CELL = re.compile(r"(-?[\d.]+\s*/\s*[\d.]+|\S+)(?:\s+(W|°C|C|[KMG]Hz|%|[KMGT]i?B|[KMG]b/s)(?=\s|$))?")


def is_row(line: str) -> bool:
    """Whether this may be a device's line."""
    return _ROW.match(line) is not None


def read_monitor(text: str) -> Capture:
    """The last look at each device."""
    columns: list[str] = []
    looks: list[Capture] = []
    for line in text.splitlines():
        if _HEAD.match(line):
            columns = line.split() if _MEASURED.search(line) else []
        elif columns and is_row(line):
            finding = _row(line, columns)
            looks += [Capture((finding,))] if finding else []
        elif line.startswith(("Device ", "GPU")):
            columns = []
    return merge(looks)


def _row(line: str, columns: list[str]) -> Finding | None:
    cells = [" ".join(filter(None, match.groups())) for match in _CELL.finditer(line)]
    found = dict(zip(columns, cells, strict=False))
    index = to_int(found.get("GPU"), low=0, high=1 << 12)
    slice_number = to_int(found.get("XCP"), low=0, high=64)
    if index is None:
        return None
    if len(cells) != len(columns):
        return Finding(index=index, complaints=(line.strip(),), damaged=True)
    used, total = _memory(found)
    power, cap = _pair(found.get("POWER"))
    errors = to_int(found.get("DOUBLE_ECC"), low=0, high=MOST_ERRORS)
    return Finding(
        index=index,
        memory_used=used,
        memory_total=total,
        memory_share=found.get("VRAM%"),
        utilization=first_told(found.get("GFX%"), found.get("GFX_UTIL")),
        temperature=first_told(found.get("GPU_T"), found.get("GPU_TEMP")),
        power=power,
        power_limit=found.get("PWR_CAP", cap),
        uncorrectable=errors,
        complaints=(line.strip(),),
        partitions=(Partition(instance=slice_number),) if slice_number else (),
        tells_memory=False,
    )


def _memory(cells: Mapping[str, str]) -> tuple[str | None, str | None]:
    if "VRAM_USAGE" in cells:
        return _pair(cells["VRAM_USAGE"])
    return cells.get("VRAM_USED"), cells.get("VRAM_TOTAL")


def _pair(cell: str | None) -> tuple[str | None, str | None]:
    return split_pair(cell) if known(cell) else (None, None)

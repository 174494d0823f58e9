"""`nvidia-smi topo -m`: links between GPUs and the CPUs near them, in all its column layouts."""

from __future__ import annotations

import re

from agent.host.files import parse_count, parse_cpu_list
from agent.notices import notice
from agent.protocol import Check, CheckResult, DeviceFacts, DeviceSample, Link, Vendor
from agent.vendors.base import Reading, Readout

_COLUMN = re.compile(r"CPU Affinity|NUMA Affinity|GPU NUMA ID|\S+")
_GPU = re.compile(r"^GPU(\d{1,4})$")
_KIND = re.compile(r"^(NV|PIX|PXB|PHB|NODE|SYS|SOC)(\d{0,3})$")


def looks_like_matrix(captured: str) -> bool:
    """Whether some line is the header of a topology matrix."""
    return any(_is_header(line) for line in captured.splitlines())


def parse_matrix(captured: str) -> Readout:
    """Rows of GPUs only; network cards and legends are passed over, empty cells are unknown."""
    columns: list[str] = []
    readings: list[Reading] = []
    links: list[Link] = []
    for line in captured.splitlines():
        if _is_header(line):
            columns = _COLUMN.findall(line)
        elif columns and (row := _GPU.match(line.split(maxsplit=1)[0] if line.strip() else "")):
            cells = _cells(line, columns)
            links += _links(int(row.group(1)), cells)
            readings.append(_reading(int(row.group(1)), cells))
    warnings = [] if readings else [notice("no-topology")]
    return Readout(vendor=Vendor.NVIDIA, readings=readings, links=links, warnings=warnings)


def _is_header(line: str) -> bool:
    return "CPU Affinity" in line and bool(re.match(r"^\s*GPU\d+\b", line)) and " X " not in f" {line} "


def _cells(line: str, columns: list[str]) -> dict[str, str]:
    if "\t" in line:
        cells = [cell.strip() for cell in line.split("\t")][1:]
    else:
        cells = line.split()[1:]
    return dict(zip(columns, cells, strict=False))


def _links(index: int, cells: dict[str, str]) -> list[Link]:
    found = []
    for column, cell in cells.items():
        other, kind = _GPU.match(column), _KIND.match(cell)
        if other and kind and index < int(other.group(1)):
            name = "SYS" if kind.group(1) == "SOC" else kind.group(1)
            found.append(
                Link(
                    a=index,
                    b=int(other.group(1)),
                    kind=name,
                    lanes=int(kind.group(2)) if kind.group(2) else None,
                )
            )
    return found


def _reading(index: int, cells: dict[str, str]) -> Reading:
    numa = cells.get("NUMA Affinity", "")
    facts = DeviceFacts(
        vendor=Vendor.NVIDIA,
        index=index,
        numa_node=parse_count(numa),
        cpu_affinity=parse_cpu_list(cells.get("CPU Affinity")) or None,
    )
    name = f"{Vendor.NVIDIA}-{index}"
    check = Check(
        device=name,
        result=CheckResult.UNKNOWN,
        code="no-reading",
        evidence="a topology says nothing of health",
    )
    return Reading(facts=facts, sample=DeviceSample(device=name), check=check)

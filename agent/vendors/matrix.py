"""`topo -m` of tools modelled on nvidia-smi: links between devices and the CPUs near them."""

from __future__ import annotations

import re

from agent.protocol import Link
from agent.vendors.findings import Capture, Finding

_DEVICE = re.compile(r"^(?:GPU|MLU)(\d{1,4})$")
_KIND = re.compile(r"^([A-Z]+?)(\d{0,3})$")
_COLUMN = re.compile(r"(?:CPU|NUMA|Node) Affinity|GPU NUMA ID|\S+")


def looks_like_matrix(text: str) -> bool:
    """Whether some line is the header of a matrix."""
    return any(_is_header(line) for line in text.splitlines())


def read_matrix(text: str) -> Capture:
    """Devices and links of the first matrix; rows of network cards, legends and another matrix are passed over."""
    columns: list[str] = []
    findings: list[Finding] = []
    links: list[Link] = []
    for line in text.splitlines():
        if _is_header(line):
            if findings and _COLUMN.findall(line) != columns:
                break
            columns = _COLUMN.findall(line)
            continue
        row = _row(line) if columns else None
        if row is None:
            continue
        index = int(row.group(1))
        cells = dict(zip(columns, _cells(line), strict=False))
        near = [cells.get(name) for name in ("NUMA Affinity", "Node Affinity")]
        findings.append(
            Finding(index=index, numa_node=near[0] or near[1], cpus=_cpu_list(cells.get("CPU Affinity")))
        )
        links += _links(index, cells)
    return Capture(tuple(findings), None, tuple(links))


def is_matrix_row(line: str) -> bool:
    """Whether a line begins with a device of the matrix."""
    return _row(line) is not None


def _row(line: str) -> re.Match[str] | None:
    words = line.split(maxsplit=1)
    return _DEVICE.match(words[0]) if words else None


def _is_header(line: str) -> bool:
    words = line.split()
    if not words or not _DEVICE.match(words[0]) or not {"X", "-"}.isdisjoint(words):
        return False
    return "Affinity" in words or any(_DEVICE.match(word) for word in words[1:])


def _cells(line: str) -> list[str]:
    if "\t" in line:
        return [cell.strip() for cell in line.split("\t")][1:]
    return line.split()[1:]


def _cpu_list(text: str | None) -> str | None:
    return text if text and re.fullmatch(r"[\d,\-]+", text) and any(char.isdigit() for char in text) else None


def _links(index: int, cells: dict[str, str]) -> list[Link]:
    found = []
    for column, cell in cells.items():
        other, kind = _DEVICE.match(column), _KIND.match(cell)
        if other and kind and index < int(other.group(1)) and cell != "X":
            name = "SYS" if kind.group(1) == "SOC" else kind.group(1)
            lanes = int(kind.group(2)) if kind.group(2) else None
            found.append(Link(a=index, b=int(other.group(1)), kind=name, lanes=lanes))
    return found

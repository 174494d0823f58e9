"""`topo -m` of nvidia-smi and of tools modelled on it: rows by the names of their columns, in all layouts; links and
CPUs near a device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent.protocol import Link
from agent.vendors.reading.findings import Capture, Finding

GPU = re.compile(r"^GPU(\d{1,4})$")
_DEVICE = re.compile(r"^(?:GPU|MLU)(\d{1,4})$")
_KIND = re.compile(r"^([A-Z]+?)(\d{0,3})$")
_COLUMN = re.compile(r"(?:CPU|NUMA|Node) Affinity|GPU NUMA ID|\S+")
_LEGEND = re.compile(r"^\s*(?:NIC )?Legend\s*:", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """One device's row of a matrix: its number, and its cells below their columns; empty cells are left out."""

    index: int
    cells: Mapping[str, str]
    columns: tuple[str, ...]
    line: str


def is_header(line: str, device: re.Pattern[str] = _DEVICE) -> bool:
    """Whether this names the columns of a matrix."""
    words = line.split()
    if not words or not device.match(words[0]) or not {"X", "-"}.isdisjoint(words):
        return False
    return "Affinity" in words or all(device.match(word) for word in words[:2])


def read_rows(text: str, device: re.Pattern[str] = _DEVICE) -> Iterator[Row]:
    """Rows of devices, of several matrices together; rows of network cards and legends are passed over."""
    header, tabbed = "", False
    for line in text.splitlines():
        row = device.match(line.split(maxsplit=1)[0]) if line.strip() else None
        if _LEGEND.match(line):
            header = ""
        elif row and is_header(line, device):
            header, tabbed = line, "\t" in line.strip()
        elif row and header:
            columns = tuple(_COLUMN.findall(header))
            yield Row(int(row.group(1)), _cells(line, header, tabbed=tabbed), columns, line)


def links_of(
    row: Row, *, kinds: re.Pattern[str] = _KIND, device: re.Pattern[str] = _DEVICE
) -> dict[tuple[int, int], Link]:
    """The row's links to other devices, the lower number first."""
    found = {}
    for column, cell in row.cells.items():
        other, kind = device.match(column), kinds.match(cell)
        if not other or not kind or cell == "X" or int(other.group(1)) == row.index:
            continue
        a, b = sorted((row.index, int(other.group(1))))
        name = "SYS" if kind.group(1) == "SOC" else kind.group(1)
        found[a, b] = Link(a=a, b=b, kind=name, lanes=int(kind.group(2)) if kind.group(2) else None)
    return found


def looks_like_matrix(text: str) -> bool:
    """Whether some line is the header of a matrix."""
    return any(is_header(line) for line in text.splitlines())


def read_matrix(text: str) -> Capture:
    """Devices and links of the first matrix; another one is of peers or the like."""
    findings: list[Finding] = []
    links: dict[tuple[int, int], Link] = {}
    columns: tuple[str, ...] = ()
    for row in read_rows(text):
        columns = columns or row.columns
        if row.columns != columns:
            break
        near = row.cells.get("NUMA Affinity") or row.cells.get("Node Affinity")
        cpus = _cpu_list(row.cells.get("CPU Affinity"))
        findings.append(Finding(index=row.index, numa_node=near, cpus=cpus))
        links |= links_of(row)
    return Capture(tuple(findings), None, tuple(links.values()))


def is_matrix_row(line: str) -> bool:
    """Whether a line begins with a device of the matrix."""
    return bool(line.strip()) and _DEVICE.match(line.split(maxsplit=1)[0]) is not None


def _cells(line: str, header: str, *, tabbed: bool) -> dict[str, str]:
    columns = _COLUMN.findall(header)
    if tabbed and "\t" in line:
        values = [cell.strip() for cell in line.strip("\n").split("\t")]
        first = next((at for at, cell in enumerate(values) if cell), 0)
        return dict(zip(columns, values[first + 1 :], strict=False))
    words = line.split()[1:]
    if len(words) == len(columns):
        return dict(zip(columns, words, strict=True))
    return _by_place(line.expandtabs(8), header.expandtabs(8))


def _by_place(line: str, header: str) -> dict[str, str]:
    """Cells below their column's heading, where some cells are empty; a long cell may push the next one right."""
    places = [(match.start(), match.group()) for match in _COLUMN.finditer(header)]
    words = [(match.start(), match.group()) for match in re.finditer(r"\S+", line)][1:]
    found: dict[str, str] = {}
    taken = -1
    for start, word in words:
        near = [at for at, (column, _) in enumerate(places) if at > taken and column <= start + 2]
        at = near[-1] if near else taken + 1
        if at >= len(places):
            break
        found[places[at][1]] = word
        taken = at
    return found


def _cpu_list(text: str | None) -> str | None:
    return text if text and re.fullmatch(r"[\d,\-]+", text) and any(char.isdigit() for char in text) else None

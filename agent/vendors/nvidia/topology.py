"""`nvidia-smi topo -m`: links between GPUs and the CPUs near them, in all its column layouts."""

from __future__ import annotations

import re

from agent.host.files import parse_cpu_list
from agent.notices import notice
from agent.protocol import DeviceFacts, DeviceSample, Link, Vendor
from agent.vendors.base import Reading, Readout, device_name, to_int
from agent.vendors.nvidia import states
from agent.vendors.nvidia.look import gap
from agent.vendors.nvidia.merging import Merged

MOST_NODES = 1 << 10
_COLUMN = re.compile(r"CPU Affinity|NUMA Affinity|GPU NUMA ID|\S+")
_GPU = re.compile(r"^GPU(\d{1,4})$")
_KIND = re.compile(r"^(NV|PIX|PXB|PHB|NODE|SYS|SOC)(\d{0,3})$")
_LEGEND = re.compile(r"^\s*(?:NIC )?Legend\s*:", re.IGNORECASE)
_ROW = re.compile(r"^\s*GPU\d{1,4}(?:\s|$)")


def looks_like_matrix(captured: str) -> bool:
    """Whether some line is the header of a topology matrix."""
    return any(_is_header(line) for line in captured.splitlines())


def parse_matrix(captured: str) -> Readout:
    """Rows of GPUs only, of several matrices together; network cards and legends are passed over, empty cells are
    unknown.
    """
    header, tabbed = "", False
    merged, numbers = Merged(), set[int]()
    links: dict[tuple[int, int], Link] = {}
    for line in captured.splitlines():
        if _LEGEND.match(line):
            header = ""
        elif _is_header(line):
            header, tabbed = line, "\t" in line.strip()
        elif header and _ROW.match(line):
            index = int(line.split()[0][3:])
            cells = _cells(line, header, tabbed=tabbed)
            links |= _links(index, cells)
            merged.add(_reading(index, cells, line))
            numbers.add(index)
    known = {pair: link for pair, link in links.items() if set(pair) <= numbers}
    warnings = [] if numbers else [notice("no-topology")]
    return Readout(
        vendor=Vendor.NVIDIA,
        readings=merged.readings(),
        links=[known[pair] for pair in sorted(known)],
        warnings=warnings,
    )


def _is_header(line: str) -> bool:
    if "GPU" not in line:
        return False
    first = line.split()[:1]
    if not first or not _GPU.match(first[0]) or " X " in f" {line.expandtabs(1)} ":
        return False
    return "CPU Affinity" in line or all(_GPU.match(word) or not _KIND.match(word) for word in line.split())


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


def _links(index: int, cells: dict[str, str]) -> dict[tuple[int, int], Link]:
    found = {}
    for column, cell in cells.items():
        other, kind = _GPU.match(column), _KIND.match(cell)
        if not other or not kind or int(other.group(1)) == index:
            continue
        a, b = sorted((index, int(other.group(1))))
        name = "SYS" if kind.group(1) == "SOC" else kind.group(1)
        found[a, b] = Link(a=a, b=b, kind=name, lanes=int(kind.group(2)) if kind.group(2) else None)
    return found


def _node(cells: dict[str, str]) -> int | None:
    """The node of the CPUs near a GPU. Where GPUs' memories are nodes, too, these stand behind it in the list."""
    near = cells.get("NUMA Affinity")
    nodes = (
        parse_cpu_list(near) if to_int(cells.get("GPU NUMA ID"), low=0, high=MOST_NODES) is not None else []
    )
    return to_int(near, low=0, high=MOST_NODES) if len(nodes) < 2 else nodes[0]


def _reading(index: int, cells: dict[str, str], line: str) -> Reading:
    facts = DeviceFacts(
        vendor=Vendor.NVIDIA,
        index=index,
        numa_node=_node(cells),
        cpu_affinity=parse_cpu_list(cells.get("CPU Affinity")) or None,
    )
    name = device_name(facts)
    check = gap(name, "a topology says nothing of health")
    judged = states.judge_text(line)
    if judged:
        check = states.failed(name, judged, line)
    return Reading(facts=facts, sample=DeviceSample(device=name), check=check)

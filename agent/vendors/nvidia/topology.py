"""`nvidia-smi topo -m`: links between GPUs and the CPUs near them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agent.host.files import parse_cpu_list
from agent.notices import notice
from agent.protocol import DeviceFacts, DeviceSample, Link, Vendor
from agent.vendors.base import Reading, Readout, device_name, to_int
from agent.vendors.nvidia import states
from agent.vendors.nvidia.look import gap
from agent.vendors.nvidia.merging import Merged
from agent.vendors.reading.matrix import GPU, Row, is_header, links_of, read_rows

MOST_NODES = 1 << 10
_KIND = re.compile(r"^(NV|PIX|PXB|PHB|NODE|SYS|SOC)(\d{0,3})$")


def looks_like_matrix(captured: str) -> bool:
    """Whether some line is the header of a topology matrix."""
    return any(is_header(line, GPU) for line in captured.splitlines() if "GPU" in line)


def parse_matrix(captured: str) -> Readout:
    """Rows of GPUs only, of several matrices together; empty cells are unknown."""
    merged, numbers = Merged(), set[int]()
    links: dict[tuple[int, int], Link] = {}
    for row in read_rows(captured, GPU):
        links |= links_of(row, kinds=_KIND, device=GPU)
        merged.add(_reading(row))
        numbers.add(row.index)
    known = {pair: link for pair, link in links.items() if set(pair) <= numbers}
    return Readout(
        vendor=Vendor.NVIDIA,
        readings=merged.readings(),
        links=[known[pair] for pair in sorted(known)],
        warnings=[] if numbers else [notice("no-topology")],
    )


def _node(cells: Mapping[str, str]) -> int | None:
    """The node of the CPUs near a GPU. Where GPUs' memories are nodes, too, these stand behind it in the list."""
    near = cells.get("NUMA Affinity")
    nodes = (
        parse_cpu_list(near) if to_int(cells.get("GPU NUMA ID"), low=0, high=MOST_NODES) is not None else []
    )
    return to_int(near, low=0, high=MOST_NODES) if len(nodes) < 2 else nodes[0]


def _reading(row: Row) -> Reading:
    facts = DeviceFacts(
        vendor=Vendor.NVIDIA,
        index=row.index,
        numa_node=_node(row.cells),
        cpu_affinity=parse_cpu_list(row.cells.get("CPU Affinity")) or None,
    )
    name = device_name(facts)
    check = gap(name, "a topology says nothing of health")
    judged = states.judge_text(row.line)
    if judged:
        check = states.failed(name, judged, row.line)
    return Reading(facts=facts, sample=DeviceSample(device=name), check=check)

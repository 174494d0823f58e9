"""NUMA nodes with CPUs, memory and distances, and where PCI devices hang."""

from __future__ import annotations

import re
from pathlib import Path

from agent.host.files import parse_count, parse_cpu_list, read_int, read_text
from agent.protocol import Numa, normal_pci

_TOTAL = re.compile(r"MemTotal:\s+(\d+) kB")


def read_numa(root: Path) -> list[Numa]:
    """All NUMA nodes; nodes without CPUs are legal and memory of accelerators among them is not host memory."""
    folders = sorted(
        (root / "sys/devices/system/node").glob("node[0-9]*"), key=lambda folder: int(folder.name[4:])
    )
    accelerator = _accelerator_nodes(root)
    return [_node(folder, accelerator) for folder in folders]


def pci_numa_node(root: Path, bus_id: str) -> int | None:
    """NUMA node of a PCI device; -1 is the kernel's "unknown"."""
    number = read_int(_pci_folder(root, bus_id) / "numa_node")
    return number if number is not None and number >= 0 else None


def pci_cpus(root: Path, bus_id: str) -> list[int] | None:
    """CPUs near a PCI device; without a NUMA node the kernel lists all of them, which says nothing."""
    if pci_numa_node(root, bus_id) is None:
        return None
    return parse_cpu_list(read_text(_pci_folder(root, bus_id) / "local_cpulist")) or None


def _node(folder: Path, accelerator: set[int]) -> Numa:
    number = int(folder.name[4:])
    total = _TOTAL.search(read_text(folder / "meminfo") or "")
    memory_mib = int(total.group(1)) // 1024 if total and number not in accelerator else None
    distances = (read_text(folder / "distance") or "").split()
    return Numa(
        id=number,
        cpus=parse_cpu_list(read_text(folder / "cpulist")),
        memory_mib=memory_mib,
        distances=[count for count in map(parse_count, distances) if count is not None],
    )


def _accelerator_nodes(root: Path) -> set[int]:
    nodes = set()
    for status in (root / "proc/driver/nvidia/gpus").glob("*/numa_status"):
        match = re.search(r"^Node:\s+(\d+)", read_text(status) or "", re.MULTILINE)
        if match:
            nodes.add(int(match.group(1)))
    return nodes


def _pci_folder(root: Path, bus_id: str) -> Path:
    return root / "sys/bus/pci/devices" / (normal_pci(bus_id) or "none")

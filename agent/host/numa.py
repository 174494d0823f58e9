"""NUMA nodes with CPUs, memory and distances, and where PCI devices hang."""

from __future__ import annotations

import re
from pathlib import Path

from agent.host.files import parse_count, parse_cpu_list, read_int, read_text
from agent.protocol import Numa, normal_pci

_TOTAL = re.compile(r"MemTotal:\s+(\d+) kB")


def read_numa(root: Path) -> list[Numa]:
    """All NUMA nodes with the CPUs that work; nodes without CPUs are legal and memory of accelerators among them is not
    host memory.
    """
    folders = sorted(
        (root / "sys/devices/system/node").glob("node[0-9]*"), key=lambda folder: int(folder.name[4:])
    )
    accelerator = _accelerator_nodes(root)
    online = parse_cpu_list(read_text(root / "sys/devices/system/cpu/online"))
    return [_node(folder, accelerator, online) for folder in folders]


def memory_beside_accelerators_mib(root: Path) -> int | None:
    """Memory of the NUMA nodes that are no accelerator's; None where no accelerator has a node, so that the kernel's
    total holds.
    """
    nodes = read_numa(root)
    sizes = [node.memory_mib for node in nodes if node.id not in _accelerator_nodes(root)]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(sizes) < len(nodes) and len(known) == len(sizes) else None


def pci_numa_node(root: Path, bus_id: str) -> int | None:
    """NUMA node of a PCI device; -1 is the kernel's "unknown"."""
    number = read_int(_pci_folder(root, bus_id) / "numa_node")
    return number if number is not None and number >= 0 else None


def pci_cpus(root: Path, bus_id: str) -> list[int] | None:
    """CPUs near a PCI device; without a NUMA node the kernel lists all of them, which says nothing."""
    if pci_numa_node(root, bus_id) is None:
        return None
    return parse_cpu_list(read_text(_pci_folder(root, bus_id) / "local_cpulist")) or None


def _node(folder: Path, accelerator: set[int], online: list[int]) -> Numa:
    number = int(folder.name[4:])
    distances = (read_text(folder / "distance") or "").split()
    cpus = parse_cpu_list(read_text(folder / "cpulist"))
    return Numa(
        id=number,
        cpus=[cpu for cpu in cpus if cpu in online] if online else cpus,
        memory_mib=None if number in accelerator else _total_mib(folder),
        distances=[count for count in map(parse_count, distances) if count is not None],
    )


def _total_mib(folder: Path) -> int | None:
    total = _TOTAL.search(read_text(folder / "meminfo") or "")
    return int(total.group(1)) // 1024 if total else None


def _accelerator_nodes(root: Path) -> set[int]:
    nodes = set()
    for status in (root / "proc/driver/nvidia/gpus").glob("*/numa_status"):
        match = re.search(r"^Node:\s+(\d+)", read_text(status) or "", re.MULTILINE)
        if match:
            nodes.add(int(match.group(1)))
    return nodes


def _pci_folder(root: Path, bus_id: str) -> Path:
    return root / "sys/bus/pci/devices" / (normal_pci(bus_id) or "none")

"""Trees of /sys of odd machines, written for the purpose: cores, NUMA nodes and memory come out right."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agent.host import cpus, memory, numa
from agent.protocol import Cpu

CPUS, NODES = "sys/devices/system/cpu", "sys/devices/system/node"


def write(root: Path, files: Mapping[str, object]) -> Path:
    for name, value in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    return root


def cpu(number: int, *, core: int, socket: int, siblings: str, khz: int | None = None) -> dict[str, object]:
    folder = f"{CPUS}/cpu{number}"
    told: dict[str, object] = {
        f"{folder}/topology/core_id": core,
        f"{folder}/topology/physical_package_id": socket,
        f"{folder}/topology/thread_siblings_list": siblings,
    }
    return told if khz is None else told | {f"{folder}/cpufreq/cpuinfo_max_freq": khz}


def node(number: int, cpulist: str, gib: int, distance: str = "10") -> dict[str, object]:
    folder = f"{NODES}/node{number}"
    return {
        f"{folder}/cpulist": cpulist,
        f"{folder}/distance": distance,
        f"{folder}/meminfo": f"Node {number} MemTotal:       {gib << 20} kB",
    }


def places(found: list[Cpu]) -> list[tuple[int, int]]:
    return [(each.socket, each.core) for each in found]


def test_siblings_of_two_sockets_with_equal_core_numbers(tmp_path: Path) -> None:
    root = write(tmp_path, {f"{CPUS}/present": "0-7", f"{CPUS}/online": "0-7"})
    for number in range(8):
        first = number % 4
        write(root, cpu(number, core=first % 2, socket=first // 2, siblings=f"{first},{first + 4}"))
    assert places(cpus.read_cpus(root)) == [(0, 0), (0, 1), (1, 0), (1, 1)] * 2


def test_core_numbers_that_start_again_in_every_cluster_make_no_siblings(tmp_path: Path) -> None:
    root = write(tmp_path, {f"{CPUS}/present": "0-5", f"{CPUS}/online": "0-5"})
    for number, core, khz in (
        (0, 0, 1800),
        (1, 1, 1800),
        (2, 2, 1800),
        (3, 0, 2400),
        (4, 1, 2400),
        (5, 0, 3000),
    ):
        write(root, cpu(number, core=core, socket=0, siblings=str(number), khz=khz * 1000))
    found = cpus.read_cpus(root)
    assert len(set(places(found))) == 6
    assert [each.max_mhz for each in found] == [1800, 1800, 1800, 2400, 2400, 3000]


def test_fast_and_small_cores_keep_their_threads_and_frequencies(tmp_path: Path) -> None:
    root = write(tmp_path, {f"{CPUS}/present": "0-3", f"{CPUS}/online": "0-3"})
    write(root, cpu(0, core=0, socket=0, siblings="0-1", khz=5400000))
    write(root, cpu(1, core=0, socket=0, siblings="0-1", khz=5400000))
    write(root, cpu(2, core=8, socket=0, siblings="2", khz=3900000))
    write(root, cpu(3, core=9, socket=0, siblings="3", khz=3900000))
    found = cpus.read_cpus(root)
    assert [(each.core, each.max_mhz) for each in found] == [(0, 5400), (0, 5400), (8, 3900), (9, 3900)]


def test_an_offline_cpu_is_nobodys_sibling_and_in_no_nodes_list(tmp_path: Path) -> None:
    root = write(tmp_path, {f"{CPUS}/present": "0-3", f"{CPUS}/online": "0,2"})
    write(root, cpu(0, core=0, socket=0, siblings="0"))
    write(root, cpu(2, core=3, socket=0, siblings="2"))
    write(root, node(0, "0-3", 16))
    found = cpus.read_cpus(root)
    assert [(each.id, each.online) for each in found] == [(0, True), (1, False), (2, True), (3, False)]
    assert len(set(places(found))) == 4
    assert [each.cpus for each in numa.read_numa(root)] == [[0, 2]]


def test_memory_of_accelerators_is_none_of_the_hosts(tmp_path: Path) -> None:
    root = write(tmp_path, {f"{CPUS}/present": "0-3", f"{CPUS}/online": "0-3"})
    write(root, node(0, "0-1", 128, "10 40 80 80") | node(8, "2-3", 128, "40 10 80 80"))
    write(root, node(252, "", 16, "80 80 10 80") | node(253, "", 16, "80 80 80 10"))
    for slot, number in (("0004:04:00.0", 252), ("0035:03:00.0", 253)):
        write(
            root, {f"proc/driver/nvidia/gpus/{slot}/numa_status": f"Node:      {number}\nStatus:    online"}
        )
    write(root, {"proc/meminfo": f"MemTotal:       {288 << 20} kB"})
    found = numa.read_numa(root)
    assert [(each.id, each.cpus, each.memory_mib) for each in found] == [
        (0, [0, 1], 131072),
        (8, [2, 3], 131072),
        (252, [], None),
        (253, [], None),
    ]
    assert found[0].distances == [10, 40, 80, 80]
    assert memory.memory_mib(root) == 256 * 1024


def test_far_memory_has_a_size_and_no_cpus_and_a_node_may_have_no_memory(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        node(0, "0-3", 0, "10 21 17") | node(1, "4-7", 64, "21 10 28") | node(2, "", 512, "17 28 10"),
    )
    found = numa.read_numa(root)
    assert [(each.cpus, each.memory_mib) for each in found] == [
        ([0, 1, 2, 3], 0),
        ([4, 5, 6, 7], 65536),
        ([], 524288),
    ]


def test_two_sockets_on_one_node_stay_two_sockets_on_one_node(tmp_path: Path) -> None:
    root = write(tmp_path, {f"{CPUS}/present": "0-1", f"{CPUS}/online": "0-1"} | node(0, "0-1", 32))
    write(root, cpu(0, core=0, socket=0, siblings="0") | cpu(1, core=0, socket=1, siblings="1"))
    found = cpus.read_cpus(root)
    assert places(found) == [(0, 0), (1, 0)] and [each.numa for each in found] == [0, 0]


def test_a_slot_without_a_node_prefers_none(tmp_path: Path) -> None:
    slot = "sys/bus/pci/devices/0000:c1:00.0"
    root = write(tmp_path, {f"{slot}/numa_node": -1, f"{slot}/local_cpulist": "0-63"})
    assert (numa.pci_numa_node(root, "C1:00.0"), numa.pci_cpus(root, "C1:00.0")) == (None, None)
    write(root, {f"{slot}/numa_node": 0})
    assert (numa.pci_numa_node(root, "C1:00.0"), numa.pci_cpus(root, "C1:00.0")) == (0, list(range(64)))

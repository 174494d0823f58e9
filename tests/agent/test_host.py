"""What a machine is, read from trees written for the purpose."""

import json
from pathlib import Path

import pytest

from agent.host import cpus, files, machine, memory, mounts, numa, runtimes
from agent.protocol import normal_pci


def write(root: Path, path: str, text: str) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two NUMA nodes with two SMT cores each; CPU 5 is offline, node 9 is the memory of an accelerator."""
    base = "sys/devices/system"
    write(tmp_path, f"{base}/cpu/present", "0-7\n")
    write(tmp_path, f"{base}/cpu/online", "0-4,6-7\n")
    for cpu in range(8):
        write(tmp_path, f"{base}/cpu/cpu{cpu}/topology/core_id", f"{cpu % 2}\n")
        write(tmp_path, f"{base}/cpu/cpu{cpu}/topology/physical_package_id", f"{cpu % 4 // 2}\n")
    write(tmp_path, f"{base}/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3500000\n")
    write(tmp_path, f"{base}/cpu/cpu1/cpufreq/cpuinfo_max_freq", "0\n")
    for number, cpu_list, kib in ((0, "0-1,4-5", 16 << 20), (1, "2-3,6-7", 16 << 20), (9, "", 32 << 20)):
        write(tmp_path, f"{base}/node/node{number}/cpulist", f"{cpu_list}\n")
        write(tmp_path, f"{base}/node/node{number}/meminfo", f"Node {number} MemTotal:       {kib} kB\n")
        write(tmp_path, f"{base}/node/node{number}/distance", "10 21 80\n")
    write(tmp_path, "proc/driver/nvidia/gpus/0004:04:00.0/numa_status", "Node:      9\nStatus:    online\n")
    write(tmp_path, "proc/cpuinfo", "processor\t: 0\nmodel name\t: Imaginary CPU 3000\n")
    write(tmp_path, "proc/meminfo", "MemTotal:       33554432 kB\nMemAvailable:   16777216 kB\n")
    write(tmp_path, "sys/bus/pci/devices/0000:3b:00.0/numa_node", "1\n")
    write(tmp_path, "sys/bus/pci/devices/0000:3b:00.0/local_cpulist", "2-3,6-7\n")
    write(tmp_path, "sys/bus/pci/devices/0000:3c:00.0/numa_node", "-1\n")
    write(tmp_path, "sys/bus/pci/devices/0000:3c:00.0/local_cpulist", "0-7\n")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-2,5", [0, 1, 2, 5]),
        ("", []),
        (None, []),
        ("7\n", [7]),
        ("3-1", []),
        ("x,1-,2", [2]),
        ("0-99999999999", []),
    ],
)
def test_cpu_lists(text: str | None, expected: list[int]) -> None:
    assert files.parse_cpu_list(text) == expected


def test_cpus_know_their_core_socket_and_numa_node(root: Path) -> None:
    found = cpus.read_cpus(root)
    assert [(cpu.core, cpu.socket, cpu.numa) for cpu in found[:4]] == [
        (0, 0, 0),
        (1, 0, 0),
        (0, 1, 1),
        (1, 1, 1),
    ]
    assert [cpu.id for cpu in found if not cpu.online] == [5]


def test_an_unknown_frequency_is_null(root: Path) -> None:
    assert [cpu.max_mhz for cpu in cpus.read_cpus(root)[:3]] == [3500, None, None]


def test_cpus_we_may_not_use_are_offered_as_not_online(root: Path) -> None:
    assert [cpu.id for cpu in cpus.read_cpus(root, allowed={0, 1, 5}) if cpu.online] == [0, 1]


def test_memory_of_accelerators_is_not_host_memory(root: Path) -> None:
    nodes = numa.read_numa(root)
    assert [(node.id, node.memory_mib, len(node.cpus)) for node in nodes] == [
        (0, 16384, 3),
        (1, 16384, 4),
        (9, None, 0),
    ]
    assert nodes[0].distances == [10, 21, 80]


def test_minus_one_is_no_numa_node_and_no_affinity(root: Path) -> None:
    assert (numa.pci_numa_node(root, "00000000:3B:00.0"), numa.pci_cpus(root, "3b:00.0")) == (1, [2, 3, 6, 7])
    assert (numa.pci_numa_node(root, "0000:3c:00.0"), numa.pci_cpus(root, "0000:3c:00.0")) == (None, None)
    assert numa.pci_numa_node(root, "0000:ff:00.0") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("3B:00.1", "0000:3b:00.1"),
        ("00010000:01:00.0", "10000:01:00.0"),
        ("pci:3B:00.1", "0000:3b:00.1"),
        ("GPU-1", None),
        ("", None),
    ],
)
def test_bus_ids_have_one_spelling(text: str, expected: str | None) -> None:
    assert normal_pci(text) == expected


def test_a_cgroup_limits_the_memory_on_offer(root: Path) -> None:
    assert memory.memory_mib(root) == 32768
    write(root, "proc/self/cgroup", "0::/system.slice/agent.service\n")
    write(root, "sys/fs/cgroup/system.slice/agent.service/memory.max", "max\n")
    assert memory.memory_mib(root) == 32768
    write(root, "sys/fs/cgroup/system.slice/memory.max", str(8 << 30))
    assert memory.memory_mib(root) == 8192


def test_use_is_unknown_until_time_has_passed(root: Path) -> None:
    write(root, "proc/stat", "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1\ncpu1 1\n")
    meter = memory.UsageMeter(root)
    assert meter.sample().cpu_used_milli is None
    write(root, "proc/stat", "cpu  150 0 150 900 0 0 0 0 0 0\ncpu0 1\ncpu1 1\n")
    sample = meter.sample()
    assert (sample.cpu_used_milli, sample.memory_used_mib, sample.load1_milli) == (1000, 16384, None)


def test_mounts_leave_out_what_only_the_kernel_needs(root: Path) -> None:
    lines = [
        "proc /proc proc rw 0 0",
        "overlay / overlay rw 0 0",
        "nas:/data /mnt/da\\040ta nfs4 rw 0 0",
        "broken",
    ]
    write(root, "proc/self/mounts", "\n".join(lines))
    assert [(m.path, m.fs_type, m.total_mib) for m in mounts.read_mounts(root)] == [
        ("/", "overlay", None),
        ("/mnt/da ta", "nfs4", None),
    ]


def test_the_machine_id_falls_back_to_the_board_and_then_to_a_kept_one(tmp_path: Path) -> None:
    state = tmp_path / "state"
    made_up = machine.machine_id(tmp_path, state)
    assert machine.machine_id(tmp_path, state) == made_up and len(made_up) == 32
    write(tmp_path, "sys/class/dmi/id/product_uuid", "00000000-0000-0000-0000-000000000000\n")
    assert machine.machine_id(tmp_path, state) == made_up
    write(tmp_path, "sys/class/dmi/id/product_uuid", "4C4C4544-0000-0000-0000-000000000001\n")
    board = machine.machine_id(tmp_path, state)
    assert board != made_up
    write(tmp_path, "etc/machine-id", "uninitialized\n")
    assert machine.machine_id(tmp_path, state) == board
    write(tmp_path, "etc/machine-id", "A" * 32)
    assert machine.machine_id(tmp_path, state) == "a" * 32


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("podman version 4.3.1\n", "4.3.1"),
        ("Docker version 28.2.2, build abc", "28.2.2"),
        ("containerd github.com/containerd/containerd 1.6.20~ds1 x", "1.6.20~ds1"),
        ("command not found", None),
    ],
)
def test_runtime_versions(text: str, version: str | None) -> None:
    assert runtimes.parse_version(text) == version


def test_this_machine_can_be_read() -> None:
    here = Path("/")
    found = cpus.read_cpus(here, allowed=cpus.allowed_cpus())
    assert {cpu.id for cpu in found if cpu.online} == cpus.allowed_cpus()
    assert memory.memory_mib(here) and machine.boot_id(here) != "unknown" and machine.kernel(here)
    assert json.dumps([mount.path for mount in mounts.read_mounts(here)])


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/loadavg").write_text("inf 1 1 1/2 3\n")
    (tmp_path / "proc/meminfo").write_text("MemTotal: \u00b2\u00b3 kB\n")
    assert memory.memory_mib(tmp_path) is None and memory.memory_mib(tmp_path / "none") is None
    assert memory.UsageMeter(tmp_path).sample().load1_milli is None
    assert files.parse_cpu_list("\u00b2,1-\u0663,4") == [4]

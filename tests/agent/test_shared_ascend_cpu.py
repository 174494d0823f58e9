"""Real captures of npu-smi, lscpu, numactl and /sys: what the index beside them says must come out, a test a line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent.captures import decode
from agent.vendors import PARSERS
from agent.vendors.base import document

SHARED = Path(os.environ.get("HEADRACE_SHARED") or Path(__file__).resolve().parents[3] / "shared")
pytestmark = pytest.mark.shared_data
Rows = list[tuple[Any, ...]]


def said(vendor: str, name: str) -> dict[str, Any]:
    text = decode((SHARED / "data/probes" / vendor / name).read_bytes()).text
    return document(PARSERS[vendor](text))


def devices(name: str, *fields: str) -> Rows:
    return [tuple(device[field] for field in fields) for device in said("ascend", name)["devices"]]


def threads(name: str, *fields: str) -> Rows:
    return [tuple(cpu[field] for field in fields) for cpu in said("cpu", name)["cpus"]]


def nodes(name: str, *fields: str) -> Rows:
    return [tuple(node[field] for field in fields) for node in said("cpu", name)["numa"]]


def online(name: str) -> list[int]:
    return [number for number, works in threads(name, "id", "online") if works]


def cores(name: str) -> int:
    return len({(socket, core) for socket, core in threads(name, "socket", "core") if core is not None})


def test_910b3x8_info() -> None:
    found = devices("910b3x8-info.txt", "index", "memory_total_mib", "health")
    assert found == [(index, 65536, "healthy") for index in range(8)]
    figures = devices("910b3x8-info.txt", "memory_used_mib", "power_w", "temperature_c", "pci_bus_id")
    assert all(3314 <= used <= 3318 for used, *_ in figures)
    assert {min(power for _, power, *_ in figures), max(power for _, power, *_ in figures)} == {92.0, 103.8}
    assert {temperature for _, _, temperature, _ in figures} <= set(range(39, 46))
    assert [bus[5:7] for *_, bus in figures] == ["c1", "c2", "81", "82", "01", "02", "41", "42"]


def test_910b3x8_topo() -> None:
    links = said("ascend", "910b3x8-topo.txt")["links"]
    assert len(links) == 28 and {link["kind"] for link in links} == {"HCCS"}
    firsts = [cpus[0] for (cpus,) in devices("910b3x8-topo.txt", "cpu_affinity")]
    assert firsts == [144, 144, 96, 96, 0, 0, 48, 48]


def test_910a_two_memories() -> None:
    found = devices("910a-two-memories.txt", "memory_total_mib", "memory_used_mib", "power_w", "health")
    assert found == [(32768, 1365, 70.0, "healthy"), (32768, 4, 66.9, "healthy")]


def test_310_single_no_hbm() -> None:
    fields = ("index", "memory_total_mib", "memory_used_mib", "power_w", "temperature_c", "processes")
    assert devices("310-single-no-hbm.txt", *fields) == [(0, 7759, 577, 12.8, 61, [])]


def test_310p3_npu6_power_na() -> None:
    fields = ("index", "power_w", "memory_used_mib", "memory_total_mib", "temperature_c", "health")
    assert devices("310p3-npu6-power-na.txt", *fields) == [(6, None, 1839, 21525, 50, "healthy")]


def test_a3_910_dual_die() -> None:
    fields = ("index", "pci_bus_id", "power_w", "memory_used_mib", "memory_total_mib", "health")
    assert devices("a3-910-dual-die-2cards-head.txt", *fields) == [
        (0, "0000:9d:00.0", 163.6, 3180, 65536, "healthy"),
        (1, "0000:9f:00.0", None, 2896, 65536, "healthy"),
    ]


def test_910b_info_common() -> None:
    fields = (
        "index",
        "memory_used_pct",
        "memory_used_mib",
        "utilization_pct",
        "temperature_c",
        "power_w",
        "health",
    )
    assert devices("910b-info-common.txt", *fields) == [(1, 91, None, 6, 46, 130.4, "unknown")]
    text = decode((SHARED / "data/probes/ascend/910b-info-common.txt").read_bytes()).text
    assert [reading.facts.compute_units for reading in PARSERS["ascend"](text).readings] == [20]


def test_epyc7451_8numa_smt() -> None:
    name = "lscpu-epyc7451-8numa-smt.txt"
    assert (said("cpu", name)["sockets"], len(online(name)), cores(name)) == (2, 96, 48)
    assert len(nodes(name, "id")) == 8
    assert nodes(name, "cpus")[0] == ([*range(6), *range(48, 54)],)
    assert threads(name, "core", "socket", "numa")[0] == threads(name, "core", "socket", "numa")[48]


def test_power7_empty_node1() -> None:
    name = "lscpu-power7-empty-node1.txt"
    assert nodes(name, "id", "cpus") == [(0, list(range(64))), (1, [])]
    assert (said("cpu", name)["sockets"], cores(name)) == (16, 16)


def test_s390_offline_cpus() -> None:
    name = "lscpu-s390-offline-cpus.txt"
    assert online(name) == [*range(1, 6), *range(8, 20)] and len(threads(name, "id")) == 20
    assert nodes(name, "id") == [] and said("cpu", name)["cpu_model"] is None


def test_arm_4_core_types() -> None:
    name = "lscpu-arm-4-core-types.txt"
    assert [mhz for (mhz,) in threads(name, "max_mhz")] == [2016] * 3 + [2803] * 4 + [3187]
    model = said("cpu", name)["cpu_model"]
    assert all(part in model for part in ("A510", "A710", "A715", "X3")) and cores(name) == 8
    assert nodes(name, "id") == []


def test_i7_1370p_hybrid() -> None:
    assert (cores("lscpu-i7-1370p-hybrid.txt"), len(online("lscpu-i7-1370p-hybrid.txt"))) == (14, 20)
    assert {mhz for (mhz,) in threads("lscpu-i7-1370p-hybrid.txt", "max_mhz")} == {None}
    found = threads("sysfs-i7-1370p-core-freqs.txt", "core", "max_mhz")
    assert {mhz for _, mhz in found[:12]} == {5000, 5200} and {mhz for _, mhz in found[12:]} == {3900}
    assert [core for core, _ in found] == [core for (core,) in threads("lscpu-i7-1370p-hybrid.txt", "core")]


def test_power9_gpu_memory_nodes() -> None:
    name = "lscpu-power9-gpu-memory-nodes.txt"
    assert [number for (number,) in nodes(name, "id")] == [0, 8, *range(250, 256)]
    assert [cpus for (cpus,) in nodes(name, "cpus")[2:]] == [[]] * 6
    assert online(name) == [*range(16), *range(88, 104)]
    listing = nodes("sysfs-power9-gpu-nodes.txt", "memory_mib", "distances")
    assert [memory for memory, _ in listing] == [126796, 130812] + [None] * 6
    assert listing[0][1] == [10, 40] + [80] * 6


def test_xeon4316_2numa_smt() -> None:
    name = "lscpu-xeon4316-2numa-smt.txt"
    assert nodes(name, "cpus")[0] == ([*range(20), *range(40, 60)],)
    core = [core for (core,) in threads(name, "core")]
    assert core[:40] == core[40:] == list(range(40))


def test_xeon8163_1numa_2sockets() -> None:
    name = "lscpu-xeon8163-1numa-2sockets.txt"
    assert said("cpu", name)["sockets"] == 2 and nodes(name, "id", "cpus") == [(0, list(range(96)))]


def test_e5_2630_36_offline_threads0() -> None:
    name = "lscpu-e5-2630-36-offline-threads0.txt"
    assert nodes(name, "id", "cpus") == [(0, [0, 2]), (1, [1, 3])]
    assert online(name) == [0, 1, 2, 3] and len(threads(name, "id")) == 40


def test_kunpeng920_4nodes() -> None:
    name = "numactl-kunpeng920-4nodes.txt"
    distances = [found for (found,) in nodes(name, "distances")]
    assert distances == [[10, 12, 20, 22], [12, 10, 22, 24], [20, 22, 10, 12], [22, 24, 12, 10]]
    assert len(threads(name, "id")) == 96 and len(distances) == 4
    assert min((distance, other) for other, distance in enumerate(distances[1]) if other != 1) == (12, 0)


def test_epyc7401_8nodes_2_with_memory() -> None:
    name = "numactl-epyc7401-8nodes-2-with-memory.txt"
    assert [memory for (memory,) in nodes(name, "memory_mib")] == [0, 31584, 0, 0, 0, 32214, 0, 0]
    assert said("cpu", name)["memory_mib"] == 63798
    assert nodes(name, "cpus", "distances")[1] == ([*range(2, 91, 8)], [])


def test_pmem_memory_only_nodes() -> None:
    name = "numactl-pmem-memory-only-nodes.txt"
    assert [cpus for (cpus,) in nodes(name, "cpus")[2:]] == [[], []]
    assert said("cpu", name)["memory_mib"] == 384126


def test_pci_numa_node_minus1() -> None:
    found = said("cpu", "sysfs-pci-numa-node-minus1.txt")["devices"]
    told = [device["pci_bus_id"] for device in found if device["numa_node"] is not None]
    assert len(found) == 37 and told == ["0000:43:00.0"]
    assert {device["cpu_affinity"] is None for device in found if device["numa_node"] is None} == {True}

"""Real captured outputs of NVIDIA's tools: what the index beside them says must come out, a test per line."""

import os
from pathlib import Path
from typing import Any

import pytest

from agent.protocol import Link
from agent.vendors.base import Readout, document
from agent.vendors.nvidia import NvidiaProbe

SHARED = Path(os.environ.get("HEADRACE_SHARED") or Path(__file__).resolve().parents[3] / "shared")
pytestmark = pytest.mark.shared_data
FIGURES = ("memory_total_mib", "memory_used_mib", "memory_reserved_mib", "temperature_c", "power_w")


def readout(name: str) -> Readout:
    return NvidiaProbe.parse((SHARED / "data/probes/nvidia" / name).read_text(errors="replace"))


def devices(name: str) -> list[dict[str, Any]]:
    found = document(readout(name))["devices"]
    assert isinstance(found, list)
    return found


def only(name: str) -> dict[str, Any]:
    (device,) = devices(name)
    return device


def pick(device: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(device[name] for name in names)


def slices(device: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [pick(part, "instance", "memory_total_mib", "memory_used_mib") for part in device["partitions"]]


def warnings(name: str) -> str:
    return str(document(readout(name))["warnings"])


def test_a100_40g_mig_2x3g() -> None:
    device = only("a100-40g-mig-2x3g.xml")
    assert pick(device, *FIGURES) == (40960, 38, 605, 36, 66.92)
    assert pick(device, "utilization_pct", "ecc", "health") == (None, True, "healthy")
    assert slices(device) == [(1, 19968, 19), (2, 19968, 19)]


def test_a100_80g_mig_4x1g_attached4() -> None:
    device = only("a100-80g-mig-4x1g-attached4.xml")
    assert pick(device, *FIGURES) == (81920, 50, 869, 27, 67.03) and device["index"] == 0
    assert [total for _, total, _ in slices(device)] == [19968] * 4
    assert "3 of 4" in warnings("a100-80g-mig-4x1g-attached4.xml")


def test_tesla_t4_2procs() -> None:
    device = only("tesla-t4-2procs.xml")
    assert pick(device, *FIGURES) == (15360, 1032, 388, 40, 26.78)
    assert pick(device, "ecc", "health") == (True, "healthy") and len(device["processes"]) == 2


def test_gtx1070ti_fragment() -> None:
    device = only("gtx1070ti-fragment.xml")
    assert pick(device, *FIGURES) == (4096, 42, None, 39, None)
    assert readout("gtx1070ti-fragment.xml").driver_version is None


def test_k80x4_minor_out_of_order() -> None:
    found = devices("k80x4-minor-out-of-order.xml")
    assert [device["pci_bus_id"][:4] for device in found] == ["1580", "2df7", "4968", "f8d6"]
    assert {pick(device, "memory_total_mib", "ecc", "health") for device in found} == {
        (11441, True, "healthy")
    }
    assert sorted(device["utilization_pct"] for device in found) == [0, 0, 99, 99]
    assert [device["index"] for device in found] == [0, 1, 2, 3]


def test_gt730_outdated() -> None:
    device = only("gt730-outdated.xml")
    assert pick(device, *FIGURES, "ecc", "health") == (None, None, None, None, None, None, "unknown")


def test_rtx3060_drv570() -> None:
    device = only("rtx3060-drv570.xml")
    assert pick(device, *FIGURES) == (12288, 116, 368, 42, 11.63)
    assert pick(device, "ecc", "health") == (None, "healthy")


def test_rtxpro6000_drv580_fragment() -> None:
    assert only("rtxpro6000-drv580-fragment.xml")["power_w"] == 66.84


def test_h100_mig_load_table() -> None:
    device = only("h100-mig-load-table.txt")
    assert pick(device, *FIGURES) == (81559, 11125, None, 52, 432.0)
    assert pick(device, "power_limit_w", "utilization_pct", "ecc") == (700, None, True)
    assert slices(device) == [(2, 40448, 11091), (3, 20096, 17), (9, 9984, 9), (10, 9984, 9)]
    assert [process["memory_used_mib"] for process in device["processes"]] == [2296, 1272, 7484]


def test_h100_mig_load_query() -> None:
    device = only("h100-mig-load-query.csv")
    assert pick(device, *FIGURES) == (81559, 11125, 479, 53, 433.78)
    assert pick(device, "utilization_pct", "health") == (None, "healthy")


def test_h100_mig_list() -> None:
    device = only("h100-mig-list.txt")
    names = [part["name"] for part in device["partitions"]]
    assert names == ["3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"] and device["health"] == "unknown"
    assert len({part["uuid"] for part in device["partitions"]}) == 4


def test_h100_topo_ansi() -> None:
    device = only("h100-topo-ansi.txt")
    assert pick(device, "numa_node", "cpu_affinity") == (0, list(range(20)))


def test_l40s_idle_query() -> None:
    device = only("l40s-idle-query.csv")
    assert pick(device, *FIGURES) == (46068, 0, 609, 63, 144.97)
    assert pick(device, "utilization_pct", "ecc", "health") == (100, True, "healthy")


def test_win_rtx2080s_apps_na() -> None:
    device = only("win-rtx2080s-apps-na.csv")
    assert [process["memory_used_mib"] for process in device["processes"]] == [None] * 5
    assert device["processes"][0]["name"] == r"C:\Windows\System32\dwm.exe"
    assert pick(device, "memory_used_mib", "health") == (None, "unknown")


def test_win_topo_empty_affinity() -> None:
    assert pick(only("win-topo-empty-affinity.txt"), "numa_node", "cpu_affinity") == (None, None)


def test_a40_one_err_table() -> None:
    found = devices("a40-one-err-table.txt")
    assert [device["health"] for device in found] == ["healthy"] * 4 + ["unhealthy"] + ["healthy"] * 3
    assert pick(found[4], "index", "pci_bus_id", "model", "memory_used_mib") == (
        4,
        "0000:83:00.0",
        None,
        None,
    )
    assert found[2]["memory_used_mib"] == 821


def test_a30_err_but_memory_used_rows() -> None:
    found = devices("a30-err-but-memory-used-rows.txt")
    assert [device["health"] for device in found] == ["healthy", "unhealthy", "healthy"]
    assert pick(found[1], "index", "pci_bus_id", "memory_used_mib") == (3, "0000:61:00.0", 23025)


def test_gpu_lost_lines() -> None:
    found = devices("gpu-lost-lines.txt")
    assert {device["pci_bus_id"][5:7] for device in found} == {"05", "24", "34", "cb"}
    assert {device["health"] for device in found} == {"unhealthy"}
    assert "found no devices" in warnings("gpu-lost-lines.txt")


def test_csv_lost_line_mixed_with_data() -> None:
    found = {device["index"]: device for device in devices("csv-lost-line-mixed-with-data.txt")}
    assert pick(found[1], "power_limit_w", "power_w", "health") == (300, 34.61, "healthy")
    assert pick(found[0], "pci_bus_id", "health") == ("0000:24:00.0", "unhealthy")


def test_csv_requires_reset() -> None:
    device = only("csv-requires-reset.csv")
    assert pick(device, "index", "health", "temperature_c") == (0, "unhealthy", None)
    assert pick(device, "utilization_pct", "memory_used_mib") == (None, None)


def test_topo_h20_8gpu_nv18() -> None:
    found = readout("topo-h20-8gpu-nv18.txt")
    assert len(found.links) == 28 and {(link.kind, link.lanes) for link in found.links} == {("NV", 18)}
    assert [reading.facts.numa_node for reading in found.readings] == [0] * 4 + [1] * 4
    near = [*range(48), *range(96, 144)]
    assert found.readings[0].facts.cpu_affinity == near
    assert found.readings[7].facts.cpu_affinity == [cpu for cpu in range(192) if cpu not in near]


def test_topo_a100x4_nv4_nics() -> None:
    found = readout("topo-a100x4-nv4-nics.txt")
    assert len(found.links) == 6 and {(link.kind, link.lanes) for link in found.links} == {("NV", 4)}
    assert {reading.facts.numa_node for reading in found.readings} == {0} and len(found.readings) == 4
    assert found.readings[3].facts.cpu_affinity == list(range(16))


def test_topo_8gpu_old_no_numa_column() -> None:
    found = readout("topo-8gpu-old-no-numa-column.txt")
    assert [(link.a, link.b) for link in found.links if link.kind == "PIX"] == [
        (0, 1),
        (2, 3),
        (4, 5),
        (6, 7),
    ]
    assert Link(0, 7, "SYS") in found.links and Link(4, 6, "PXB") in found.links and len(found.readings) == 8
    assert {reading.facts.numa_node for reading in found.readings} == {None}
    assert [(reading.facts.cpu_affinity or [])[0] for reading in found.readings] == [0] * 4 + [14] * 4


def test_topo_3gpu_numa_na() -> None:
    found = readout("topo-3gpu-numa-na.txt")
    assert found.links == [Link(0, 1, "PIX"), Link(0, 2, "PHB"), Link(1, 2, "PHB")]
    assert {reading.facts.numa_node for reading in found.readings} == {None}


def test_nvlink_status_a100() -> None:
    found = devices("nvlink-status-a100.txt")
    ports = {
        (len(device["ports"]), port["active"], port["mb_s"]) for device in found for port in device["ports"]
    }
    assert len(found) == 8 and ports == {(12, True, 25000)}


def test_xid119_dmesg() -> None:
    device = only("xid119-dmesg.log")
    assert (
        pick(device, "pci_bus_id", "health") == ("0000:9b:00.0", "unhealthy") and len(device["reasons"]) == 1
    )
    assert device["reasons"][0].startswith("xid-119") and device["uuid"].startswith("GPU-")


def test_xid_mixed_lines() -> None:
    found = {device["pci_bus_id"][:7]: device for device in devices("xid-mixed-lines.log")}
    assert {bus: device["health"] for bus, device in found.items()} == {
        "0000:03": "unknown",
        "0000:05": "unhealthy",
        "0000:04": "unknown",
        "0008:01": "unknown",
        "0009:01": "unhealthy",
        "0019:01": "unhealthy",
    }
    assert "Nonfatal" in warnings("xid-mixed-lines.log")
    assert {reason.partition(":")[0] for reason in found["0019:01"]["reasons"]} == {"xid-149", "xid-154"}

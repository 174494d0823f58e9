"""Real captured outputs of seven vendors' tools: what the index beside them says must come out, one test per line."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent.protocol import Link, Vendor
from agent.vendors import PROBES
from agent.vendors.base import Readout, document

SHARED = Path(os.environ.get("HEADRACE_SHARED") or Path(__file__).resolve().parents[3] / "shared")
VENDORS = {"moorethreads": Vendor.MTHREADS}
pytestmark = pytest.mark.shared_data


def text(name: str) -> str:
    return (SHARED / "data/probes" / name).read_text(errors="replace")


def readout(name: str, captured: str | None = None) -> Readout:
    folder = name.partition("/")[0]
    return PROBES[VENDORS.get(folder) or Vendor(folder)].parse(text(name) if captured is None else captured)


def column(found: Readout, *names: str) -> list[Any]:
    devices = document(found)["devices"]
    assert isinstance(devices, list)
    rows = [tuple(device[name] for name in names) for device in devices]
    return [row[0] for row in rows] if len(names) == 1 else rows


def test_mi100x6() -> None:
    found = readout("amd/mi100x6-rocm571.json")
    assert column(found, "memory_total_mib", "memory_used_mib") == [(32752, 6)] * 6
    assert column(found, "uuid") == [None] * 6 and len(set(column(found, "pci_bus_id"))) == 6
    assert set(column(found, "temperature_c")) <= set(range(30, 34)) and set(
        column(found, "power_limit_w")
    ) == {290}
    assert all(35 <= power <= 40 for power in column(found, "power_w"))


def test_rx6700xt_secondary_die() -> None:
    found = readout("amd/rx6700xt-rocm602-secondary-die.json")
    assert column(found, "power_w", "memory_total_mib", "health") == [(None, 12272, "healthy")]


def test_mi50() -> None:
    found = readout("amd/mi50-vega20.json")
    names = ("memory_total_mib", "memory_used_mib", "temperature_c", "power_w", "power_limit_w")
    assert column(found, *names) == [(32752, 10, 36, 26.0, 225)]
    assert Link(0, 1, "PCIE") in found.links


def test_vega20_lower_case_keys() -> None:
    found = readout("amd/vega20x2-lowercase-keys.json")
    assert column(found, "index", "memory_total_mib", "memory_used_mib") == [(1, 16368, 310), (2, 16368, 18)]


def test_lumi_numa_nodes_are_not_in_order() -> None:
    assert column(readout("amd/showtopo-numa-lumi-8gcd.txt"), "numa_node") == [3, 3, 1, 1, 0, 0, 2, 2]


def test_affinity_minus_one_is_no_preference() -> None:
    assert column(readout("amd/showtopo-single-affinity-minus1.txt"), "numa_node", "health") == [
        (None, "unknown")
    ]


@pytest.mark.parametrize("shape", [0, 1, 2])
def test_amd_smi_shapes(shape: int) -> None:
    name = "amd/amdsmi-shapes-shortened.json"
    found = readout(name, json.dumps(json.loads(text(name))[shape]))
    assert column(found, "model", "memory_total_mib", "health") == [("MI300X", 196592, "unknown")]
    assert found.driver_version == ["6.10.5", "6.12.12", None][shape]


def test_mlu370_x4() -> None:
    found = readout("cambricon/mlu370-x4x3-cnmon-4.20.txt")
    assert column(found, "memory_used_mib", "memory_total_mib") == [(0, 23308)] * 3
    assert column(found, "temperature_c", "power_w", "power_limit_w") == [
        (32, 30.0, 150),
        (33, 25.0, 150),
        (30, 26.0, 150),
    ]
    assert column(found, "pci_bus_id", "ecc", "health") == [(None, None, "healthy")] * 3


def test_mlu370_x8() -> None:
    found = readout("cambricon/mlu370-x8x2-cnmon-5.10-head.txt")
    assert column(found, "pci_bus_id", "memory_total_mib", "temperature_c", "power_w") == [
        ("0000:39:00.0", 23374, 32, 106.0),
        ("0000:3d:00.0", 23374, 39, 106.0),
    ]


def test_k100_is_occupied_though_idle() -> None:
    found = readout("hygon/k100ai-8cards-vram90.txt")
    assert column(found, "memory_used_pct") == [91] + [90] * 7 and set(column(found, "utilization_pct")) == {
        0
    }
    assert set(column(found, "memory_used_mib")) == {None} and set(column(found, "power_limit_w")) == {400}
    assert set(column(found, "temperature_c")) == {58, 59, 60, 61}


def test_k100_available_means_total() -> None:
    found = readout("hygon/k100ai-showmemavailable.txt")
    assert column(found, "memory_total_mib", "memory_used_mib", "health") == [(65438, None, "unknown")] * 8


def test_s5000() -> None:
    found = readout("moorethreads/s5000x8.txt")
    assert column(found, "memory_used_mib", "memory_total_mib", "ecc") == [(0, 81920, True)] * 8
    assert column(found, "health") == ["healthy"] * 8 and found.warnings == []


def test_s80_runs_on_a_degraded_link() -> None:
    found = readout("moorethreads/s80-lane4x.txt")
    assert column(found, "memory_used_mib", "memory_total_mib", "temperature_c") == [(2, 16384, 49)]
    assert column(found, "ecc", "power_w", "health") == [(None, None, "healthy")]
    assert [notice.code for notice in found.warnings] == ["link-degraded"]


def test_mr_v100_duo() -> None:
    found = readout("iluvatar/mr-v100-duo.txt")
    assert column(found, "memory_used_mib", "memory_total_mib") == [(68, 32768)] * 2
    assert column(found, "power_w", "power_limit_w", "health") == [
        (None, None, "healthy"),
        (40.0, 350, "healthy"),
    ]


def test_x201() -> None:
    found = readout("metax/ht-smi-x201.txt")
    names = ("memory_used_mib", "memory_total_mib", "power_w", "power_limit_w", "temperature_c", "health")
    assert column(found, *names) == [(858, 65536, 38.0, 350, 44, "healthy")]


def test_n150() -> None:
    found = readout("tenstorrent/n150-single.json")
    assert column(found, "model", "power_w", "temperature_c", "health") == [("n150 L", 12.0, 54, "healthy")]

"""Real captured outputs of NVIDIA's tools: what the index beside them says must come out."""

import os
from pathlib import Path
from typing import Any

import pytest

from agent.notices import sentence
from agent.protocol import Vendor
from agent.vendors.base import Readout, document, with_vendor
from agent.vendors.nvidia import NvidiaProbe

SHARED = Path(os.environ.get("HEADRACE_SHARED") or Path(__file__).resolve().parents[3] / "shared")
pytestmark = pytest.mark.shared_data


def readout(name: str) -> Readout:
    return NvidiaProbe.parse((SHARED / "data/probes/nvidia" / name).read_text(errors="replace"))


def devices(name: str) -> list[dict[str, Any]]:
    found = document(readout(name))["devices"]
    assert isinstance(found, list)
    return found


def pick(device: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(device[name] for name in names)


@pytest.mark.parametrize(
    ("name", "total", "used", "temperature", "power", "health"),
    [
        ("a100-40g-mig-2x3g.xml", 40960, 38, 36, 66.92, "healthy"),
        ("a100-80g-mig-4x1g-attached4.xml", 81920, 50, 27, 67.03, "healthy"),
        ("tesla-t4-2procs.xml", 15360, 1032, 40, 26.78, "healthy"),
        ("gtx1070ti-fragment.xml", 4096, 42, 39, None, "healthy"),
        ("gt730-outdated.xml", None, None, None, None, "unknown"),
        ("rtx3060-drv570.xml", 12288, 116, 42, 11.63, "healthy"),
        ("rtxpro6000-drv580-fragment.xml", None, None, 37, 66.84, "unknown"),
    ],
)
def test_single_cards(
    name: str, total: int | None, used: int | None, temperature: int | None, power: float | None, health: str
) -> None:
    (device,) = devices(name)
    figures = pick(device, "memory_total_mib", "memory_used_mib", "temperature_c", "power_w", "health")
    assert figures == (total, used, temperature, power, health)


def test_partitions_and_missing_cards() -> None:
    (device,) = devices("a100-40g-mig-2x3g.xml")
    parts = [
        (part["instance"], part["memory_total_mib"], part["memory_used_mib"]) for part in device["partitions"]
    ]
    assert parts == [(1, 19968, 19), (2, 19968, 19)] and device["utilization_pct"] is None
    assert "3 of 4" in sentence(
        with_vendor(readout("a100-80g-mig-4x1g-attached4.xml").warnings[0], Vendor.NVIDIA)
    )


def test_four_dies_keep_their_bus_ids() -> None:
    found = devices("k80x4-minor-out-of-order.xml")
    assert [device["pci_bus_id"][:4] for device in found] == ["1580", "2df7", "4968", "f8d6"]
    assert {device["memory_total_mib"] for device in found} == {11441}


def test_lost_cards_are_named() -> None:
    found = devices("gpu-lost-lines.txt")
    assert {device["pci_bus_id"][5:7] for device in found} == {"05", "24", "34", "cb"}
    assert {device["health"] for device in found} == {"unhealthy"}


def test_topologies() -> None:
    h20 = readout("topo-h20-8gpu-nv18.txt")
    assert len(h20.links) == 28 and {(link.kind, link.lanes) for link in h20.links} == {("NV", 18)}
    assert [reading.facts.numa_node for reading in h20.readings] == [0] * 4 + [1] * 4
    old = readout("topo-8gpu-old-no-numa-column.txt")
    assert [(link.a, link.b) for link in old.links if link.kind == "PIX"] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert {reading.facts.numa_node for reading in old.readings} == {None}
    assert len(readout("topo-a100x4-nv4-nics.txt").links) == 6
    (empty,) = readout("win-topo-empty-affinity.txt").readings
    assert (empty.facts.numa_node, empty.facts.cpu_affinity) == (None, None)
    (coloured,) = readout("h100-topo-ansi.txt").readings
    assert (coloured.facts.numa_node, coloured.facts.cpu_affinity) == (0, list(range(20)))

"""Captures as people paste them: masked, of several outputs or hosts in one file, with bars and columns astray."""

from pathlib import Path
from typing import Any

import pytest

from agent.protocol import Link, Vendor
from agent.vendors import PROBES
from agent.vendors.base import Readout, document

SAMPLES = Path(__file__).parent / "samples"
FIGURES = ("index", "pci_bus_id", "memory_used_mib", "memory_total_mib", "utilization_pct", "health")


def readout(*names: str) -> Readout:
    text = "\n".join((SAMPLES / name).read_text() for name in names)
    return PROBES[Vendor(names[0].partition("/")[0])].parse(text)


def rows(found: Readout, *names: str) -> list[tuple[Any, ...]]:
    devices = document(found)["devices"]
    assert isinstance(devices, list)
    return [tuple(device[name] for name in names) for device in devices]


EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "ascend/910b2-masked-bus.txt": [
        (2, None, 50112, 65536, 73, "healthy"),
        (3, None, 3402, 65536, 0, "healthy"),
        (6, None, 3399, 65536, 0, "unhealthy"),
    ],
    "ascend/910b3-one-memory-label.txt": [
        (2, "0000:81:00.0", 28810, 65536, 61, "healthy"),
        (7, "0000:42:00.0", None, None, None, "unknown"),
    ],
    "cambricon/cnmon-then-topo.txt": [
        (0, "0000:27:00.0", 33010, 42396, 77, "healthy"),
        (1, "0000:a3:00.0", 0, 42396, 0, "healthy"),
    ],
    "mthreads/gmi-topo-then-table.txt": [
        (4, "0000:3d:00.0", 2210, 32768, 17, "healthy"),
        (5, "0000:d1:00.0", 3, 32768, 0, "healthy"),
    ],
    "mthreads/xids.log": [
        (None, "0000:3d:00.0", None, None, None, "unhealthy"),
        (None, "0000:d1:00.0", None, None, None, "unknown"),
    ],
    "iluvatar/ixsmi-table-then-topo.txt": [
        (0, "0000:21:00.0", 9120, 32768, 64, "healthy"),
        (1, "0000:41:00.0", 64, 32768, 0, "healthy"),
    ],
    "iluvatar/ixsmi-short-csv-then-topo.txt": [
        (0, None, 9120, None, None, "unknown"),
        (1, None, 64, None, None, "unknown"),
    ],
    "iluvatar/ixsmi-head-cut-then-table.txt": [
        (6, "0000:71:00.0", 9120, 16384, 37, "healthy"),
        (2, "0000:32:00.0", 512, 16384, 12, "healthy"),
    ],
    "ascend/other-host.txt": [(3, "0000:82:00.0", 2870, 32768, 5, "healthy")],
    "iluvatar/ixsmi-q-masked.txt": [
        (0, None, 20480, 32768, 71, "healthy"),
        (1, None, 116, 32768, 0, "healthy"),
    ],
    "metax/mx-smi-list-masked.txt": [
        (0, None, None, None, None, "healthy"),
        (1, None, None, None, None, "unhealthy"),
        (2, "0000:9b:00.0", None, None, None, "healthy"),
    ],
    "metax/mx-smi-show-memory.txt": [
        (0, "0000:3b:00.0", 4096, 65536, 22, "healthy"),
        (1, "0000:5e:00.0", 826, 65536, None, "healthy"),
    ],
    "metax/mx-smi-list-of-two-hosts.txt": [
        (0, "0000:3b:00.0", None, None, None, "healthy"),
        (1, "0000:5e:00.0", None, None, None, "healthy"),
    ],
    "tenstorrent/tt-smi-ls.txt": [
        (0, "0000:41:00.0", None, None, None, "unknown"),
        (1, "0000:c1:00.0", None, None, None, "unknown"),
        (2, None, None, None, None, "unknown"),
    ],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_mixed_capture_says_what_it_says(name: str) -> None:
    assert rows(readout(name), *FIGURES) == EXPECTED[name]


@pytest.mark.parametrize(
    ("name", "link", "nodes", "cpus"),
    [
        ("cambricon/cnmon-then-topo.txt", Link(0, 1, "MLK"), [None, None], 48),
        ("mthreads/gmi-topo-then-table.txt", Link(4, 5, "MT", 4), [0, 1], 64),
        ("iluvatar/ixsmi-table-then-topo.txt", Link(0, 1, "PHB"), [0, 1], 16),
        ("iluvatar/ixsmi-short-csv-then-topo.txt", Link(0, 1, "PHB"), [0, 1], 16),
    ],
)
def test_a_topology_adds_to_what_stands_beside_it(
    name: str, link: Link, nodes: list[int | None], cpus: int
) -> None:
    found = readout(name)
    assert found.links == [link] and [one.facts.numa_node for one in found.readings] == nodes
    assert len(found.readings[0].facts.cpu_affinity or ()) == cpus


@pytest.mark.parametrize(
    "name",
    [
        "ascend/910b2-masked-bus.txt",
        "mthreads/gmi-topo-then-table.txt",
        "iluvatar/ixsmi-table-then-topo.txt",
    ],
)
def test_a_driver_version_that_is_not_told_is_unknown(name: str) -> None:
    assert document(readout(name))["driver_version"] is None


def test_a_topology_of_another_kind_erases_nothing() -> None:
    matrix = (SAMPLES / "iluvatar/ixsmi-topo.txt").read_text()
    other = "\n        GPU0    GPU1\nGPU0    X       OK\nGPU1    OK      X\n"
    found = PROBES[Vendor.ILUVATAR].parse(matrix + other)
    assert [link.kind for link in found.links] == ["PIX", "SYS", "SYS"]
    assert [one.facts.numa_node for one in found.readings] == [0, 0, None]


def test_an_xml_document_and_a_topology_are_of_the_same_devices() -> None:
    found = readout("iluvatar/ixsmi-q.xml", "iluvatar/ixsmi-topo.txt")
    assert rows(found, "index", "memory_used_mib", "numa_node", "health") == [
        (0, 2048, 0, "healthy"),
        (1, None, 0, "unhealthy"),
        (2, None, None, "unknown"),
    ]


TWICE = [
    path
    for vendor in ("ascend", "cambricon", "mthreads", "iluvatar", "metax", "tenstorrent")
    for path in sorted((SAMPLES / vendor).iterdir())
    if path.stem != "ixsmi-q-masked"  # nobody can tell four cards from two that are told of twice
]


@pytest.mark.parametrize("path", TWICE, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_same_output_twice_tells_nothing_else(path: Path) -> None:
    name = f"{path.parent.name}/{path.name}"
    assert document(readout(name, name)) == document(readout(name))


def test_one_number_of_two_hosts_is_two_devices() -> None:
    table = (
        "| 0    Iluvatar MR-V50 | 00000000:{bus}:00.0 | 1000MHz 1200MHz |\n"
        "| 0% 3{heat}C P0 28W / 150W | 64MiB / 16384MiB | 0% Default |\n"
    )
    text = "gpu1:\n" + table.format(bus="32", heat=1) + "gpu2:\n" + table.format(bus="71", heat=2)
    found = PROBES[Vendor.ILUVATAR].parse(text)
    assert rows(found, "index", "pci_bus_id", "temperature_c") == [
        (0, "0000:32:00.0", 31),
        (None, "0000:71:00.0", 32),
    ]


@pytest.mark.parametrize("name", ["iluvatar/ixsmi-q-masked.txt", "metax/mx-smi-list-masked.txt"])
def test_a_masked_identity_is_none(name: str) -> None:
    assert {uuid for (uuid,) in rows(readout(name), "uuid")} == {None}


def test_an_identity_of_several_devices_is_none() -> None:
    lines = "".join(f"GPU {number}: Iluvatar MR-V100 (UUID: GPU-1234)\n" for number in range(2))
    assert rows(PROBES[Vendor.ILUVATAR].parse(lines), "index", "uuid") == [(0, None), (1, None)]


def test_another_hosts_trouble_is_a_warning_and_of_no_device() -> None:
    (warning,) = readout("metax/mx-smi-list-of-two-hosts.txt").warnings
    assert "gpu4" in warning.params["problem"]


def test_chips_of_a_listed_board_are_named_as_in_a_snapshot() -> None:
    found = readout("tenstorrent/tt-smi-ls.txt")
    assert rows(found, "uuid", "model") == [
        ("0000043131924010", "p100a"),
        ("0100014511704077", "n300 L"),
        ("0100014511704077-R", "n300 R"),
    ]
    old = PROBES[Vendor.TENSTORRENT].parse(
        " All available boards on host:\n 0: 1000018511c006f (Wormhole - n150)"
    )
    assert rows(old, "uuid", "model") == [("1000018511c006f", "n150")]


def test_a_snapshot_counts_before_a_list() -> None:
    found = readout("tenstorrent/tt-smi-ls.txt", "tenstorrent/p150-and-n300.json")
    assert rows(found, "uuid") == rows(readout("tenstorrent/p150-and-n300.json"), "uuid")

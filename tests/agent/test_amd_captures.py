"""AMD's and Hygon's tools as people paste them: several outputs in one file, odd forms, what a dead driver prints."""

from pathlib import Path
from typing import Any

import pytest

from agent.protocol import Link, Vendor
from agent.vendors import PARSERS
from agent.vendors.base import Readout, document

SAMPLES = Path(__file__).parent / "samples"


def read(text: str, vendor: Vendor = Vendor.AMD) -> Readout:
    return PARSERS[vendor](text)


def sample(name: str) -> Readout:
    return read((SAMPLES / name).read_text(), Vendor(name.partition("/")[0]))


def column(found: Readout, *names: str) -> list[Any]:
    devices = document(found)["devices"]
    assert isinstance(devices, list)
    rows = [tuple(device[name] for name in names) for device in devices]
    return [row[0] for row in rows] if len(names) == 1 else rows


LIVE = ("index", "utilization_pct", "temperature_c", "power_w", "power_limit_w", "health")
MEMORY = ("index", "memory_used_mib", "memory_total_mib")


@pytest.mark.parametrize(
    ("name", "live", "memory"),
    [
        (
            "amd/amd-smi-monitor-old.txt",
            [
                (0, 97, 66, 391, None, "healthy"),
                (1, None, None, None, None, "unknown"),
                (12, 0, 41, 139, None, "healthy"),
            ],
            [(0, 171008, 196592), (1, None, None), (12, 291, 196592)],
        ),
        (  # the last of two looks, in which one card is gone
            "amd/amd-smi-monitor-new.txt",
            [(0, 93, 61, 322, 750, "healthy"), (1, 0, 44, 97, 750, "unhealthy")],
            [(0, 63488, 65536), (1, 307, 65536)],
        ),
        (
            "amd/amd-smi-monitor.csv",
            [(0, 45, 58, 181, 350, "healthy"), (1, None, None, None, 350, "unhealthy")],
            [(0, 20480, 32752), (1, None, 32752)],
        ),
        (  # a row that is cut, and a table of processes that is none of devices
            "amd/amd-smi-metric-process.csv",
            [(0, 77, 69, 213, None, "healthy"), (1, None, None, None, None, "unknown")],
            [(0, 50000, 65536), (1, None, None)],
        ),
        (  # 65535 is what the driver has no value for
            "amd/rocm-smi-metrics.txt",
            [(0, 34, 52, 88, None, "healthy"), (1, None, 47, 130, None, "healthy")],
            [(0, None, None), (1, None, None)],
        ),
        (  # the tool prints zeros for what it could not read
            "amd/rocm-smi-crashed.txt",
            [(0, None, None, None, None, "unknown"), (1, None, None, None, None, "unknown")],
            [(0, None, None), (1, None, None)],
        ),
        (
            "amd/rocm-smi-unable.txt",
            [(0, None, 44, 31, None, "healthy"), (1, None, None, None, None, "unhealthy")],
            [(0, None, None), (1, None, None)],
        ),
        (
            "hygon/hy-smi-abnormal.txt",
            [(0, 31, 49, 97, 600, "healthy"), (1, None, None, None, None, "unhealthy")],
            [(0, None, None), (1, None, None)],
        ),
    ],
)
def test_readings(name: str, live: list[Any], memory: list[Any]) -> None:
    found = sample(name)
    assert column(found, *LIVE) == live
    assert column(found, *MEMORY) == memory


@pytest.mark.parametrize("name", ["rocm-smi-crashed.txt", "hy-smi-abnormal.txt"])
def test_a_driver_that_does_not_answer_uses_no_share_of_memory(name: str) -> None:
    found = sample(f"{'hygon' if name.startswith('hy') else 'amd'}/{name}")
    assert column(found, "memory_used_pct")[-1] is None


def test_csv_of_facts() -> None:
    found = sample("amd/amd-smi-static.csv")
    names = ("uuid", "pci_bus_id", "model", "compute_units", "memory_total_mib", "power_limit_w", "numa_node")
    assert column(found, *names) == [
        ("0xbeef00000000a001", "0000:65:00.0", "Instinct, MI355X", 256, 294896, 1400, 0),
        ("0xbeef00000000a002", "0000:f5:00.0", "Instinct, MI355X", 256, 294896, 1400, None),
    ]
    assert found.driver_version == "6.14.5" and found.warnings == []


def test_topology_alone_tells_devices_and_links() -> None:
    found = sample("amd/amd-smi-topology.txt")
    assert column(found, "index", "pci_bus_id") == [
        (0, "0000:18:00.0"),
        (1, "0000:3a:00.0"),
        (2, "0000:b1:00.0"),
    ]
    assert found.links == [Link(0, 1, "XGMI"), Link(0, 2, "PCIE")]


def test_several_outputs_of_one_host_are_one_look() -> None:
    found = sample("amd/several-outputs.txt")
    names = ("index", "uuid", "pci_bus_id", "memory_used_mib", "power_w", "power_limit_w", "numa_node")
    assert column(found, *names) == [
        (0, "0xc0de00000000b001", "0000:18:00.0", 40211, 118, None, 0),
        (1, "0xc0de00000000b002", "0000:3a:00.0", 28, 14, 241, 1),
    ]
    assert (found.driver_version, found.links, found.warnings) == ("6.17.4", [Link(0, 1, "XGMI")], [])


def test_outputs_in_any_order_say_the_same() -> None:
    outputs = (SAMPLES / "amd/several-outputs.txt").read_text().split("$ ")[1:]
    forwards, backwards = read("$ ".join(outputs)), read("$ ".join(reversed(outputs)))
    assert document(forwards) == document(backwards)


def test_links_of_rocm_smi_follow_its_own_numbers() -> None:
    text = (SAMPLES / "amd/rocm-smi-lines.txt").read_text()
    swapped = "GPU[0] : PCI Bus: 0000:21:00.0\nGPU[2] : PCI Bus: 0000:11:00.0\n"
    listed = "".join(f"GPU: {n}\n    BDF: 0000:{bus}:00.0\n" for n, bus in enumerate(("11", "1b", "21")))
    found = read(text + swapped + listed)
    assert found.links == [Link(1, 2, "XGMI"), Link(0, 2, "PCIE"), Link(0, 1, "PCIE")]
    assert column(found, "index", "health") == [(0, "unhealthy"), (1, "healthy"), (2, "healthy")]


def test_the_row_below_a_devices_figures_is_its_name() -> None:
    found = sample("amd/rocm-smi-name-row.txt")
    assert column(found, "model", "memory_used_pct") == [
        ("AMD Instinct MI300X HF", 12),
        ("AMD Instinct MI300X HF", 0),
    ]


def test_slices_whose_neighbours_are_cut_off_are_slices() -> None:
    found = sample("amd/rocm-smi-slices-cut.txt")
    shares = [
        [(part["instance"], part["compute_milli"]) for part in parts] for parts in column(found, "partitions")
    ]
    assert column(found, "index") == [4, 6]
    assert shares == [[(4, 166), (5, 166)], [(0, 166)]]


def test_outputs_of_two_hosts_lose_no_device() -> None:
    one, other = (f"GPU: 0\n    BDF: 0000:{bus}:00.0\n    UUID: {bus}ff74a1-00\n" for bus in ("41", "c1"))
    assert column(read(one + other), "index", "pci_bus_id") == [(0, "0000:41:00.0"), (None, "0000:c1:00.0")]


def test_processes_below_the_overview_stand_at_their_device() -> None:
    found = read((SAMPLES / "amd/amd-smi-overview.txt").read_text() * 2)
    assert column(found, "processes") == [[{"pid": 4242, "name": "python3", "memory_used_mib": 80998}], []]


def test_a_mode_in_the_overview_makes_slices_of_one_slot_one_device() -> None:
    text = (SAMPLES / "amd/amd-smi-overview.txt").read_text().replace("SPX/NPS1", "DPX/NPS2")
    (parts,) = column(read(text.replace("0000:26:00.0", "0000:05:00.1")), "partitions")
    assert [part["name"] for part in parts] == ["DPX/NPS2"] * 2


def test_a_masked_address_is_unknown() -> None:
    text = (SAMPLES / "amd/several-outputs.txt").read_text().partition("$ amd-smi topology")[0]
    found = read(text.replace("0000:18:", "XXXX:XX:").replace("0000:3a:", "0000:xx:"))
    assert column(found, "index", "pci_bus_id", "memory_used_mib") == [(0, None, 40211), (1, None, 28)]


@pytest.mark.parametrize(
    ("name", "indexes", "counts", "milli"),
    [
        ("amd-smi-list-slices.csv", [0, 2], [2, 2], None),
        ("amd-smi-monitor-slices.txt", [0, 2], [2, 2], None),
        ("rocm-smi-slices.txt", [0, 2], [2, 0], 500),
    ],
)
def test_slices_without_a_document_belong_to_their_device(
    name: str, indexes: list[int], counts: list[int], milli: int | None
) -> None:
    found = sample(f"amd/{name}")
    parts = column(found, "partitions")
    assert column(found, "index") == indexes and [len(part) for part in parts] == counts
    assert {part["compute_milli"] for part in parts[0]} == {milli}
    assert len({part["uuid"] for device in parts for part in device}) == sum(counts)


def test_links_of_slices_are_links_of_their_devices() -> None:
    matrix = (
        "LINK TYPE TABLE:\n   0000:1a:00.0 0000:9b:00.0\n0000:1a:00.0 SELF XGMI\n0000:9b:00.0 XGMI SELF\n"
    )
    found = read((SAMPLES / "amd/amd-smi-list-slices.csv").read_text() + matrix)
    assert found.links == [Link(0, 2, "XGMI")]


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("amd/amd-smi-head-cut.txt", ["output-damaged"]),
        ("amd/rocm-smi-crashed.txt", ["tool-failed"]),
        ("amd/amd-smi-monitor-new.txt", []),
        ("hygon/hy-smi-abnormal.txt", []),
        ("amd/rocm-smi-unable.txt", ["tool-failed"] * 3),
        ("amd/amd-smi-static.txt", []),
    ],
)
def test_warnings(name: str, codes: list[str]) -> None:
    assert [notice.code for notice in sample(name).warnings] == codes


def test_what_a_card_does_not_support_is_no_fault() -> None:
    text = "GPU[0] : get_power_cap: Failed, RSMI_STATUS_NOT_SUPPORTED\nGPU[0] : GPU use (%): 3\n"
    text += "GPU[0] : Temperature (Sensor edge) (C): 40.0\n"
    assert column(read(text), "health") == ["healthy"]

"""Outputs of NVIDIA's tools in all their formats, written for the purpose: what must be concluded from each."""

from pathlib import Path
from typing import Any

import pytest

from agent.notices import sentence
from agent.protocol import Link, Vendor
from agent.vendors import PARSERS
from agent.vendors.base import Readout, document, with_vendor
from agent.vendors.nvidia import NvidiaProbe

SAMPLES = Path(__file__).parent / "samples/nvidia"
FIGURES = ("memory_total_mib", "memory_used_mib", "utilization_pct", "temperature_c", "power_w")


def read(name: str) -> Readout:
    return PARSERS["nvidia"]((SAMPLES / name).read_text())


def devices(name: str) -> list[dict[str, Any]]:
    found = document(read(name))["devices"]
    assert isinstance(found, list)
    return found


def figures(name: str) -> list[tuple[Any, ...]]:
    return [tuple(device[key] for key in FIGURES) for device in devices(name)]


def health(name: str) -> list[tuple[str, str]]:
    """(health, code of the first reason) of every device."""
    found = devices(name)
    return [(device["health"], (device["reasons"] or [""])[0].partition(":")[0]) for device in found]


def slices(device: dict[str, Any]) -> list[tuple[Any, ...]]:
    keys = (
        "instance",
        "compute_instance",
        "memory_total_mib",
        "memory_used_mib",
        "compute_milli",
        "memory_group",
    )
    return [tuple(part[key] for key in keys) for part in device["partitions"]]


def test_xml_of_a_sick_card_between_good_ones() -> None:
    assert figures("l4-and-sick-a10.xml") == [
        (23034, 5130, 61, 58, 54.2),
        (23028, None, None, None, None),
        (23028, 210, 0, 33, 18.05),
    ]
    assert health("l4-and-sick-a10.xml") == [
        ("healthy", ""),
        ("unhealthy", "reset-required"),
        ("healthy", ""),
    ]
    first, second, _ = devices("l4-and-sick-a10.xml")
    processes = [(process["pid"], process["memory_used_mib"]) for process in first["processes"]]
    assert processes == [(7001, 5120), (7002, None)] and len(second["reasons"]) == 2


def test_xml_of_an_old_driver() -> None:
    readout = read("p100-old-driver.xml")
    (reading,) = readout.readings
    assert (readout.driver_version, reading.facts.pci_bus_id) == ("410.104", "0003:01:00.0")
    assert (reading.ecc, reading.uncorrectable, reading.facts.power_limit_w) == (False, 3, 300)
    assert figures("p100-old-driver.xml") == [(16280, 15400, 97, 71, 288.1)]


def test_slices_of_one_instance_share_its_memory() -> None:
    (device,) = devices("a30-mig-shared-memory.xml")
    assert slices(device) == [(2, 0, 11968, 30, 250, 2), (2, 1, 11968, 30, 250, 2), (5, 0, 5952, 20, 250, 5)]
    (device,) = devices("table-a100-mig-shared.txt")
    assert slices(device) == [(1, 0, 20096, 44, 142, 1), (1, 1, 20096, 44, 285, 1), (4, 0, 9984, 13, 285, 4)]
    assert device["ecc"] is True and device["utilization_pct"] is None and device["health"] == "healthy"


def test_a_fabric_that_is_not_ready_is_unknown_and_a_drain_is_unhealthy() -> None:
    assert health("h800-fabric-in-progress.xml") == [
        ("unknown", "fabric-not-ready"),
        ("unhealthy", "drain-recommended"),
    ]


def test_table_with_a_dead_card() -> None:
    assert figures("table-535-one-dead.txt") == [
        (49140, 30110, 99, 66, 212),
        (49140, 733, None, None, None),
        (49140, 1, 0, 39, 21),
    ]
    assert health("table-535-one-dead.txt") == [
        ("healthy", ""),
        ("unhealthy", "error-state"),
        ("healthy", ""),
    ]
    first, dead, last = devices("table-535-one-dead.txt")
    assert (dead["model"], dead["pci_bus_id"]) == (None, "0000:22:00.0")
    assert (first["ecc"], last["ecc"]) == (False, True)
    assert first["processes"] == [{"pid": 90210, "name": "python", "memory_used_mib": 30100}]


def test_tables_of_other_drivers() -> None:
    assert figures("table-304-no-type-column.txt") == [(5375, 938, 66, None, 81), (1023, 44, None, 48, None)]
    assert devices("table-304-no-type-column.txt")[0]["processes"][0]["memory_used_mib"] == 925
    (device,) = devices("table-windows-wddm.txt")
    assert figures("table-windows-wddm.txt") == [(20475, 1480, 3, 44, 15)]
    assert (
        device["model"] == "NVIDIA RTX 4000 Ada Gene..." and device["processes"][0]["memory_used_mib"] is None
    )
    assert read("table-windows-wddm.txt").driver_version == "572.16"


def test_csv_is_read_by_its_header() -> None:
    assert figures("query-units.csv") == [
        (23034, 7, 0, 38, 16.2),
        (23034, None, None, None, None),
        (23034, 9000, 84, 66, 69.1),
    ]
    assert health("query-units.csv") == [
        ("healthy", ""),
        ("unhealthy", "error-state"),
        ("unhealthy", "reset-required"),
    ]
    assert read("query-units.csv").driver_version == "550.90.07"


def test_csv_keeps_the_card_that_a_line_calls_lost() -> None:
    found = devices("query-nounits-lost.csv")
    assert [(device["index"], device["health"]) for device in found] == [
        (0, "healthy"),
        (1, "healthy"),
        (3, "healthy"),
        (2, "unhealthy"),
    ]
    assert found[3]["pci_bus_id"] == "0000:9f:00.0" and found[0]["memory_used_mib"] == 3301


def test_processes_by_device() -> None:
    first, second = devices("apps.csv")
    told = [(process["name"], process["memory_used_mib"]) for process in first["processes"]]
    assert (
        told == [("/usr/bin/python3", 1024), (r"C:\jobs\a, b\worker", None)] and first["health"] == "unknown"
    )
    assert second["processes"] == [{"pid": 31003, "name": None, "memory_used_mib": 77}]


def test_lists_of_slices_and_links() -> None:
    first, second, lost = devices("list-mig-old-names.txt")
    assert [(part["name"], part["instance"], part["compute_milli"]) for part in first["partitions"]] == [
        ("2g.12gb", 1, 500),
        ("1c.2g.12gb", 2, 250),
    ]
    assert second["partitions"] == [] and (lost["pci_bus_id"], lost["health"]) == (
        "0000:c1:00.0",
        "unhealthy",
    )
    first, second = devices("nvlink-two-down.txt")
    assert [(port["active"], port["mb_s"]) for port in first["ports"]] == [
        (True, 25000),
        (False, None),
        (True, 25781),
        (False, None),
    ]
    assert second["ports"] == [] and "1, 3 are inactive" in str(
        document(read("nvlink-two-down.txt"))["warnings"]
    )


def test_topologies_with_empty_cells() -> None:
    readout = read("topo-nvswitch-ansi.txt")
    assert len(readout.links) == 6 and set(readout.links) >= {Link(0, 3, "NV", 8)}
    assert [reading.facts.numa_node for reading in readout.readings] == [0, 0, None, None]
    assert [len(reading.facts.cpu_affinity or []) for reading in readout.readings] == [64, 64, 0, 64]
    readout = read("topo-blanks-empty-cells.txt")
    assert readout.links == [Link(0, 1, "SYS")]
    assert [reading.facts.numa_node for reading in readout.readings] == [None, 1]


def test_xids_by_their_meaning() -> None:
    found = {device["pci_bus_id"][5:7]: device for device in devices("xids-and-noise.log")}
    assert {bus: device["health"] for bus, device in found.items()} == {
        "17": "unknown",
        "31": "unhealthy",
        "b1": "unhealthy",
        "c1": "unhealthy",
        "d1": "unknown",
        "d2": "unhealthy",
        "e1": "unhealthy",
    }
    assert found["31"]["uuid"].endswith("af02") and len(found["31"]["reasons"]) == 1
    codes = {bus: device["reasons"][0].partition(":")[0] for bus, device in found.items()}
    assert (codes["b1"], codes["c1"], codes["d2"]) == ("xid-94", "lost", "xid-154")
    warnings = str(document(read("xids-and-noise.log"))["warnings"])
    assert "Xid (PCI:0000:17:00): 13" in warnings and "SXid" in warnings


def test_reports_as_text() -> None:
    assert figures("report-text.txt") == [(143771, 60, None, 37, 121.5), (143771, None, 0, 35, None)]
    assert health("report-text.txt") == [("healthy", ""), ("unhealthy", "reset-required")]
    first, _ = devices("report-text.txt")
    assert [part[:4] for part in slices(first)] == [(1, 0, 71424, 44), (6, 0, 18176, 16)]
    told = [(process["pid"], process["name"], process["memory_used_mib"]) for process in first["processes"]]
    assert told == [(5150, "/opt/reset/train", 30), (5151, "serve", None)]
    readout = read("report-text.txt")
    assert (readout.driver_version, readout.readings[0].uncorrectable) == ("570.133.20", 1)
    assert "1 of 3" in str(document(readout)["warnings"])
    assert health("report-memory-only.txt") == [("unhealthy", "over-temperature")]
    assert devices("report-memory-only.txt")[0]["processes"][0]["memory_used_mib"] == 300


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("None", "healthy"),
        ("N/A", "healthy"),
        ("Reset", "unhealthy"),
        ("GPU Reset", "unhealthy"),
        ("Reboot", "unhealthy"),
        ("Drain P2P", "unhealthy"),
        ("PF FLR", "unhealthy"),
    ],
)
def test_every_recovery_action_but_none_keeps_jobs_away(action: str, expected: str) -> None:
    csv = f"index, memory.used [MiB], memory.total [MiB], gpu_recovery_action\n0, 4 MiB, 80 MiB, {action}\n"
    (reading,) = NvidiaProbe.parse(csv).readings
    assert (reading.check.result == "ok") is (expected == "healthy")


def test_a_row_that_says_lost_is_a_card_and_no_sentence() -> None:
    text = (
        "index, name, memory.used [MiB], utilization.gpu [%]\n"
        "0, NVIDIA L20, [GPU is lost], [GPU is lost]\n"
        "1, NVIDIA L20, 40 MiB, 2 %\n"
        "2, NVIDIA L20, GPU requires reset, GPU requires reset\n"
        "Unable to determine the device handle for GPU 0000:C4:00.0: GPU is lost.\n"
    )
    found = document(PARSERS["nvidia"](text))["devices"]
    assert isinstance(found, list)
    assert [(one["index"], one["health"], one["reasons"][:1]) for one in found] == [
        (0, "unhealthy", ["lost: memory.used: [GPU is lost]"]),
        (1, "healthy", []),
        (2, "unhealthy", ["reset-required: memory.used: GPU requires reset"]),
        (
            None,
            "unhealthy",
            ["lost: Unable to determine the device handle for GPU 0000:C4:00.0: GPU is lost."],
        ),
    ]


def test_monitors_tell_the_last_look() -> None:
    assert figures("dmon.txt") == [
        (None, 530, 7, 39, 63.0),
        (None, 60211, 99, 67, 322.0),
        (None, None, None, None, None),
    ]
    assert [kind for kind, _ in health("dmon.txt")] == ["healthy", "healthy", "unknown"]
    assert [device["processes"] for device in devices("pmon.txt")] == [
        [{"pid": 52114, "name": "train worker", "memory_used_mib": 31744}],
        [],
    ]


def test_words_of_help_and_lists_of_fields_are_no_devices() -> None:
    (only,) = devices("one-file-of-many-commands.txt")
    assert (only["pci_bus_id"], only["memory_used_mib"], only["power_w"]) == ("0000:4d:00.0", 70144, 402.0)
    assert (only["utilization_pct"], only["processes"], only["health"]) == (93, [], "healthy")


def test_every_wording_of_a_lost_card() -> None:
    found = [
        (device["index"], device["pci_bus_id"], device["health"]) for device in devices("lost-wordings.log")
    ]
    assert found == [
        (None, "0000:0a:00.0", "unhealthy"),
        (5, "0000:8b:00.0", "unhealthy"),
        (None, "0001:8c:00.0", "unhealthy"),
        (None, "0000:8d:00.0", "unhealthy"),
        (6, None, "unhealthy"),
        (None, "0000:8e:00.0", "unhealthy"),
    ]


def test_a_driver_that_does_not_answer_is_said() -> None:
    readout = read("driver-does-not-answer.log")
    (said,) = [sentence(with_vendor(notice, Vendor.NVIDIA)) for notice in readout.warnings]
    assert readout.readings == [] and "couldn't communicate" in said


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.iterdir()))
def test_every_sample_is_recognised(name: str) -> None:
    assert "nothing was recognised" not in str(document(read(name))["warnings"])


def test_sections_one_after_the_other_are_one_machine() -> None:
    names = ("list-mig-old-names.txt", "a30-mig-shared-memory.xml", "topo-blanks-empty-cells.txt")
    mixed = NvidiaProbe.parse("\n".join((SAMPLES / name).read_text() for name in names))
    assert {reading.facts.model for reading in mixed.readings[:2]} == {"NVIDIA A30"} and len(mixed.links) == 1
    parts = ("query-units.csv", "topo-blanks-empty-cells.txt")
    readout = NvidiaProbe.parse("\n".join((SAMPLES / name).read_text() for name in parts))
    first, second, third = readout.readings
    assert (first.facts.uuid or "").endswith("ee01") and first.facts.numa_node is None
    assert (second.facts.numa_node, readout.links) == (1, [Link(0, 1, "SYS")]) and third.facts.index == 2

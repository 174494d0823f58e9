"""What NVIDIA's tools and driver print seldom: documents that are none, parts of tables, other hosts' shares."""

from pathlib import Path
from typing import Any

import pytest

from agent.vendors import PARSERS
from agent.vendors.base import document

SAMPLES = Path(__file__).parent / "samples/nvidia"
SLICES = """\
+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|        Shared         |
|      ID  ID  Dev |                       BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |
|==================+==================================+===========+=======================|
|  2    5   0   0  |            3071MiB /  9728MiB    | 14    {:>3} |  1   0    0    0    0 |
|                  |                 0MiB / 16383MiB  |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
"""


def read(text: str) -> dict[str, Any]:
    return document(PARSERS["nvidia"](text))


def sample(name: str) -> dict[str, Any]:
    return read((SAMPLES / name).read_text())


def pick(found: dict[str, Any], *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(device[key] for key in keys) for device in found["devices"]]


def test_firmware_that_died_is_told_even_where_the_driver_names_no_address() -> None:
    found = sample("gsp-and-removal.log")
    codes = {device["pci_bus_id"]: device["reasons"][0].partition(":")[0] for device in found["devices"]}
    assert codes == {
        "0000:52:00.0": "reset-required",
        "0000:6a:00.0": "lost",
        "0000:7e:00.0": "init-failed",
    }
    assert {device["health"] for device in found["devices"]} == {"unhealthy"}
    first, second, third = found["warnings"]
    assert "GPU2" in first and "GPU4" in second and "CrashCat" in second and "probably locked" in third


def test_clocks_that_are_no_xml_cost_no_device() -> None:
    found = sample("xml-clocks-without-beginning.xml")
    keys = ("pci_bus_id", "memory_used_mib", "utilization_pct", "temperature_c", "health")
    assert pick(found, *keys) == [
        ("0000:0c:00.0", 17411, 88, 71, "healthy"),
        ("0000:4f:00.0", None, None, None, "unhealthy"),
    ]
    assert found["warnings"] == []


def test_clocks_do_not_swallow_the_device_behind_them() -> None:
    text = (SAMPLES / "xml-clocks-without-beginning.xml").read_text()
    cut = read(text.replace("</supported_clocks>", "", 1))
    assert pick(cut, "pci_bus_id", "health") == [("0000:0c:00.0", "unknown")]
    assert any("missing" in said for said in cut["warnings"])


def test_slices_without_the_table_above_them() -> None:
    found = read(SLICES.format(0))
    assert pick(found, "index", "memory_total_mib", "health") == [(2, None, "unknown")]
    (part,) = found["devices"][0]["partitions"]
    assert (
        part["instance"],
        part["compute_instance"],
        part["memory_total_mib"],
        part["memory_used_mib"],
    ) == (
        *(5, 0),
        *(9728, 3071),
    )
    assert pick(read(SLICES.format("ERR!")), "index", "health") == [(2, "unhealthy")]


def test_shares_of_virtual_machines_are_slices() -> None:
    report, table = sample("vgpu-report.txt"), sample("vgpu-table.txt")
    keys = ("name", "instance", "memory_total_mib", "memory_used_mib")
    parts = [tuple(part[key] for key in keys) for part in report["devices"][0]["partitions"]]
    assert parts == [
        ("NVIDIA L40S-12Q", 3251650011, 12288, 905),
        ("NVIDIA L40S-24Q", 3251650012, 24576, None),
    ]
    assert pick(report, "pci_bus_id", "health", "memory_used_mib") == [
        ("0000:2b:00.0", "unknown", None),
        ("0000:ac:00.0", "unknown", None),
    ]
    (share,) = table["devices"][0]["partitions"]
    assert tuple(share[key] for key in keys) == ("NVIDIA A40-8Q", 3251600001, 8192, None)


@pytest.mark.parametrize("words", ["determine", "detect"])
def test_a_lost_device_whose_address_lacks_digits(words: str) -> None:
    found = read(f"Unable to {words} the device handle for GPU 000:BA:00.0: Unknown Error\n")
    assert pick(found, "pci_bus_id", "health") == [("0000:ba:00.0", "unhealthy")]


def test_a_program_may_be_called_after_errors() -> None:
    rows = "GPU-aaaaaaaa-1111-2222-3333-444444444444, {}, {}, 7000 MiB\n"
    names = ("/usr/bin/timeout", "python3 --error-log x", "[Not Found]")
    found = read(
        "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
        + "".join(rows.format(pid, name) for pid, name in enumerate(names, start=1))
    )
    (device,) = found["devices"]
    assert [process["name"] for process in device["processes"]] == [*names[:2], None]
    assert device["health"] == "unknown"


def test_a_start_that_failed_is_told_even_where_an_old_driver_names_no_address() -> None:
    found = read(
        "[ 12.1] NVRM: RmInitAdapter failed! (0x26:0x65:1097)\n"
        "[ 12.1] NVRM: rm_init_adapter failed for device bearing minor number 2\n"
    )
    assert found["devices"] == []
    assert ["RmInitAdapter" in found["warnings"][0], "minor number 2" in found["warnings"][1]] == [True, True]

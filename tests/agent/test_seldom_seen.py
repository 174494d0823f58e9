"""Outputs of a kind seldom seen, of all vendors but NVIDIA: what must be concluded from each."""

from pathlib import Path
from typing import Any

import pytest

from agent.vendors import PARSERS
from agent.vendors.base import document

SAMPLES = Path(__file__).parent / "samples"
FIGURES = ("index", "memory_used_mib", "utilization_pct", "temperature_c", "power_w", "health")
EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "amd/amd-smi-old-spellings.txt": [
        (0, 6120, 37, 46, 88.0, "healthy"),
        (1, None, None, None, None, "unhealthy"),
    ],
    "amd/amd-smi-bad-pages.txt": [
        (0, None, None, None, None, "unknown"),
        (1, None, None, None, None, "unknown"),
        (2, None, None, None, None, "unhealthy"),
    ],
    "metax/mx-smi-2.1-no-cap.txt": [(0, 9020, 6, 41, 103.0, "healthy")],
    "cambricon/cnmon-6.5-no-temperature.txt": [
        (0, 7702, 31, None, 133.0, "healthy"),
        (1, 0, 0, None, None, "unknown"),
    ],
    "ascend/hccs-one-link-down.txt": [(5, None, None, None, None, "unhealthy")],
    "tenstorrent/reset-failed.log": [
        (None, None, None, None, None, "unhealthy"),
        (3, None, None, None, None, "unhealthy"),
    ],
    "hygon/hy-smi-noted.txt": [
        (2, None, 0, 44, 161.0, "healthy"),
        (5, None, 63, 46, 188.0, "healthy"),
        (7, None, 0, 45, 160.0, "unhealthy"),
    ],
}


def read(name: str, text: str | None = None) -> dict[str, Any]:
    captured = (SAMPLES / name).read_text() if text is None else text
    return document(PARSERS[name.partition("/")[0]](captured))


@pytest.mark.parametrize("name", EXPECTED)
def test_every_device_of_the_sample(name: str) -> None:
    devices = read(name)["devices"]
    assert [tuple(device[key] for key in FIGURES) for device in devices] == EXPECTED[name]


def test_a_limit_of_nothing_is_none() -> None:
    first, second = read("amd/amd-smi-old-spellings.txt")["devices"]
    assert first["power_limit_w"] == 310
    assert second["reasons"] == ["bad-pages-exceeded: bad_page_threshold_exceeded: True"]


def test_modes_of_partitions_by_their_table() -> None:
    devices = read("amd/amd-smi-partition-current.txt")["devices"]
    assert [device["index"] for device in devices] == [0, 2, 3]
    keys = ("name", "instance", "compute_milli", "memory_group")
    assert [[tuple(part[key] for key in keys) for part in device["partitions"]] for device in devices] == [
        [("DPX/NPS2", 0, 500, 0), ("DPX/NPS2", 1, 500, 1)],
        [],
        [],
    ]
    assert {device["health"] for device in devices} == {"unknown"}


def test_a_first_slice_that_tells_the_memory_of_its_device() -> None:
    (device,) = read("amd/amd-smi-monitor-first-tells-all.txt")["devices"]
    assert device["memory_total_mib"] == 288 * 1024
    assert [part["memory_total_mib"] for part in device["partitions"]] == [144 * 1024] * 2


def test_the_driver_of_an_overview_with_a_line_for_each_version() -> None:
    lines = (SAMPLES / "amd/amd-smi-overview.txt").read_text().splitlines()
    text = "\n".join(
        "| amdgpu Version:    6.19.4                      |" if "amdgpu version" in line else line
        for line in lines
    )
    assert read("amd/overview", text)["driver_version"] == "6.19.4"


def test_a_reset_that_failed_names_its_device() -> None:
    first, second = read("tenstorrent/reset-failed.log")["devices"]
    assert (first["pci_bus_id"], second["pci_bus_id"]) == ("0000:21:00.0", None)


def test_processors_of_a_mainframe() -> None:
    found = read("cpu/cpuinfo-s390.txt")
    keys = ("id", "core", "socket", "online")
    assert [tuple(cpu[key] for key in keys) for cpu in found["cpus"]] == [
        (0, 4, 1, True),
        (2, 5, 1, True),
        (3, 5, 1, True),
    ]
    assert (found["cpu_model"], found["warnings"]) == (None, [])


def test_cores_of_two_kinds_that_have_one_thread_each() -> None:
    found = read("cpu/lscpu-two-kinds-single.txt")
    assert [cpu["core"] for cpu in found["cpus"]] == list(range(6))
    assert [cpu["max_mhz"] for cpu in found["cpus"]] == [3300] * 2 + [2600] * 4


def test_a_page_around_the_output() -> None:
    lines = (SAMPLES / "cpu/lscpu-two-kinds-single.txt").read_text().splitlines()
    plain = read("cpu/lscpu-two-kinds-single.txt")
    assert read("cpu/page", "<p>" + "<br/>\n".join(lines) + "</p>\n") == plain
    assert read("cpu/page", '<pre class="x">' + "<br>".join(lines) + "</pre>\n") == plain

"""What npu-smi printed once: our own samples of all its layouts, and what must come out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.vendors.ascend import AscendProbe
from agent.vendors.base import document

SAMPLES = Path(__file__).parent / "samples/ascend"
Device = dict[str, Any]


def parsed(*names: str) -> dict[str, Any]:
    return document(AscendProbe.parse("\n".join((SAMPLES / name).read_text() for name in names)))


def devices(*names: str) -> list[Device]:
    found: list[Device] = parsed(*names)["devices"]
    return found


def column(found: list[Device], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(device[name] for name in names) for device in found]


def test_health_words_decide_and_a_minor_alarm_stays_in_use() -> None:
    said = parsed("910b2-four-healths.txt")
    assert column(said["devices"], "index", "health") == [
        (0, "healthy"),
        (1, "unhealthy"),
        (2, "healthy"),
        (3, "unhealthy"),
        (4, "unknown"),
        (5, "healthy"),
    ]
    assert said["warnings"] == ["ascend: 0000:c2:00.0 reports a minor alarm; it stays in use"]
    assert said["devices"][1]["reasons"] == ["error-state: Health: Alarm"]
    assert said["driver_version"] == "25.0.2"


def test_a_broken_device_is_not_the_emptiest_and_unread_figures_are_unknown() -> None:
    found = devices("910b2-four-healths.txt")
    figures = column(found, "memory_total_mib", "memory_used_mib", "temperature_c", "power_w")
    assert figures[1] == (65536, None, 44, 88.0)
    assert figures[4] == (None, None, None, None)
    assert found[0]["processes"] == [
        {"pid": 771203, "name": "python3.11", "memory_used_mib": 37742},
        {"pid": 771388, "name": None, "memory_used_mib": 121},
    ]


def test_two_dies_of_a_board_are_two_devices_and_its_power_counts_once() -> None:
    found = devices("910c-two-dies.txt")
    assert column(found, "index", "pci_bus_id", "power_w", "health") == [
        (8, "0000:0a:00.0", 171.2, "healthy"),
        (9, "0000:0b:00.0", None, "healthy"),
        (10, "0000:1a:00.0", 168.9, "unhealthy"),
        (11, "0000:1b:00.0", None, "healthy"),
    ]
    assert [len(device["processes"]) for device in found] == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("910a-ddr-and-hbm.txt", [(0, 32768, 29871, 99), (1, 32768, 2, 0)]),
        (
            "310-four-chips-old.txt",
            [(4, 8192, 2457, 0), (5, 8192, 2703, 31), (6, 8192, 2703, 0), (7, 8192, None, 0)],
        ),
        ("310p3-duo-one-bus.txt", [(0, 21527, 1850, 0), (2, 44280, 1471, 4), (3, 43693, 1460, 0)]),
        ("310b-soc-no-bus.txt", [(0, 10810, 957, 0)]),
        ("950-four-cells.txt", [(0, 114688, 71020, 55), (1, 114688, 3902, 0), (2, 114688, 3899, 0)]),
    ],
)
def test_memory_is_the_hbm_where_there_is_some(name: str, expected: list[tuple[Any, ...]]) -> None:
    assert (
        column(devices(name), "index", "memory_total_mib", "memory_used_mib", "utilization_pct") == expected
    )


def test_chips_that_share_a_bus_id_have_names_of_their_own() -> None:
    found = devices("310p3-duo-one-bus.txt")
    assert column(found, "uuid", "pci_bus_id") == [
        (None, "0000:5e:00.0"),
        ("0000:3b:00.0/0", "0000:3b:00.0"),
        ("0000:3b:00.0/1", "0000:3b:00.0"),
    ]


def test_no_power_and_no_bus_id_are_unknown() -> None:
    (device,) = devices("310b-soc-no-bus.txt")
    assert (device["power_w"], device["pci_bus_id"], device["health"]) == (None, None, "healthy")


@pytest.mark.parametrize(
    ("name", "links"),
    [
        (
            "topo-910b4-mixed.txt",
            [(0, 1, "HCCS"), (0, 2, "PIX"), (0, 3, "SYS"), (1, 2, "PHB"), (1, 3, "SYS")],
        ),
        ("topo-950-nics.txt", [(0, 1, "UB")]),
        ("topo-one-npu.txt", []),
    ],
)
def test_links_join_npus_and_nothing_else(name: str, links: list[tuple[Any, ...]]) -> None:
    found = parsed(name)
    assert [(link["a"], link["b"], link["kind"]) for link in found["links"]] == links
    assert {device["health"] for device in found["devices"]} == {"unknown"}


def test_links_of_dies_go_by_their_physical_ids() -> None:
    links = parsed("910c-two-dies.txt", "topo-a3-dies-no-affinity.txt")["links"]
    assert [(link["a"], link["b"]) for link in links if link["kind"] == "SIO"] == [(8, 9), (10, 11)]
    assert len(links) == 6


def test_affinities_are_lists_and_unknown_where_none_is_told() -> None:
    found = devices("topo-910b4-mixed.txt")
    assert found[0]["cpu_affinity"] == list(range(96, 120)) and found[3]["cpu_affinity"] is None
    assert devices("topo-one-npu.txt")[0]["index"] == 5
    assert {device["cpu_affinity"] for device in devices("topo-a3-dies-no-affinity.txt")} == {None}


@pytest.mark.parametrize(
    ("name", "indices"),
    [
        ("mapping-910b.txt", [0, 5]),
        ("mapping-a3.txt", [8, 9, 10, 11]),
        ("mapping-950-slots.txt", [0, 1]),
        ("list-three-of-four.txt", [0, 2, 3]),
    ],
)
def test_mappings_and_lists_name_chips_and_no_controllers(name: str, indices: list[int]) -> None:
    assert [device["index"] for device in devices(name)] == indices


def test_a_missing_board_is_flagged() -> None:
    assert parsed("list-three-of-four.txt")["warnings"] == [
        "ascend: 1 of 4 attached devices are missing from the output of npu-smi"
    ]


def test_fields_of_chips_are_told_apart_from_the_controllers() -> None:
    found = devices("common-a3.txt")
    names = ("index", "memory_used_pct", "memory_used_mib", "utilization_pct", "temperature_c", "power_w")
    assert column(found, *names) == [(6, 87, None, 40, 44, 212.5), (7, 6, None, 0, 39, None)]
    assert column(devices("usages-a3.txt"), "index", "memory_total_mib", "memory_used_pct") == [
        (6, 65536, 88),
        (7, 65536, 5),
    ]
    assert column(devices("memory-910b.txt"), "index", "memory_total_mib") == [(6, 32768)]
    assert [process["name"] for process in devices("proc-mem.txt")[0]["processes"]] == ["EngineCore", None]


def test_the_last_rows_of_a_watch_count() -> None:
    names = ("index", "power_w", "temperature_c", "utilization_pct", "memory_used_pct", "health")
    assert column(devices("watch-two-npus.txt"), *names) == [
        (3, 170.2, 45, 88, 93, "unknown"),
        (4, None, 40, 0, 6, "unknown"),
    ]


def test_fields_survive_lost_blank_lines() -> None:
    text = "\n".join(line for line in (SAMPLES / "common-a3.txt").read_text().splitlines() if line.strip())
    assert document(AscendProbe.parse(text))["devices"] == devices("common-a3.txt")


def test_the_controllers_health_is_not_the_devices() -> None:
    (device,) = devices("health-board-ok-mcu.txt")
    assert (device["index"], device["health"]) == (2, "unhealthy")
    (device,) = devices("health-chip-alarm.txt")
    assert device["index"] is None and "80C98001" in device["reasons"][0]
    assert [device["health"] for device in devices("health-chip-ok.txt")] == ["healthy"]


def test_double_bit_errors_are_the_uncorrectable_ones() -> None:
    (reading,) = AscendProbe.parse((SAMPLES / "ecc-910b.txt").read_text()).readings
    assert (reading.facts.index, reading.uncorrectable, reading.check.result) == (1, 2, "unknown")


def test_slices_are_partitions_and_templates_tell_their_size() -> None:
    (device,) = devices("vnpu-two-slices.txt")
    names = ("name", "instance", "memory_total_mib", "compute_milli")
    assert column(device["partitions"], *names) == [
        ("vir10_3c_16g", 132, 16384, 500),
        ("vir05_1c_8g", 133, 8192, 250),
    ]
    text = (SAMPLES / "vnpu-two-slices.txt").read_text().replace("vir05_1c_8g ", "vir04       ")
    (reading,) = AscendProbe.parse((SAMPLES / "templates-310p.txt").read_text() + text).readings
    assert [part.memory_total_mib for part in reading.partitions] == [16384, 12288]


@pytest.mark.parametrize("name", ["dcmi-init-failed.txt", "permission-denied.txt", "no-card.txt"])
def test_a_tool_that_fails_gives_a_warning_and_no_device(name: str) -> None:
    said = parsed(name)
    assert said["devices"] == [] and said["warnings"]


def test_complaints_about_a_device_make_it_unwell_and_it_is_not_forgotten() -> None:
    assert column(devices("device-lost-lines.txt"), "index", "health") == [
        (2, "unknown"),
        (3, "unknown"),
        (5, "unhealthy"),
    ]
    beside = devices("910b2-four-healths.txt", "device-lost-lines.txt")
    assert [device["health"] for device in beside if device["index"] == 5] == ["unhealthy"]


def test_a_device_cut_off_in_the_middle_is_not_healthy() -> None:
    text = (SAMPLES / "910b2-four-healths.txt").read_text()
    (reading,) = AscendProbe.parse(text[: text.index("0000:C1")]).readings
    assert (reading.facts.index, reading.check.result, reading.facts.memory_total_mib) == (0, "unknown", None)


def test_two_lines_that_are_no_pair_make_no_device() -> None:
    lines = (SAMPLES / "910b2-four-healths.txt").read_text().splitlines()
    second = next(i for i, line in enumerate(lines) if "0000:C1" in line)
    found = AscendProbe.parse("\n".join([*lines[:second], *lines[second + 1 :]])).readings
    assert [reading.check.result for reading in found[:2]] == ["unknown", "failed"]


def test_a_quoted_table_and_one_without_its_header_are_read() -> None:
    whole = (SAMPLES / "910c-two-dies.txt").read_text()
    quoted = "\n".join(f"> {line}" for line in whole.splitlines())
    assert document(AscendProbe.parse(quoted))["devices"] == devices("910c-two-dies.txt")
    for name, total in (("310b-soc-no-bus.txt", 10810), ("910a-ddr-and-hbm.txt", 32768)):
        rows = (SAMPLES / name).read_text().split("=+\n", 1)[1]
        assert AscendProbe.parse(rows).readings[0].facts.memory_total_mib == total


def test_anything_else_is_not_recognised() -> None:
    for text in ("", "hello", "| a | b |", "\x00\xff"):
        said = AscendProbe.parse(text)
        assert not said.readings and [warning.code for warning in said.warnings] == ["not-recognised"]


def test_a_chip_whose_memory_use_cannot_be_read_is_not_taken_for_well() -> None:
    text = (SAMPLES / "910b2-four-healths.txt").read_text()
    (first, *_rest) = AscendProbe.parse(text).readings
    used = f"{first.sample.memory_used_mib}"
    for unreadable in ("-1", "4294967295"):
        (reading, *_rest) = AscendProbe.parse(text.replace(used, unreadable.ljust(len(used)), 1)).readings
        assert (reading.sample.memory_used_mib, reading.check.result) == (None, "unknown"), unreadable

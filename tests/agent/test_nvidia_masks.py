"""Captures that people shortened and masked, and details of NVIDIA's tools that other outputs must not wipe out."""

from pathlib import Path
from typing import Any

import pytest

from agent.protocol import Link
from agent.vendors.base import document
from agent.vendors.nvidia import NvidiaProbe

SAMPLES = Path(__file__).parent / "samples/nvidia"


def devices(name: str) -> list[dict[str, Any]]:
    found = document(NvidiaProbe.parse((SAMPLES / name).read_text()))["devices"]
    assert isinstance(found, list)
    return found


def pick(name: str, *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(device[key] for key in keys) for device in devices(name)]


def codes(name: str) -> list[list[str]]:
    return [[reason.partition(":")[0] for reason in device["reasons"]] for device in devices(name)]


def test_cards_with_masked_addresses_stay_apart() -> None:
    keys = ("index", "pci_bus_id", "memory_used_mib", "temperature_c", "power_w", "health")
    assert pick("table-masked-bus.txt", *keys) == [
        (0, None, 7, 31, 22.0, "healthy"),
        (1, None, 40210, 64, 281.0, "healthy"),
        (2, None, 7, 32, None, "unhealthy"),
    ]


def test_a_masked_uuid_is_none_and_joins_no_cards() -> None:
    assert pick("list-masked-uuid.txt", "index", "uuid") == [(number, None) for number in range(6)]
    assert {device["model"] for device in devices("list-masked-uuid.txt")} == {"NVIDIA A40"}
    keys = ("index", "uuid", "memory_used_mib", "utilization_pct", "health")
    assert pick("query-masked-uuid.csv", *keys) == [
        (0, None, 9, 0, "healthy"),
        (1, None, 31000, 88, "healthy"),
        (2, None, 12, 1, "healthy"),
        (3, None, 45000, 100, "healthy"),
    ]


def test_rows_with_nothing_but_masked_identities_are_counted() -> None:
    head = "uuid, memory.total [MiB], memory.used [MiB]\n"
    text = head + "GPU-****, 46068 MiB, 9 MiB\nGPU-****, 46068 MiB, 70 MiB\n"
    found = [(one.facts.index, one.sample.memory_used_mib) for one in NvidiaProbe.parse(text).readings]
    assert found == [(0, 9), (1, 70)]


def test_one_address_for_two_cards_of_a_report_is_a_mask_and_a_report_twice_is_not() -> None:
    text = (SAMPLES / "report-pending.txt").read_text()
    assert len(NvidiaProbe.parse(f"{text}\n{text}").readings) == 2
    masked = NvidiaProbe.parse(text.replace("00000000:22", "00000000:21")).readings
    assert [(one.facts.pci_bus_id, (one.facts.uuid or "")[-1:]) for one in masked] == [
        (None, "1"),
        (None, "2"),
    ]
    hidden = NvidiaProbe.parse(text.replace("00000000:22", "00000000:XX")).readings
    assert [one.facts.pci_bus_id for one in hidden] == ["0000:21:00.0", None]


def test_a_matrix_of_peers_wipes_out_no_affinity() -> None:
    found = pick("topo-then-peers.txt", "numa_node", "cpu_affinity")
    assert found == [(1, list(range(8, 16)))] * 2
    links = NvidiaProbe.parse((SAMPLES / "topo-then-peers.txt").read_text()).links
    assert links == [Link(0, 1, "NODE")]


def test_the_node_of_the_cpus_among_nodes_of_memory() -> None:
    assert pick("topo-memory-nodes.txt", "numa_node") == [(0,), (1,)]
    text = (SAMPLES / "topo-memory-nodes.txt").read_text().replace("8\n", "N/A\n", 1)
    assert [one.facts.numa_node for one in NvidiaProbe.parse(text).readings] == [None, 1]


def test_what_waits_for_a_reset_keeps_jobs_away_and_reports_its_memory() -> None:
    assert codes("report-pending.txt") == [["row-remap-pending"], ["page-retirement-pending"]]
    assert pick("report-pending.txt", "health", "memory_used_mib") == [("unhealthy", 0), ("unhealthy", 17)]


@pytest.mark.parametrize(
    ("column", "code"),
    [("remapped_rows.pending", "row-remap-pending"), ("retired_pages.pending", "page-retirement-pending")],
)
def test_columns_of_what_waits_for_a_reset(column: str, code: str) -> None:
    text = f"index, memory.total [MiB], memory.used [MiB], {column}\n0, 80 MiB, 4 MiB, Yes\n1, 80 MiB, 4 MiB, No\n"
    first, second = NvidiaProbe.parse(text).readings
    assert (first.check.code, second.check.result) == (code, "ok")


def test_an_old_name_of_the_memory() -> None:
    keys = ("memory_total_mib", "memory_used_mib", "health")
    assert pick("k40-memory-usage.xml", *keys) == [(11519, 55, "healthy")]


def test_columns_that_only_the_command_names() -> None:
    keys = ("model", "memory_total_mib", "memory_used_mib", "utilization_pct", "health")
    assert pick("query-told-by-command.txt", *keys) == [
        ("NVIDIA A40", 46068, 310, 12, "healthy"),
        ("NVIDIA A40", 46068, 0, 0, "healthy"),
    ]


def test_a_load_is_no_counter_of_errors() -> None:
    assert pick("vgpu-table.txt", "ecc", "utilization_pct", "health") == [(None, 14, "unknown")]

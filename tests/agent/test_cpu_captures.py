"""What lscpu, numactl and listings of /sys printed once: our own samples, and what must come out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.vendors import cpu
from agent.vendors.base import NO_INDEX, document

SAMPLES = Path(__file__).parent / "samples/cpu"


def parsed(*names: str) -> dict[str, Any]:
    return document(cpu.parse("\n".join((SAMPLES / name).read_text() for name in names)))


def column(said: dict[str, Any], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(thread[name] for name in names) for thread in said["cpus"]]


def nodes(said: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(node["id"], node["cpus"], node["memory_mib"]) for node in said["numa"]]


def test_the_first_table_tells_cores_sockets_and_nodes() -> None:
    said = parsed("lscpu-two-sockets.txt")
    assert (said["cpu_model"], said["sockets"]) == ("Intel(R) Xeon(R) Gold 5416S", 2)
    assert column(said, "core", "socket", "numa", "max_mhz") == [
        (core, core // 2, core // 2, 4000) for core in (0, 1, 2, 3, 0, 1, 2, 3)
    ]
    assert nodes(said) == [(0, [0, 1, 4, 5], None), (1, [2, 3, 6, 7], None)]


def test_runs_of_a_nodes_list_tell_siblings_where_there_is_no_table() -> None:
    said = parsed("lscpu-blocks-no-table.txt")
    assert [core for (core,) in column(said, "core")] == [0, 1, 2, 3, 4, 5, 6, 7] * 2
    assert {socket for (socket,) in column(said, "socket")} == {None}


def test_one_run_tells_no_siblings() -> None:
    text = (SAMPLES / "lscpu-blocks-no-table.txt").read_text()
    one = text.replace("0-3,8-11", "0-7").replace("4-7,12-15", "8-15")
    threads = cpu.parse(one).cpus
    assert {thread.core for thread in threads} == {NO_INDEX} and len(threads) == 16


def test_chinese_output_reads_the_same() -> None:
    said = parsed("lscpu-chinese-4-nodes.txt")
    assert (said["cpu_model"], said["sockets"], len(said["cpus"])) == ("Kunpeng-920", 2, 8)
    assert [number for number, online in column(said, "id", "online") if not online] == [6, 7]
    assert nodes(said) == [(0, [0, 1], None), (1, [2, 3], None), (2, [4, 5], None), (3, [], None)]
    assert {mhz for (mhz,) in column(said, "max_mhz")} == {2600}


def test_other_languages_read_the_same() -> None:
    french = parsed("lscpu-french-2-nodes.txt")
    assert (french["cpu_model"], french["sockets"]) == ("Intel(R) Xeon(R) Bronze 3106 CPU @ 1.70GHz", 2)
    assert nodes(french) == [(0, [0, 1, 2, 6, 7, 8], None), (1, [3, 4, 5, 9, 10, 11], None)]
    assert column(french, "core", "max_mhz") == [(core, 1700) for core in (0, 1, 2, 3, 4, 5) * 2]
    spanish = parsed("lscpu-spanish.txt")
    assert (spanish["sockets"], spanish["cpu_model"]) == (1, "AMD Ryzen 5 3500 6-Core Processor")
    assert column(spanish, "id", "max_mhz", "online") == [(number, 4100, True) for number in range(6)]


@pytest.mark.parametrize(
    "text",
    [
        "CPU(s): 4\nModellname: E\nSockel: 2\nNUMA-Knoten1 CPU(s): 0-3",
        "CPU: 4\nモデル名: E\nソケット数: 2\nNUMAノード 1 CPU: 0-3",
        "CPU(s): 4\nNome do modelo: E\nSoquete(s): 2\nNUMA node1 CPU(s): 0-3",
        "CPU(s): 4\nИмя модели: E\nСокетов: 2\nNUMA node1 CPU(s): 0-3",
    ],
    ids=["German", "Japanese", "Portuguese", "Russian"],
)
def test_every_language_names_the_fields(text: str) -> None:
    said = document(cpu.parse(text))
    assert (said["cpu_model"], said["sockets"]) == ("E", 2)
    assert nodes(said) == [(1, [0, 1, 2, 3], None)]


def test_places_where_no_cpu_is_are_no_cpus() -> None:
    said = parsed("lscpu-places-beyond.txt")
    assert column(said, "id", "online") == [(number, number < 4) for number in range(6)]
    assert nodes(said) == [(0, [0, 1, 2, 3], None)] and said["sockets"] == 3


def test_the_extended_table_is_read_by_its_header() -> None:
    said = parsed("lscpu-extended-hybrid.txt")
    assert column(said, "id", "core", "max_mhz", "online") == [
        (0, 0, 5600, True),
        (1, 0, 5600, True),
        (2, 1, 4200, True),
        (3, 2, 4200, True),
        (4, None, None, False),
    ]
    assert nodes(said) == [(0, [0, 1, 2, 3], None)]


def test_json_is_read_nested_or_flat() -> None:
    said = parsed("lscpu-nested.json")
    assert (said["cpu_model"], said["sockets"]) == ("AMD EPYC 9355", 1)
    assert nodes(said) == [(0, [0, 1, 2, 3], None), (1, [], None)]
    assert {mhz for (mhz,) in column(said, "max_mhz")} == {4428}
    assert column(parsed("lscpu-extended.json"), "id", "socket", "numa", "max_mhz", "online") == [
        (0, 0, 0, 3700, True),
        (1, 1, 1, 3700, True),
        (2, None, None, None, False),
    ]


def test_kinds_of_cores_keep_their_own_frequency_and_number() -> None:
    said = parsed("lscpu-two-core-types.txt")
    assert said["cpu_model"] == "Cortex-A55 + Cortex-A76"
    assert column(said, "core", "max_mhz") == [
        (0, 1800),
        (1, 1800),
        (2, 1800),
        (3, 1800),
        (4, 2256),
        (5, 2256),
    ]


def test_the_fastest_cores_maximum_is_not_everybodys() -> None:
    text = (SAMPLES / "lscpu-two-sockets.txt").read_text().replace("7,3,1,1,,3,3,3,1", "7,7,1,1,,7,7,7,1", 1)
    assert {thread.max_mhz for thread in cpu.parse(text).cpus} == {None}


def test_zero_threads_per_core_and_offline_cpus_of_a_nodes_list() -> None:
    said = parsed("lscpu-threads-zero.txt")
    assert said["cpu_model"] is None
    assert nodes(said) == [(0, [0], None), (1, [3], None)]
    assert [number for number, online in column(said, "id", "online") if online] == [0, 3]


def test_memory_of_nodes_without_cpus_is_told_and_not_the_hosts() -> None:
    said = parsed("numactl-far-memory.txt")
    assert nodes(said)[2] == (2, [], 262144) and said["memory_mib"] == 128640 + 129013
    assert [node["distances"] for node in said["numa"]] == [[10, 21, 24], [21, 10, 14], [24, 14, 10]]


def test_a_listing_of_sys_tells_the_same() -> None:
    said = parsed("sysfs-grep.txt")
    assert column(said, "id", "core", "socket", "numa", "max_mhz", "online") == [
        (0, 0, 0, 0, 3900, True),
        (1, 0, 0, 0, 3900, True),
        (2, 1, None, 1, None, True),
        (3, None, None, 1, None, False),
    ]
    assert nodes(said) == [(0, [0, 1], 65536), (1, [2], 32768), (9, [], None)]
    assert (said["memory_mib"], said["numa"][0]["distances"]) == (98304, [10, 32, 80])
    assert [
        (device["pci_bus_id"], device["numa_node"], device["cpu_affinity"]) for device in said["devices"]
    ] == [
        ("0009:01:00.0", 1, [2, 3]),
        ("0009:02:00.0", None, None),
    ]


def test_lines_of_pairs_tell_the_same() -> None:
    said = parsed("sysfs-pairs.txt")
    assert column(said, "core", "max_mhz", "numa") == [(0, 4800, 0), (1, 3600, 0), (0, 4800, 0)]
    assert nodes(said) == [(0, [0, 1, 2], 32768), (1, [], None)]
    assert [(device["numa_node"], device["health"]) for device in said["devices"]] == [(None, "unknown")]


def test_cpuinfo_and_meminfo() -> None:
    said = parsed("cpuinfo-two.txt", "meminfo.txt")
    assert (said["cpu_model"], said["sockets"], said["memory_mib"]) == ("Intel(R) Xeon(R) 6767P", 2, 515606)
    assert column(said, "core", "socket", "max_mhz") == [(4, 0, None), (4, 1, None)]


def test_several_outputs_in_one_text_are_one_host() -> None:
    said = parsed("lscpu-blocks-no-table.txt", "numactl-far-memory.txt")
    assert nodes(said)[0] == (0, [0, 1, 2, 3, 8, 9, 10, 11], 128640) and said["sockets"] == 2


@pytest.mark.parametrize(
    "text", ["", "hello", "{", "[]", '{"lscpu": 3, "cpus": [1, null]}', "# CPU\n1", "node:"]
)
def test_anything_else_is_not_recognised(text: str) -> None:
    said = cpu.parse(text)
    assert not said.cpus and [warning.code for warning in said.warnings] == ["not-recognised"]


@pytest.mark.parametrize(
    "line", ["CPU(s): 99999999999999", "On-line CPU(s) list: 0-4000000000", "NUMA node0 CPU(s): 0-65535,x"]
)
def test_absurd_numbers_cost_nothing(line: str) -> None:
    assert len(cpu.parse(f"{line}\nModel name: x\n").cpus) <= 1 << 13


def test_paths_above_their_text_and_masks_are_read() -> None:
    base = "/sys/devices/system"
    files = {
        f"{base}/cpu/online": "0-1",
        f"{base}/cpu/cpu1/cpufreq/cpuinfo_max_freq": "2500000",
        f"{base}/node/node0/cpulist": "0-3",
    }
    said = cpu.parse("\n".join(f"==> {path} <==\n{text}\n" for path, text in files.items()))
    assert [node.cpus for node in said.numa] == [[0, 1]]
    assert [thread.max_mhz for thread in said.cpus if thread.id == 1] == [2500]
    masks = "CPU(s): 4\nOn-line CPU(s) mask: 0x5\nNUMA node0 CPU(s): 0xf\n"
    assert [node.cpus for node in cpu.parse(masks).numa] == [[0, 2]]


def test_a_slot_below_bridges_is_the_last_of_its_path() -> None:
    said = cpu.parse("/sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/numa_node:3\n")
    assert [(reading.facts.pci_bus_id, reading.facts.numa_node) for reading in said.readings] == [
        ("0000:c1:00.0", 3)
    ]

"""Layouts of the other vendors' tools and of /proc beside those of the samples."""

from typing import Any

import pytest

from agent.vendors import PARSERS
from agent.vendors.base import document

CNMON = """\
+------------------------------------------------------------------------------+
| CNMON v6.1.9                                              Driver v6.1.9      |
+-------------------------------+----------------------+-----------------------+
| Card  VF  Name       Firmware |               Bus-Id | Util        Ecc-Error |
| Fan   Temp      Pwr:Usage/Cap |         Memory-Usage | Mode     Compute-Mode |
|===============================+======================+=======================|
| 3     /   MLU580     v1.3.0   |         0000:5E:00.0 | 41%                 0 |
|  0%   52C       188 W/ 350 W  |   N/A  / 49152 MiB   | FULL          Default |
+-------------------------------+----------------------+-----------------------+

+------------------------------------------------------------------------------+
| Processes:                                                                   |
|  Card  MI  PID     Command Line                             MLU Memory Usage |
|==============================================================================|
|  3     /   70112   ./serve --port 80                               9120 MiB  |
+------------------------------------------------------------------------------+
"""
CPUINFO = """\
system type\t\t: generic-loongson-machine

processor\t\t: 0
package\t\t\t: 0
core\t\t\t: 0
global_id\t\t: 0
Model Name\t\t: Loongson-3D5000

processor\t\t: 1
package\t\t\t: 1
core\t\t\t: 0
global_id\t\t: 1
"""


def parsed(vendor: str, text: str) -> dict[str, Any]:
    return document(PARSERS[vendor](text))


def test_processes_of_whole_cards_of_cnmon_6() -> None:
    (device,) = parsed("cambricon", CNMON)["devices"]
    assert (device["memory_used_mib"], device["memory_total_mib"]) == (None, 49152)
    assert device["processes"] == [{"pid": 70112, "name": "./serve --port 80", "memory_used_mib": 9120}]


@pytest.mark.parametrize(
    ("said", "health"),
    [(" Good", "healthy"), (" Bad", "unhealthy"), ("", "unknown"), ("\n        Device : Good", "healthy")],
)
def test_health_of_a_card_is_told_in_one_line_or_for_each_part(said: str, health: str) -> None:
    text = f"Card 0\n    Product Name : MLU370-S4\n    Health State :{said}\n    Temperature :\n        Board : 50 C\n"
    (device,) = parsed("cambricon", text)["devices"]
    assert device["health"] == health


def test_cores_and_packages_of_other_architectures() -> None:
    found = parsed("cpu", CPUINFO)
    assert (found["cpu_model"], found["sockets"]) == ("Loongson-3D5000", 2)
    assert [(cpu["id"], cpu["socket"]) for cpu in found["cpus"]] == [(0, 0), (1, 1)]


@pytest.mark.parametrize("word", ["GPU", "DCU", "HCU"])
def test_links_between_devices_of_any_name(word: str) -> None:
    rows = [
        f"       {word}0         {word}1         {word}2",
        f"{word}0   0            XGMI         PCIE",
        f"{word}1   XGMI         0            XGMI",
        f"{word}2   PCIE         XGMI         0",
    ]
    links = parsed("hygon", "\n".join(rows))["links"]
    assert [(link["a"], link["b"], link["kind"]) for link in links] == [
        (0, 1, "XGMI"),
        (0, 2, "PCIE"),
        (1, 2, "XGMI"),
    ]


def test_a_name_of_several_words_in_a_list() -> None:
    text = "GPU#4  MetaX C550  0000:4a:00.0\n    Memory\n        vram total : 67108864 KB\n"
    (device,) = parsed("metax", text)["devices"]
    figures = (device["index"], device["model"], device["pci_bus_id"], device["memory_total_mib"])
    assert figures == (4, "MetaX C550", "0000:4a:00.0", 65536)


@pytest.mark.parametrize("vendor", ["cambricon", "tenstorrent"])
def test_many_blank_lines_are_passed_over(vendor: str) -> None:
    assert parsed(vendor, "\n" * 100_000)["devices"] == []


def test_many_documents_on_lines_of_their_own() -> None:
    assert parsed("tenstorrent", "[[1]]\n" * 20_000)["devices"] == []


@pytest.mark.parametrize(("cores", "mhz"), [(6, None), (4, 4800)])
def test_the_one_maximum_is_not_that_of_cores_which_differ(cores: int, mhz: int | None) -> None:
    text = "\n".join(
        [
            "Architecture:             x86_64",
            "CPU(s):                   8",
            "On-line CPU(s) list:      0-7",
            "Thread(s) per core:       2",
            f"Core(s) per socket:       {cores}",
            "Socket(s):                1",
            "CPU max MHz:              4800.0000",
        ]
    )
    assert {cpu["max_mhz"] for cpu in parsed("cpu", text)["cpus"]} == {mhz}

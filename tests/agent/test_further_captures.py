"""Further captures, one of each kind that was read wrongly or might be: all that is told, and nothing that is not."""

from pathlib import Path
from typing import Any

import pytest

from agent.vendors import PARSERS
from agent.vendors.base import Readout, document

SAMPLES = Path(__file__).parent / "samples"
FIGURES = (
    *("index", "pci_bus_id", "memory_used_mib", "memory_total_mib"),
    *("utilization_pct", "temperature_c", "power_w", "health"),
)


def readout(name: str) -> Readout:
    return PARSERS[name.partition("/")[0]]((SAMPLES / name).read_text())


def devices(name: str) -> list[dict[str, Any]]:
    found = document(readout(name))["devices"]
    assert isinstance(found, list)
    return found


EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "amd/concise-socket-power.txt": [
        (0, None, None, None, 0, 42, 141.0, "healthy"),
        (1, None, None, None, None, None, None, "unknown"),
        (2, None, None, None, 0, 40, 138.0, "healthy"),
    ],
    "amd/lines-sensor-numbers.txt": [
        (0, None, 8111, 24560, 71, 60, 187.0, "healthy"),
        (1, None, None, None, 5, 44, None, "healthy"),
    ],
    "amd/metric-sentinels.json": [
        (0, None, 284, 196592, 0, 104, 133.0, "healthy"),
        (1, None, None, None, None, None, None, "unknown"),
        (2, None, 284, 196592, None, None, None, "unknown"),
    ],
    "amd/overview-one-silent.txt": [
        (0, "0000:05:00.0", 283, 196592, 0, 41, 138.0, "healthy"),
        (1, "0000:26:00.0", 283, 196592, 0, 43, 140.0, "healthy"),
        (2, "0000:46:00.0", None, None, None, None, None, "unknown"),
    ],
    "ascend/310p3-duo-unhealthy.txt": [
        (0, "0000:01:00.0", 1711, 44280, 0, 44, None, "healthy"),
        (1, "0000:01:00.0", 31022, 43693, 97, 43, None, "healthy"),
        (2, "0000:81:00.0", None, None, 0, None, None, "unhealthy"),
    ],
    "ascend/910a-alarm.txt": [
        (0, "0000:c1:00.0", 1, 32768, 0, 41, 71.9, "healthy"),
        (1, "0000:81:00.0", 1, 32768, 0, 96, 66.2, "unhealthy"),
    ],
    "ascend/a3-dies-share-phy.txt": [
        (6, "0000:2d:00.0", 9130, 65536, 12, 36, 166.8, "healthy"),
        (7, "0000:2f:00.0", 2877, 65536, 0, 36, None, "healthy"),
    ],
    "cambricon/cnmon-6.2-silent.txt": [
        (0, "0000:0e:00.0", 33654, 98304, 99, 41, 212.0, "healthy"),
        (1, "0000:12:00.0", 0, 98304, 0, 33, 101.0, "healthy"),
        (2, "0000:16:00.0", None, None, None, None, None, "unknown"),
    ],
    "cambricon/cnmon-lost-line.txt": [
        (0, "0000:1a:00.0", 10, 47872, 0, 33, 100.0, "healthy"),
        (1, "0000:1b:00.0", None, 47872, None, None, None, "unhealthy"),
        (2, None, None, None, None, None, None, "unhealthy"),
    ],
    "hygon/hy-smi-not-read.txt": [
        (0, None, None, None, 0, 43, 21.0, "healthy"),
        (1, None, None, None, None, None, None, "unknown"),
    ],
    "hygon/hy-smi-silent.json": [
        (0, "0000:9f:00.0", 7900, 65520, 33, 47, 120.0, "healthy"),
        (1, "0000:af:00.0", 0, 65520, None, None, None, "unknown"),
    ],
    "iluvatar/ixsmi-sick-and-lost.txt": [
        (0, "0001:01:00.0", 70, 32768, 0, 61, 42.0, "healthy"),
        (1, "0001:02:00.0", 70, 32768, 0, 61, None, "unhealthy"),
        (2, "0001:03:00.0", None, None, None, None, None, "unhealthy"),
    ],
    "metax/mx-smi-2.1-power-alone.txt": [
        (0, "0000:05:00.0", 812, 65536, 3, 52, 88.0, "healthy"),
        (1, "0000:08:00.0", None, None, None, None, None, "unknown"),
    ],
    "metax/mx-smi-2.2-states.txt": [
        (0, "0000:01:00.0", 1043, 65536, 0, 38, 92.0, "healthy"),
        (1, "0000:02:00.0", 1043, 65536, 0, 38, 92.0, "unhealthy"),
        (2, "0000:03:00.0", None, None, 0, None, None, "unhealthy"),
    ],
    "metax/mx-smi-list-two-away.txt": [
        (0, "0000:2b:00.0", None, None, None, None, None, "healthy"),
        (1, "0000:2c:00.0", None, None, None, None, None, "unhealthy"),
        (2, "0000:3b:00.0", None, None, None, None, None, "unhealthy"),
    ],
    "mthreads/gmi-sick-and-silent.txt": [
        (0, "0000:01:00.0", 0, 49152, 0, 41, None, "healthy"),
        (1, "0000:02:00.0", None, 49152, None, None, None, "unhealthy"),
        (2, "0000:03:00.0", None, None, None, None, None, "unknown"),
    ],
    "nvidia/gb200-fabric-degraded.xml": [
        (0, "0008:01:00.0", 12, 189471, 0, 35, 170.8, "healthy"),
        (1, "0009:01:00.0", None, 189471, 0, 36, 169.0, "unhealthy"),
    ],
    "nvidia/l40-vgpu-host.xml": [
        (0, "0000:65:00.0", 22784, 46068, 12, 44, 79.1, "healthy"),
    ],
    "nvidia/lost-between-commands.txt": [
        (0, None, 23, None, None, None, None, "healthy"),
        (None, "0000:41:00.0", None, None, None, None, None, "unhealthy"),
    ],
    "nvidia/nvlink-error-counts.txt": [
        (0, None, None, None, None, None, None, "unknown"),
    ],
    "nvidia/report-304.txt": [
        (0, "0000:02:00.0", 112, 2687, None, 51, None, "healthy"),
    ],
    "nvidia/report-mig.txt": [
        (0, "0000:1a:00.0", 80, 143771, None, 37, 118.2, "healthy"),
    ],
    "nvidia/report-sram-errors.txt": [
        (0, "0000:1b:00.0", None, None, None, None, None, "unknown"),
        (1, "0000:3c:00.0", None, None, None, None, None, "unhealthy"),
    ],
    "nvidia/topo-escapes-lost.txt": [
        (0, None, None, None, None, None, None, "unknown"),
        (1, None, None, None, None, None, None, "unknown"),
    ],
    "nvidia/v11-lost-in-its-element.xml": [
        (0, "0000:3b:00.0", 0, 22731, 0, 31, 17.01, "healthy"),
        (1, "0000:5e:00.0", None, None, None, None, None, "unhealthy"),
    ],
    "nvidia/v9-pending-and-sick.xml": [
        (0, "0000:04:00.0", 10, 16276, 0, 34, 31.44, "unhealthy"),
        (1, "0000:82:00.0", None, 16276, None, None, None, "unhealthy"),
    ],
    "nvidia/xids-of-two-kernels.log": [
        (None, "0008:01:00.0", None, None, None, None, None, "unhealthy"),
        (None, "0009:01:00.0", None, None, None, None, None, "unknown"),
        (None, "0010:01:00.0", None, None, None, None, None, "unhealthy"),
        (None, "0011:01:00.0", None, None, None, None, None, "unhealthy"),
        (None, "0012:01:00.0", None, None, None, None, None, "unhealthy"),
    ],
    "tenstorrent/n300-half-dead.json": [
        (0, "0000:0a:00.0", None, None, None, 39, 16.0, "healthy"),
        (1, None, None, None, None, 39, 16.0, "unhealthy"),
    ],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_told_of_each_device(name: str) -> None:
    assert [tuple(device[figure] for figure in FIGURES) for device in devices(name)] == EXPECTED[name]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nvidia/gb200-fabric-degraded.xml", "fabric-failed: fabric bandwidth: Degraded"),
        ("nvidia/report-sram-errors.txt", "sram-errors-exceeded"),
        ("nvidia/v11-lost-in-its-element.xml", "lost: gpu: GPU is lost."),
        ("ascend/310p3-duo-unhealthy.txt", "error-state: Health: Unhealthy"),
        ("iluvatar/ixsmi-sick-and-lost.txt", "lost: Device is lost"),
    ],
)
def test_the_last_device_says_why_it_is_not_well(name: str, reason: str) -> None:
    assert devices(name)[-1]["reasons"][0].startswith(reason)


def test_colours_whose_escapes_were_lost_in_copying_hide_no_column() -> None:
    found = readout("nvidia/topo-escapes-lost.txt")
    assert [(link.a, link.b, link.kind, link.lanes) for link in found.links] == [(0, 1, "NV", 18)]
    assert [one.facts.cpu_affinity for one in found.readings] == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize("escape", ["\x1b", "\u241b", "^[", ""])
def test_colours_are_taken_out_however_they_are_spelled(escape: str) -> None:
    text = (SAMPLES / "nvidia/topo-escapes-lost.txt").read_text().replace("[4m", f"{escape}[4m")
    assert len(PARSERS["nvidia"](text.replace("[0m", f"{escape}[0m")).links) == 1


def test_slices_of_a_report_are_no_devices_of_their_own() -> None:
    (device,) = devices("nvidia/report-mig.txt")
    assert [(part["instance"], part["memory_total_mib"]) for part in device["partitions"]] == [(2, 71424)]


@pytest.mark.parametrize(
    ("name", "model", "sockets", "nodes", "cpus"),
    [
        ("cpu/lscpu-french.txt", "Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz", 1, [12], 12),
        ("cpu/lscpu-japanese.txt", "Intel(R) Core(TM) i5-7500 CPU @ 3.40GHz", 1, [4], 4),
        ("cpu/lscpu-grace.json", "Neoverse-V2", 2, [72, 72, 0, 0], 144),
        ("cpu/numactl-grace-hopper.txt", None, None, [4, 0, 0], 4),
    ],
)
def test_processors_in_other_languages_and_nodes_without_any(
    name: str, model: str | None, sockets: int | None, nodes: list[int], cpus: int
) -> None:
    found = readout(name)
    assert (found.cpu_model, found.sockets, len(found.cpus)) == (model, sockets, cpus)
    assert [len(node.cpus) for node in found.numa] == nodes
    assert found.memory_mib in (None, 490310)  # memory of a device is none of the host's

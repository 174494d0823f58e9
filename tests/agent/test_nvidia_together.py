"""Several outputs of NVIDIA's tools about one host in one file, in whatever order."""

from itertools import permutations
from typing import Any

import pytest

from agent.protocol import Vendor
from agent.vendors import PROBES
from agent.vendors.base import document

UUIDS = ("GPU-5f0a1c22-90ab-4d3e-8812-6e0b7c5d1a01", "GPU-5f0a1c22-90ab-4d3e-8812-6e0b7c5d1a02")
BUSES = ("00000000:2B:00.0", "00000000:E1:00.0")
NAMED = "".join(f"GPU {i}: NVIDIA L20 (UUID: {uuid})\n" for i, uuid in enumerate(UUIDS))
OUTPUTS = {
    "table": "| NVIDIA-SMI 565.57.01     Driver Version: 565.57.01     CUDA Version: 12.7 |\n"
    "|=====================+======================+===================|\n"
    + "+---------------------+----------------------+-------------------+\n".join(
        f"|   {i}  NVIDIA L20   On  |   {bus} Off |                 0 |\n"
        f"| N/A   3{i}C    P8   21W / 275W |   {700 + i}MiB / 46068MiB |   {5 + i}%   Default |\n"
        for i, bus in enumerate(BUSES)
    )
    + "+---------------------+----------------------+-------------------+\n"
    + "| Processes: |\n"
    + "".join(f"|    {i}   N/A  N/A      {900 + i}      C   python      {600 + i}MiB |\n" for i in range(2)),
    "list": NAMED,
    "report": "Driver Version : 565.57.01\nAttached GPUs : 2\n"
    + "".join(
        f"GPU {bus}\n    GPU UUID : {uuid}\n    FB Memory Usage\n        Total : 46068 MiB\n"
        f"        Used : {700 + i} MiB\n    Utilization\n        Gpu : {5 + i} %\n"
        for i, (bus, uuid) in enumerate(zip(BUSES, UUIDS, strict=True))
    ),
    "memory report": "".join(
        f"GPU {bus}\n    FB Memory Usage\n        Total : 46068 MiB\n        Used : 70{i} MiB\n"
        for i, bus in enumerate(BUSES)
    ),
    "csv": "index, uuid, pci.bus_id, temperature.gpu, memory.used [MiB], memory.total [MiB]\n"
    + "".join(f"{i}, {UUIDS[i]}, {BUSES[i]}, 3{i}, {700 + i} MiB, 46068 MiB\n" for i in range(2)),
    "short csv": "index, utilization.gpu [%], memory.used [MiB], power.draw [W]\n"
    + "".join(f"{i}, {5 + i} %, {700 + i} MiB, 2{i}.31 W\n" for i in range(2)),
    "bare rows": "".join(f"{i}, NVIDIA L20, {uuid}\n" for i, uuid in enumerate(UUIDS)),
    "processes": "pid, process_name, gpu_uuid, used_gpu_memory [MiB]\n"
    + "".join(f"{900 + i}, python, {uuid}, {600 + i} MiB\n" for i, uuid in enumerate(UUIDS)),
    "topology": "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNODE\t0-23\t0\nGPU1\tNODE\t X \t24-47\t1\n",
    "peers": " \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tOK\tX\t\n\nLegend:\n\n  X    = Self\n",
    "links": NAMED.replace(")\n", ")\n\t Link 0: 26.562 GB/s\n"),
}
TELLING = (
    "index",
    "uuid",
    "pci_bus_id",
    "memory_used_mib",
    "utilization_pct",
    "numa_node",
    "cpu_affinity",
    "ports",
)
# Rows of processes name devices by UUID only; beside a listing without UUIDs and processes nobody knows whose they are.
APART = {"memory report", "short csv", "topology", "peers"}
# Rows without a header are taken for rows of the header above them.
PAIRS = [names for names in permutations(OUTPUTS, 2) if names != ("processes", "bare rows")]


def devices(*names: str, between: str = "") -> list[dict[str, Any]]:
    found = document(PROBES[Vendor.NVIDIA].parse(between.join(OUTPUTS[name] for name in names)))["devices"]
    assert isinstance(found, list)
    return found


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return any(one[key] is not None and one[key] == other[key] for key in ("index", "uuid", "pci_bus_id"))


@pytest.mark.parametrize("between", ["", "\n$ nvidia-smi -x\n"], ids=["close", "prompt"])
@pytest.mark.parametrize("names", PAIRS, ids=" + ".join)
def test_two_outputs_say_what_each_of_them_says(names: tuple[str, str], between: str) -> None:
    found = devices(*names, between=between)
    assert len(found) == 2
    for name in names:
        for alone in devices(name):
            if name == "processes" and APART & set(names):
                assert not any(same(device, alone) for device in found)
                continue
            (joined,) = (device for device in found if same(device, alone))
            assert {key: joined[key] for key in TELLING if alone[key]} == {
                key: alone[key] for key in TELLING if alone[key]
            }
            assert alone["health"] != "healthy" or joined["health"] == "healthy"


def test_processes_name_the_device_that_has_them() -> None:
    assert [(one["uuid"], len(one["processes"])) for one in devices("table", "processes")] == [
        (UUIDS[0], 1),
        (UUIDS[1], 1),
    ]


def test_what_was_not_asked_for_is_no_gap() -> None:
    assert [one["health"] for one in devices("short csv")] == ["healthy", "healthy"]
    assert [one["health"] for one in devices("bare rows")] == ["unknown", "unknown"]

"""Tools of the seven vendors beside NVIDIA and Ascend, from samples written for the purpose."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.protocol import CheckResult, Link, Vendor
from agent.vendors import PROBES
from agent.vendors.base import Readout, document
from agent.vendors.reading.findings import mib

SAMPLES = Path(__file__).parent / "samples"
OTHERS = [vendor for vendor in Vendor if vendor not in (Vendor.NVIDIA, Vendor.ASCEND)]


def readout(name: str) -> Readout:
    return PROBES[Vendor(name.partition("/")[0])].parse((SAMPLES / name).read_text())


def devices(name: str) -> list[dict[str, Any]]:
    found = document(readout(name))["devices"]
    assert isinstance(found, list)
    json.dumps(found)
    return found


def summary(device: dict[str, Any]) -> str:
    """index model used/total MiB util% temp power/limit health, each `-` where it is unknown."""
    names = ("index", "model", "memory_used_mib", "memory_total_mib", "utilization_pct", "temperature_c")
    shown = [device[name] for name in (*names, "power_w", "power_limit_w", "health")]
    index, model, used, total, use, heat, power, limit, health = (
        "-" if one is None else one for one in shown
    )
    return f"{index} {model} {used}/{total} {use}% {heat}C {power}/{limit}W {health}"


EXPECTED = {
    "amd/rocm-smi-two-cards.json": [
        "0 AMD Instinct MI210 12288/65520 37% 41C 52.0/300W healthy",
        "1 AMD Instinct MI210 11/65520 0% 46C 49.5/300W healthy",
    ],
    "amd/rocm-smi-old-keys-sick.json": [
        "1 Vega 10 700/8176 99% 118C 190.0/-W unhealthy",
        "3 Vega 10 1/8176 0% -C 22.0/-W unhealthy",
    ],
    "amd/rocm-smi-concise-old.txt": ["0 - -/- 98% 47C 61.0/220W healthy", "1 - -/- 0% 35C 18.0/220W healthy"],
    "amd/rocm-smi-concise-new.txt": ["0 - -/- 83% 51C 213.0/750W healthy", "1 - -/- 0% 43C -/750W healthy"],
    "amd/rocm-smi-lines.txt": [
        "0 - 10/65520 -% -C -/-W healthy",
        "1 - 28672/65520 -% -C -/-W healthy",
        "2 - -/- -% -C -/-W unhealthy",
    ],
    "amd/rocm-smi-use.csv": ["0 - 4096/16368 12% -C -/-W healthy", "1 - 17/16368 0% -C -/-W healthy"],
    "amd/amd-smi-static-list.json": [
        "0 AMD Instinct MI325X -/262128 -% -C -/1000W unknown",
        "1 AMD Instinct MI325X -/262128 -% -C -/1000W unknown",
    ],
    "amd/amd-smi-metric-gpu-data.json": [
        "0 - 285/262128 12% 46C 141.0/-W healthy",
        "1 - 285/262128 100% 111C 141.0/-W unhealthy",
    ],
    "amd/amd-smi-static.txt": [
        "0 AMD Instinct MI250X -/65520 -% -C -/-W unknown",
        "1 AMD Instinct MI250X -/65520 -% -C -/-W unknown",
    ],
    "amd/amd-smi-overview.txt": [
        "0 AMD Instinct MI300X 81203/196592 61% 48C 187.0/750W healthy",
        "1 AMD Instinct MI300X -/- -% -C -/-W unknown",
    ],
    "amd/amd-smi-monitor.txt": ["0 - 43520/196301 87% 71C 655.0/-W healthy"],  # the last of several looks
    "amd/rocm-smi-nameless.json": ["0 0x73ff 1000/8176 4% 51C 31.0/-W healthy"],
    "cambricon/cnmon-4.9.txt": [
        "0 MLU290-M5 30102/32768 88% 61C 263.0/350W healthy",
        "1 MLU290-M5 -/32768 -% -C -/-W unhealthy",
    ],
    "cambricon/cnmon-6.2.txt": [
        "0 MLU590-H8 9216/81920 12% 41C 171.0/550W healthy",
        "3 MLU590-H8 -/81920 0% 38C -/550W unhealthy",
    ],
    "cambricon/cnmon-info.txt": [
        "0 MLU370-S4 2048/23308 43% 57C 38.0/75W healthy",
        "1 MLU370-S4 -/23308 0% 33C 21.0/75W unhealthy",
    ],
    "hygon/hy-smi-dcu.txt": [
        "0 - -/- 97% 54C 231.0/300W healthy",
        "1 - -/- -% -C -/-W unknown",
        "2 - -/- 0% 48C 27.0/300W healthy",
    ],
    "hygon/hy-smi-lines.txt": [
        "0 - 12058/32752 15% 47C 133.0/-W healthy",
        "1 - 3/32752 0% -C 88.0/-W healthy",
    ],
    "hygon/hy-smi-health.txt": [
        "0 - -/- -% -C -/-W healthy",
        "1 - -/- -% -C -/-W unhealthy",
        "2 - -/- -% -C -/-W unknown",
    ],
    "hygon/hy-smi.json": [
        "0 K100_AI 59012/65520 3% 46C 107.0/400W healthy",
        "1 K100_AI -/65452 7% 50C -/-W healthy",
    ],
    "hygon/hy-smi-use.csv": ["1 - -/- 77% -C -/-W unknown", "2 - -/- 0% -C -/-W unknown"],
    "mthreads/gmi-two-s4000.txt": [
        "0 MTT S4000 40122/49152 91% 71C -/-W healthy",
        "1 MTT S4000 -/49152 -% -C -/-W unhealthy",
    ],
    "mthreads/gmi-mpc-parent.txt": ["2 MTT S3000 30094/32768 58% 57C -/-W healthy"],
    "mthreads/gmi-q.txt": [
        "0 MTT S90 1503/24576 35% 61C 153.59/-W healthy",
        "1 MTT S90 -/24576 0% 30C -/-W unhealthy",
    ],
    "mthreads/gmi-q-without-indentation.txt": [
        "0 MTT S90 1503/24576 35% 61C 153.59/-W healthy",
        "1 MTT S90 -/24576 0% 30C -/-W unhealthy",
    ],
    "mthreads/gmi-q.json": [
        "0 MTT S5000 512/81920 4% 39C 128.4/950W healthy",
        "5 MTT S5000 -/81920 -% -C -/-W unknown",
    ],
    "iluvatar/ixsmi-bi-v100.txt": [
        "0 Iluvatar BI-V100 30217/32768 96% 63C 218.0/250W healthy",
        "1 Iluvatar BI-V100 -/32768 -% -C -/-W unhealthy",
    ],
    "iluvatar/ixsmi-q.txt": ["0 Iluvatar BI-V150 116/32768 1% 36C 95.5/350W healthy"],
    "iluvatar/ixsmi-q-reset.txt": [
        "0 Iluvatar MR-V100 128/32768 0% 40C -/-W unhealthy",
        "1 Iluvatar MR-V100 128/32768 0% 40C -/-W healthy",
    ],
    "iluvatar/ixsmi-q.xml": [
        "0 Iluvatar MR-V50 2048/32768 8% 44C 41.0/150W healthy",
        "1 Iluvatar MR-V50 -/32768 8% -C 41.0/150W unhealthy",
    ],
    "iluvatar/ixsmi-query.csv": [
        "0 Iluvatar MR-V100 64/32768 0% 40C 37.0/-W healthy",
        "1 Iluvatar MR-V100 -/32768 -% -C -/-W unknown",
    ],
    "iluvatar/ixsmi-list.txt": [
        "0 Iluvatar MR-V100 -/- -% -C -/-W unknown",
        "1 Iluvatar MR-V100 -/- -% -C -/-W unknown",
    ],
    "iluvatar/lost.log": ["- - -/- -% -C -/-W unhealthy"],
    "metax/mx-smi-2.1-no-state.txt": ["0 MetaX C500 5680/65536 5% 36C 69.0/350W healthy"],
    "metax/mx-smi-2.2.txt": [
        "0 MetaX N260 20666/65536 17% 47C 129.0/225W healthy",
        "1 MetaX N260 -/65536 -% -C -/-W unhealthy",
    ],
    "metax/mx-smi-2.3-board.txt": [
        "0 MetaX C600X 1826/147456 3% 52C 187.0/700W healthy",
        "1 MetaX C600X 826/147456 0% 49C -/-W healthy",
    ],
    "metax/mx-smi-list.txt": ["0 MXC500 -/- -% -C -/-W healthy", "1 MXC500 -/- -% -C -/-W unhealthy"],
    "tenstorrent/p150-and-n300.json": [
        "0 p150a -/- -% 48C 31.0/300W healthy",
        "1 n300 L -/- -% 61C 31.0/300W healthy",
        "2 n300 R -/- -% 59C 31.0/300W healthy",
    ],
    "tenstorrent/p300.json": [
        "0 p300a -/- -% -C -/-W unknown",
        "1 p300a -/- -% -C -/-W unknown",
        "2 p150b -/- -% 35C 16.0/-W healthy",
        "3 - -/- -% -C -/-W unknown",
    ],
    "tenstorrent/sick.json": [
        "0 n150 L -/- -% 48C 31.0/300W unhealthy",
        "1 n150 L -/- -% 98C 31.0/300W unhealthy",
        "2 n150 L -/- -% 48C 31.0/300W unhealthy",
        "3 n150 L -/- -% 48C 31.0/300W unknown",
    ],
    "tenstorrent/hung.log": ["- - -/- -% -C -/-W unhealthy"],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_sample_says_what_it_says(name: str) -> None:
    assert [summary(device) for device in devices(name)] == EXPECTED[name]


@pytest.mark.parametrize("vendor", OTHERS)
def test_a_driver_that_is_not_loaded_yields_a_warning_and_no_device(vendor: Vendor) -> None:
    (log,) = [
        path
        for path in (SAMPLES / vendor).iterdir()
        if path.name in ("driver-not-loaded.log", "no-driver.log")
    ] or [SAMPLES / "amd/driver-not-loaded.log"]
    said = PROBES[vendor].parse(log.read_text())
    assert said.readings == [] and [notice.code for notice in said.warnings] in (
        ["tool-failed"],
        ["no-devices"],
    )


@pytest.mark.parametrize("vendor", OTHERS)
@pytest.mark.parametrize(
    "text", ["", "\x00\xff", "{", "[[[[", "|" * 500, "Permission denied", "<gpu", "0" * 9999]
)
def test_rubbish_yields_a_warning_and_no_device(vendor: Vendor, text: str) -> None:
    said = PROBES[vendor].parse(text)
    assert said.readings == [] and said.warnings


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("amd/rocm-smi-old-keys-sick.json", ["over-temperature", "error-state"]),
        ("amd/rocm-smi-lines.txt", ["lost"]),
        ("cambricon/cnmon-4.9.txt", ["error-state"]),
        ("iluvatar/ixsmi-q.xml", ["lost"]),
        ("iluvatar/ixsmi-q-reset.txt", ["reset-required"]),
        ("iluvatar/lost.log", ["lost"]),
        ("metax/mx-smi-list.txt", ["error-state"]),
        ("tenstorrent/sick.json", ["error-state", "over-temperature", "error-state", "unreadable"]),
        ("tenstorrent/hung.log", ["lost"]),
    ],
)
def test_reasons_carry_the_code_and_the_tools_own_words(name: str, codes: list[str]) -> None:
    reasons = [reason for device in devices(name) for reason in device["reasons"]]
    assert [reason.partition(":")[0] for reason in reasons] == codes
    assert all(reason.partition(": ")[2] for reason in reasons)


def test_links_and_numa_nodes() -> None:
    assert readout("amd/rocm-smi-lines.txt").links == [
        Link(0, 1, "XGMI"),
        Link(0, 2, "PCIE"),
        Link(1, 2, "PCIE"),
    ]
    assert readout("amd/rocm-smi-two-cards.json").links == [Link(0, 1, "XGMI")]
    assert readout("amd/amd-smi-topology.json").links == [Link(0, 1, "XGMI")]
    metax = readout("metax/mx-smi-topo.txt")
    assert metax.links == [Link(0, 1, "MX"), Link(0, 2, "SYS"), Link(1, 2, "SYS")]
    assert [reading.facts.numa_node for reading in metax.readings] == [0, 0, 2]
    iluvatar = readout("iluvatar/ixsmi-topo.txt")
    assert [reading.facts.numa_node for reading in iluvatar.readings] == [0, 0, None]
    assert [device["numa_node"] for device in devices("amd/rocm-smi-lines.txt")] == [2, 2, None]
    assert [device["numa_node"] for device in devices("amd/rocm-smi-two-cards.json")] == [1, None]


def test_an_unsigned_minus_one_is_no_numa_node() -> None:
    assert [device["numa_node"] for device in devices("amd/rocm-smi-nameless.json")] == [None]


def test_chips_of_one_board_are_told_apart() -> None:
    assert [device["uuid"] for device in devices("tenstorrent/p300.json")] == [
        "000004513190f0aa",
        "000004513190f0aa-1",
        "0000046131924063",
        None,
    ]
    assert devices("tenstorrent/p150-and-n300.json")[2]["uuid"] == "0100014511703022-R"


def test_slices_of_one_device_are_its_partitions_and_share_its_memory() -> None:
    first, second = devices("amd/amd-smi-partitions-cpx.json")
    assert (first["pci_bus_id"], second["pci_bus_id"]) == ("0000:01:00.0", "0000:02:00.0")
    assert (first["memory_total_mib"], len(first["partitions"]), len(second["partitions"])) == (131072, 6, 6)
    parts = first["partitions"]
    assert {part["memory_group"] for part in parts} == {0} and {part["compute_milli"] for part in parts} == {
        166
    }
    assert len({part["uuid"] for part in parts} | {part["uuid"] for part in second["partitions"]}) == 12


def test_error_counts_are_kept_as_counts_and_judge_nothing_alone() -> None:
    counts = {
        name: [reading.uncorrectable for reading in readout(name).readings]
        for name in ("amd/amd-smi-metric-gpu-data.json", "cambricon/cnmon-info.txt", "metax/mx-smi-ecc.txt")
    }
    assert list(counts.values()) == [[3, 0], [1, None], [5, 0]]
    assert readout("amd/amd-smi-metric-gpu-data.json").readings[0].check.result is CheckResult.OK


@pytest.mark.parametrize(
    ("name", "pid", "command", "memory_mib"),
    [
        ("amd/amd-smi-process.json", 5150, "/usr/bin/python3", 3072),
        ("cambricon/cnmon-4.9.txt", 31337, "python error.py", 29000),
        ("cambricon/cnmon-info.txt", 4711, "/usr/bin/python fail_fast.py", 1800),
        ("mthreads/gmi-two-s4000.txt", 2213, "python3", 39970),
        ("iluvatar/ixsmi-bi-v100.txt", 90210, "python", 30100),
        ("metax/mx-smi-2.2.txt", 1234, "train", 20000),
    ],
)
def test_processes_stand_at_their_device(name: str, pid: int, command: str, memory_mib: int) -> None:
    first, *others = devices(name)
    assert first["processes"] == [{"pid": pid, "name": command, "memory_used_mib": memory_mib}]
    assert not any(device["processes"] for device in others)


def test_a_share_of_memory_is_no_amount() -> None:
    shares = [device["memory_used_pct"] for device in devices("hygon/hy-smi-dcu.txt")]
    assert shares == [63, None, 0]


def test_missing_devices_and_narrow_links_are_said() -> None:
    (missing,) = readout("metax/mx-smi-2.2.txt").warnings
    assert missing.code == "devices-missing" and missing.params["missing"] == "1"
    for name, device in (("mthreads/gmi-two-s4000.txt", "1"), ("mthreads/gmi-q.txt", "0")):
        (narrow,) = readout(name).warnings
        assert (narrow.code, narrow.params) == (
            "link-degraded",
            {"device": device, "current": "8", "most": "16"},
        )


def test_a_cut_document_is_said() -> None:
    text = (SAMPLES / "tenstorrent/p150-and-n300.json").read_text()
    said = PROBES[Vendor.TENSTORRENT].parse(text[:-200])
    assert said.readings == [] and said.warnings[0].code == "output-damaged"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("858", 858),
        ("1.5 GiB", 1536),
        ("196592 MB", 196592),
        ("-3 MiB", None),
        ("9" * 18, None),
        ("ERR!", None),
    ],
)
def test_sizes(text: str, value: int | None) -> None:
    assert mib(text) == value

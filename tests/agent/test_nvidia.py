"""NVIDIA's tools and library, from samples written for the purpose."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.notices import notice
from agent.protocol import CheckResult, Link
from agent.vendors.base import document
from agent.vendors.nvidia import NvidiaProbe

GPU = """
<gpu id="{bus}">
  <product_name>{name}</product_name><uuid>{uuid}</uuid>
  <ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>
  <fb_memory_usage><total>{total}</total><reserved>400 MiB</reserved><used>{used}</used></fb_memory_usage>
  <utilization><gpu_util>{util}</gpu_util></utilization>
  <temperature><gpu_temp>{temp}</gpu_temp></temperature>
  <gpu_power_readings><average_power_draw>N/A</average_power_draw><instant_power_draw>{power}</instant_power_draw>
    <current_power_limit>350.00 W</current_power_limit></gpu_power_readings>
  <ecc_errors><volatile><sram_uncorrectable>{ecc}</sram_uncorrectable></volatile></ecc_errors>
  <gpu_recovery_action>{action}</gpu_recovery_action>
</gpu>"""
FINE = {
    "bus": "00000000:3B:00.0",
    "name": "NVIDIA Imaginary 9000",
    "uuid": "GPU-aaaa",
    "total": "24576 MiB",
    "used": "100 MiB",
    "util": "7 %",
    "temp": "41 C",
    "power": "33.50 W",
    "ecc": "0",
    "action": "None",
}
MATRIX = """\x1b[4m\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV4\tSYS\tPXB\t0-3,8-11\t0\t\tN/A
GPU1\tNV4\t X \tSYS\tNODE\t\tN/A\t\tN/A
GPU2\tSYS\tSYS\t X \tSYS\t4-7\t1\t\tN/A
NIC0\tPXB\tNODE\tSYS\t X

Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks
"""


def xml(*gpus: dict[str, str], attached: int | None = None) -> str:
    count = attached if attached is not None else len(gpus)
    body = "".join(GPU.format(**(FINE | gpu)) for gpu in gpus)
    head = f"<driver_version>999.1</driver_version><attached_gpus>{count}</attached_gpus>"
    start = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "x.dtd">\n'
    return f"{start}<nvidia_smi_log>{head}{body}</nvidia_smi_log>"


def devices(text: str) -> list[dict[str, Any]]:
    found = document(NvidiaProbe.parse(text))["devices"]
    assert isinstance(found, list)
    return found


def test_a_healthy_device_is_read_whole() -> None:
    (device,) = devices(xml({}))
    expected = {
        "index": 0,
        "uuid": "GPU-aaaa",
        "pci_bus_id": "0000:3b:00.0",
        "model": "NVIDIA Imaginary 9000",
        "memory_total_mib": 24576,
        "memory_used_mib": 100,
        "memory_reserved_mib": 400,
        "utilization_pct": 7,
        "temperature_c": 41,
        "power_w": 33.5,
        "power_limit_w": 350,
        "ecc": True,
        "numa_node": None,
        "cpu_affinity": None,
        "partitions": [],
        "processes": [],
        "ports": [],
        "health": "healthy",
        "reasons": [],
    }
    assert {name: device[name] for name in expected} == expected


@pytest.mark.parametrize(
    "value", ["N/A", "[N/A]", "NA", "-", "[Not Supported]", "", "4294967295 MiB", "1e400", "-3 MiB", "nan"]
)
def test_what_is_no_reading_is_unknown_and_no_health(value: str) -> None:
    (device,) = devices(xml({"used": value}))
    assert device["memory_used_mib"] is None and device["health"] == "unknown"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"name": "ERR!"}, "error-state"),
        ({"temp": "Unknown Error"}, "error-state"),
        ({"used": "[GPU requires reset]"}, "reset-required"),
        ({"util": "GPU is lost"}, "lost"),
        ({"action": "GPU Reset"}, "reset-required"),
        ({"action": "Drain and Reset"}, "drain-recommended"),
    ],
)
def test_words_of_trouble_are_never_healthy(change: dict[str, str], code: str) -> None:
    (device,) = devices(xml(change | ({} if "used" in change else {"used": "0 MiB"})))
    assert device["health"] == "unhealthy" and device["reasons"][0].startswith(code)
    assert device["memory_used_mib"] is None  # no emptiness of a broken card


def test_missing_devices_and_cut_documents_are_said() -> None:
    readout = NvidiaProbe.parse(xml({}, attached=3))
    assert readout.warnings[0] == notice("devices-missing", missing="2", attached="3", tool="nvidia-smi")
    assert "2 of 3" in str(document(readout)["warnings"])
    cut = xml({}, {"uuid": "GPU-bbbb", "bus": "00000000:3C:00.0"})[:-400]
    readout = NvidiaProbe.parse(cut)
    found = [(reading.facts.uuid, reading.check.result) for reading in readout.readings]
    assert found == [("GPU-aaaa", CheckResult.OK), ("GPU-bbbb", CheckResult.UNKNOWN)]
    assert readout.warnings[0] == notice("output-damaged", tool="nvidia-smi")


def test_lost_devices_beside_the_document_are_kept() -> None:
    line = "Unable to determine the device handle for GPU 0000:5E:00.0: GPU is lost.  Reboot the system.\n"
    good, lost = devices(line + xml({}))
    assert (good["health"], lost["health"], lost["pci_bus_id"]) == ("healthy", "unhealthy", "0000:5e:00.0")


def test_topology_knows_gpus_only_and_leaves_empty_cells_unknown() -> None:
    readout = NvidiaProbe.parse(MATRIX)
    assert readout.links == [Link(0, 1, "NV", 4), Link(0, 2, "SYS"), Link(1, 2, "SYS")]
    facts = [reading.facts for reading in readout.readings]
    assert [fact.numa_node for fact in facts] == [0, None, 1]
    assert [fact.cpu_affinity for fact in facts] == [[0, 1, 2, 3, 8, 9, 10, 11], None, [4, 5, 6, 7]]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damaged_output_raises_nothing(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([xml({"util": "GPU is lost"}), xml({"name": "ERR!"}), MATRIX]))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    junk = data.draw(st.sampled_from(["", "\x1b[31m", "9" * 40, "N/A", "\x00", "<gpu>", "</gpu>", "&x;"]))
    readout = NvidiaProbe.parse(text[:start] + junk + text[end:])
    json.dumps(document(readout))

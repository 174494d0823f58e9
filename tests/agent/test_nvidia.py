"""NVIDIA's tools and library, from samples written for the purpose."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.notices import notice
from agent.protocol import CheckResult, Link
from agent.vendors.base import document
from agent.vendors.nvidia import NvidiaProbe, nvml

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
    assert {name: device[name] for name in device if name != "memory_used_pct"} == {
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


class FakeNvmlError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


class FakeNvml:
    """Stands for the library: two GPUs joined by two NVLinks; `broken` maps a device to the error it answers with."""

    NVMLError = FakeNvmlError
    NVML_ERROR_GPU_IS_LOST, NVML_ERROR_RESET_REQUIRED = 15, 16
    NVML_ERROR_UNKNOWN, NVML_ERROR_IRQ_ISSUE, NVML_ERROR_TIMEOUT = 999, 11, 10
    nvmlMemory_v2 = 2

    def __init__(
        self, *, broken: dict[int, int] | None = None, count: int = 2, init: int | None = None
    ) -> None:
        self.broken = broken or {}
        self.count = count
        self.init = init
        self.ecc = 0

    def nvmlInit(self) -> None:
        if self.init is not None:
            raise FakeNvmlError(self.init)

    def nvmlShutdown(self) -> None: ...

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"999.1"

    def nvmlDeviceGetCount(self) -> int:
        return self.count

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def _answer(self, handle: int, value: Any) -> Any:
        if handle in self.broken:
            raise FakeNvmlError(self.broken[handle])
        return value

    def nvmlDeviceGetPciInfo(self, handle: int) -> Any:
        return SimpleNamespace(busId=f"00000000:{0x3B + handle:02X}:00.0")

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return f"GPU-{handle}"

    def nvmlDeviceGetName(self, handle: int) -> str:
        return "Imaginary"

    def nvmlDeviceGetMemoryInfo(self, handle: int, version: int | None = None) -> Any:
        return self._answer(handle, SimpleNamespace(total=24 << 30, used=1 << 30, reserved=400 << 20))

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        return self._answer(handle, SimpleNamespace(gpu=4294967295 if handle else 55))

    def nvmlDeviceGetTemperature(self, handle: int, sensor: int) -> int:
        return self._answer(handle, 44)

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:
        return self._answer(handle, 70_500)

    def nvmlDeviceGetTotalEccErrors(self, handle: int, kind: int, counter: int) -> int:
        return self._answer(handle, self.ecc)

    def nvmlDeviceGetNvLinkState(self, handle: int, link: int) -> int:
        if link > 1:
            raise FakeNvmlError(3)
        return 1

    def nvmlDeviceGetNvLinkRemotePciInfo(self, handle: int, link: int) -> Any:
        return SimpleNamespace(busId=f"00000000:{0x3C - handle:02X}:00.0".encode())

    def nvmlDeviceGetTopologyCommonAncestor(self, a: int, b: int) -> int:
        return 50


def test_the_library_gives_facts_readings_and_links() -> None:
    readout = nvml.read_all(FakeNvml())
    first, second = readout.readings
    assert (first.facts.uuid, first.facts.pci_bus_id, first.facts.memory_reserved_mib) == (
        "GPU-0",
        "0000:3b:00.0",
        400,
    )
    assert (first.sample.memory_used_mib, first.sample.utilization_pct, first.sample.power_mw) == (
        1024,
        55,
        70_500,
    )
    assert second.sample.utilization_pct is None  # a sentinel
    assert readout.links == [Link(0, 1, "NV", 2)] and first.check.result is CheckResult.OK


@pytest.mark.parametrize(
    ("error", "result", "code"),
    [
        (15, CheckResult.FATAL, "lost"),
        (16, CheckResult.FATAL, "reset-required"),
        (999, CheckResult.FAILED, "error-state"),
        (10, CheckResult.FAILED, "driver-timeout"),
        (3, CheckResult.UNKNOWN, "no-reading"),
    ],
)
def test_a_broken_device_is_reported_beside_healthy_ones(error: int, result: CheckResult, code: str) -> None:
    good, bad = nvml.read_all(FakeNvml(broken={1: error})).readings
    assert good.check.result is CheckResult.OK
    assert (bad.check.result, bad.check.code) == (result, code) and bad.facts.uuid == "GPU-1"
    assert bad.sample.memory_used_mib is None


def test_no_library_is_no_crash() -> None:
    with pytest.raises(nvml.Unavailable):
        nvml.read_all(FakeNvml(init=12))
    assert nvml.read_all(FakeNvml(count=0)).warnings == [notice("no-devices", tool="NVML")]


def test_only_new_uncorrectable_errors_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeNvml(count=1)
    monkeypatch.setattr(nvml, "read_all", lambda read=nvml.read_all: read(library))
    probe, library.ecc = NvidiaProbe(tmp_path), 40
    assert probe.read().readings[0].check.result is CheckResult.OK  # a lifetime total says nothing
    library.ecc = 42
    check = probe.read().readings[0].check
    assert (check.result, check.code) == (
        CheckResult.FAILED,
        "ecc-uncorrectable",
    ) and "2 new" in check.evidence
    assert probe.read().readings[0].check.result is CheckResult.OK
    library.ecc = 0  # the driver was loaded anew
    assert probe.read().readings[0].check.result is CheckResult.OK

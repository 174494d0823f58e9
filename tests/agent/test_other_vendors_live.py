"""Live probes of seven vendors, driven by tools of ours on PATH: answers, hangs, crashes, rubbish, a lost device."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.protocol import CheckResult, Vendor
from agent.vendors import PROBES, command
from agent.vendors.base import Probe, ProbeError, Reading

SCRIPT = """#!/bin/sh
if [ -e "{folder}/hang" ]; then exec sleep 600; fi
if [ -e "{folder}/crash" ]; then kill -SEGV $$; fi
[ -e "{folder}/$*" ] || {{ echo "unknown option $*" >&2; exit 2; }}
cat "{folder}/$*"
"""
BUSES = ("0000:3b:00.0", "0000:5e:00.0")


def amd(count: int, errors: int) -> dict[str, str]:
    facts = [
        {"gpu": index, "asic": {"market_name": "Imaginary"}, "bus": {"bdf": BUSES[index]}}
        for index in range(count)
    ]
    readings = [
        {
            "gpu": index,
            "usage": {"gfx_activity": {"value": 5, "unit": "%"}},
            "ecc": {"total_uncorrectable_count": errors},
            "mem_usage": {"total_vram": {"value": 1024}, "used_vram": {"value": 64}},
        }
        for index in range(count)
    ]
    return {"static --json": json.dumps(facts), "metric --json": json.dumps({"gpu_data": readings})}


def cambricon(count: int, errors: int) -> dict[str, str]:
    head = """+-----+-----+-----+
| Card  VF  Name       Firmware |  Bus-Id | Util        Ecc-Error |
| Fan   Temp      Pwr:Usage/Cap |         Memory-Usage | Mode     Compute-Mode |
|=====+=====+=====|
"""
    rows = "".join(
        f"| {index}     /   MLU0    v1 | {BUSES[index]} | 1%  N/A |\n"
        "|  0%   41C        171 W/ 550 W |  64 MiB/ 1024 MiB | FULL    Default |\n+-----+-----+-----+\n"
        for index in range(count)
    )
    info = "".join(f"Card {index}\n    ECC :\n        Uncorrected : {errors}\n" for index in range(count))
    return {"": head + rows, "info": info}


def hygon(count: int, errors: int) -> dict[str, str]:
    cards = {
        f"card{index}": {"PCI Bus": BUSES[index], "DCU use (%)": "1", "Temperature (Sensor edge) (C)": "40.0"}
        for index in range(count)
    }
    question = "--showuse --showmeminfo vram --showtemp --showpower --showmaxpower --showbus --showuniqueid"
    return {f"{question} --showproductname --json": json.dumps(cards)}


def mthreads(count: int, errors: int) -> dict[str, str]:
    head = """---------------------------------------
ID   Name           |PCIe                |%GPU  Mem
     Device Type    |Pcie Lane Width     |Temp  MPC Capable
                    |                    |      ECC Mode
+-------------------------------------+
"""
    rows = "".join(
        f"{index}    MTT S0 |{BUSES[index]} |1%    64MiB(1024MiB)\n     Physical |16x(16x) |41C   YES\n  |  |  Off\n"
        for index in range(count)
    )
    body = "".join(
        f"GPU{index} {BUSES[index]}\n    ECC Errors\n        Double Bit ECC : {errors}\n"
        for index in range(count)
    )
    return {"": head + rows, "-q": body}


def iluvatar(count: int, errors: int) -> dict[str, str]:
    head = """+-----+-----+-----+
| GPU  Name                     | Bus-Id               | Clock-SM  Clock-Mem  |
| Fan  Temp  Perf  Pwr:Usage/Cap|      Memory-Usage    | GPU-Util  Compute M. |
|=====+=====+=====|
"""
    rows = "".join(
        f"| {index}    Imaginary | {BUSES[index]} | 1500MHz   1200MHz |\n"
        "| 0%   41C   P0    58W / 250W | 64MiB / 1024MiB | 1%  Default |\n+-----+-----+-----+\n"
        for index in range(count)
    )
    body = "".join(
        f"GPU {BUSES[index]}\n    ECC Errors\n        Volatile\n            Double Bit Total : {errors}\n"
        for index in range(count)
    )
    return {"": head + rows, "-q": body}


def metax(count: int, errors: int) -> dict[str, str]:
    head = """+-----+-----+-----+
| GPU         NAME  | Bus-id     | GPU-Util             |
| Temp        Pwr:Usage/Cap  | Memory-Usage  | GPU-State  |
|=====+=====+=====|
"""
    rows = "".join(
        f"| {index}  MetaX Imaginary | {BUSES[index]} | 1% |\n| 41C  48W / 350W | 64/1024 MiB | Available |\n"
        for index in range(count)
    )
    body = "".join(
        f"GPU#{index}  MXC0  {BUSES[index]}\n    ECC Errors\n        DRAM Uncorrectable : {errors}\n"
        for index in range(count)
    )
    return {"": head + rows, "--count-ecc": body}


def tenstorrent(count: int, errors: int) -> dict[str, str]:
    devices = [
        {
            "board_info": {"bus_id": BUSES[index], "board_type": "n0", "dram_status": True},
            "telemetry": {"power": " 12.0", "asic_temperature": "41.0"},
        }
        for index in range(count)
    ]
    return {"-s": json.dumps({"host_info": {"Driver": "TT-KMD 9"}, "device_info": devices})}


TOOLS: dict[Vendor, tuple[str, Callable[[int, int], dict[str, str]]]] = {
    Vendor.AMD: ("amd-smi", amd),
    Vendor.CAMBRICON: ("cnmon", cambricon),
    Vendor.HYGON: ("hy-smi", hygon),
    Vendor.MTHREADS: ("mthreads-gmi", mthreads),
    Vendor.ILUVATAR: ("ixsmi", iluvatar),
    Vendor.METAX: ("mx-smi", metax),
    Vendor.TENSTORRENT: ("tt-smi", tenstorrent),
}
COUNTING = [vendor for vendor in TOOLS if vendor not in (Vendor.HYGON, Vendor.TENSTORRENT)]


@dataclass
class Machine:
    """A machine with one vendor's tool on PATH and its devices' slots on NUMA node 1."""

    vendor: Vendor
    folder: Path
    probe: Probe

    def answer(self, count: int = 2, errors: int = 7) -> None:
        for path in self.folder.iterdir():
            path.unlink()
        for arguments, text in TOOLS[self.vendor][1](count, errors).items():
            (self.folder / (arguments or "plain")).write_text(text)


@pytest.fixture
def machine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    vendor: Vendor = request.param
    folder, programs, root = tmp_path / "answers", tmp_path / "bin", tmp_path / "root"
    for path in (folder, programs):
        path.mkdir()
    tool = programs / TOOLS[vendor][0]
    tool.write_text(SCRIPT.format(folder=folder).replace('/$*"', '/${*:-plain}"'))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    for bus in BUSES:
        slot = root / "sys/bus/pci/devices" / bus
        slot.mkdir(parents=True)
        (slot / "numa_node").write_text("1\n")
        (slot / "local_cpulist").write_text("8-15\n")
    machine = Machine(vendor, folder, PROBES[vendor](root))
    machine.answer()
    return machine


every = pytest.mark.parametrize("machine", TOOLS, indirect=True)


@every
def test_a_tool_that_answers_gives_facts_readings_and_the_kernels_slots(machine: Machine) -> None:
    assert type(machine.probe).present(machine.folder)
    readings = machine.probe.read().readings
    assert [reading.facts.pci_bus_id for reading in readings] == list(BUSES)
    assert [reading.check.result for reading in readings] == [CheckResult.OK] * 2
    assert [(reading.facts.numa_node, reading.facts.cpu_affinity) for reading in readings] == [
        (1, list(range(8, 16)))
    ] * 2


@every
@pytest.mark.parametrize("fault", ["hang", "crash"])
def test_a_tool_that_hangs_or_crashes_says_nothing_of_devices(
    machine: Machine, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "ROUND_TIMEOUT_S", 0.5)
    (machine.folder / fault).touch()
    with pytest.raises(ProbeError, match="no answer within" if fault == "hang" else "exit status"):
        machine.probe.read()
    (machine.folder / fault).unlink()
    monkeypatch.undo()


@every
@pytest.mark.parametrize("rubbish", ["Segmentation fault", "\x00\xff{[<", "driver not loaded"])
def test_rubbish_is_a_failed_probe_and_no_empty_machine(machine: Machine, rubbish: str) -> None:
    for path in machine.folder.iterdir():
        path.write_text(rubbish)
    with pytest.raises(ProbeError):
        machine.probe.read()


@every
def test_a_device_that_vanishes_leaves_the_other(machine: Machine) -> None:
    assert len(machine.probe.read().readings) == 2
    machine.answer(count=1)
    (left,) = machine.probe.read().readings
    assert (left.facts.pci_bus_id, left.check.result) == (BUSES[0], CheckResult.OK)


@pytest.mark.parametrize("machine", COUNTING, indirect=True)
def test_only_new_memory_errors_count(machine: Machine) -> None:
    assert machine.probe.read().readings[0].check.result is CheckResult.OK  # a lifetime total says nothing
    machine.answer(errors=9)
    check = machine.probe.read().readings[0].check
    assert (check.result, check.code) == (
        CheckResult.FAILED,
        "ecc-uncorrectable",
    ) and "2 new" in check.evidence
    assert machine.probe.read().readings[0].check.result is CheckResult.OK
    machine.answer(errors=0)  # the driver was loaded anew
    assert machine.probe.read().readings[0].check.result is CheckResult.OK


@pytest.mark.parametrize("vendor", TOOLS)
def test_a_machine_without_driver_and_tool_has_no_such_devices(
    vendor: Vendor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not PROBES[vendor].present(tmp_path)
    with pytest.raises(ProbeError, match="on PATH"):
        PROBES[vendor](tmp_path).read()


@pytest.mark.parametrize("machine", [Vendor.METAX], indirect=True)
def test_an_identity_stays_when_the_question_for_it_fails(machine: Machine) -> None:
    names = "".join(
        f"GPU#{index}  MXC0  {BUSES[index]}  Available (UUID: GPU-{index})\n" for index in range(2)
    )
    (machine.folder / "-L").write_text(names)
    assert [reading.facts.uuid for reading in machine.probe.read().readings] == ["GPU-0", "GPU-1"]
    (machine.folder / "-L").unlink()
    later = machine.probe.read().readings
    assert [reading.facts.uuid for reading in later] == ["GPU-0", "GPU-1"]
    assert [reading.sample.device for reading in later] == [reading.check.device for reading in later]


@pytest.mark.parametrize("machine", [Vendor.AMD], indirect=True)
def test_where_amd_smi_fails_rocm_smi_answers(machine: Machine, tmp_path: Path) -> None:
    for path in machine.folder.iterdir():
        path.unlink()
    other = tmp_path / "bin/rocm-smi"
    other.write_text(f"#!/bin/sh\ncat {Path(__file__).parent / 'samples/amd/rocm-smi-two-cards.json'}\n")
    other.chmod(0o755)
    readout = machine.probe.read()
    assert len(readout.readings) == 2 and [said.code for said in readout.warnings] == ["tool-failed"]


@pytest.mark.parametrize("machine", [Vendor.AMD], indirect=True)
def test_slices_are_gathered_to_their_device_and_a_new_set_of_devices_is_asked_for_its_facts(
    machine: Machine,
) -> None:
    assert len(machine.probe.read().readings) == 2
    facts = [
        {
            "gpu": index,
            "bus": {"bdf": f"0000:3b:00.{index}"},
            "partition": {"accelerator_partition": "TPX", "memory_partition": "NPS1"},
        }
        for index in range(3)
    ]
    (machine.folder / "static --json").write_text(json.dumps(facts))
    first, *others = json.loads((machine.folder / "metric --json").read_text())["gpu_data"]
    sliced = [first, *({"gpu": index, "usage": "N/A"} for index in (1, 2))]
    (machine.folder / "metric --json").write_text(json.dumps({"gpu_data": sliced}))
    (reading,) = machine.probe.read().readings
    assert (reading.facts.pci_bus_id, len(reading.facts.partitions), len(others)) == (BUSES[0], 3, 1)
    assert reading.check.result is CheckResult.OK


@pytest.mark.parametrize("machine", [Vendor.AMD], indirect=True)
def test_errors_and_processes_of_all_slices_are_their_devices(machine: Machine) -> None:
    def look(errors: int) -> Reading:
        slices = [
            {
                "gpu": index,
                "bus": {"bdf": f"0000:3b:00.{index}"},
                "usage": "N/A",
                "partition": {"accelerator_partition": "DPX", "memory_partition": "NPS1"},
                "ecc": {"total_uncorrectable_count": 7 if index == 0 else errors},
                "process_list": [{"process_info": {"pid": 40 + index, "name": "python"}}],
            }
            for index in range(2)
        ]
        (machine.folder / "metric --json").write_text(json.dumps(slices))
        (found,) = machine.probe.read().readings
        return found

    assert look(0).check.code != "ecc-uncorrectable"
    found = look(2)
    assert found.check.code == "ecc-uncorrectable" and "(7 -> 9)" in found.check.evidence
    assert [process.pid for process in found.processes] == [40, 41]
    assert look(2).check.code != "ecc-uncorrectable"

"""The live probe in its own process: a library or a tool that hangs, crashes, lies or loses a device."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.cli import main
from agent.collect import HostCollector, VendorWorker
from agent.config import Config
from agent.protocol import Check, CheckResult, DeviceSample, Vendor
from agent.vendors.nvidia import NvidiaProbe
from agent.vendors.worker import Answer

FAKES = Path(__file__).parent / "fakes"
GPUS: list[dict[str, Any]] = [{"number": 0}, {"number": 1}]
SAMPLE = Path(__file__).parent / "samples/nvidia/l4-and-sick-a10.xml"


class Machine:
    """A root folder with a driver, a made-up library whose plan can change, and a made-up nvidia-smi on PATH."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.plan_file, self.bin = folder / "root", folder / "plan", folder / "bin"
        (self.root / "dev").mkdir(parents=True)
        self.bin.mkdir()
        (self.root / "dev/nvidiactl").touch()
        (self.root / "dev/kmsg").touch()
        paths = [str(FAKES), os.environ.get("PYTHONPATH", "")]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        monkeypatch.setenv("HEADRACE_FAKE_NVML", str(self.plan_file))
        monkeypatch.setenv("PATH", f"{self.bin}:/usr/bin:/bin")
        self.state = folder / "state"
        self.plan(gpus=GPUS)

    def plan(self, **what: Any) -> None:
        self.plan_file.write_text(json.dumps(what))

    def tool(self, script: str) -> None:
        tool = self.bin / "nvidia-smi"
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(0o755)

    def worker(self, timeout_s: float = 6.0) -> VendorWorker:
        return VendorWorker(Vendor.NVIDIA, self.root, timeout_s=timeout_s)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


@pytest.fixture
def worker(machine: Machine) -> Iterator[VendorWorker]:
    made = machine.worker()
    yield made
    made.close()


class Collected:
    """One collector, asked round by round."""

    def __init__(self, machine: Machine) -> None:
        config = Config(state_dir=str(machine.state))
        machine.state.mkdir(exist_ok=True)
        self.collector = HostCollector(
            config, root=machine.root, probes={Vendor.NVIDIA: NvidiaProbe}, probe_timeout_s=6.0
        )

    def round(self) -> tuple[dict[str, Check], dict[str, DeviceSample]]:
        self.collector._round()
        readings = self.collector.take()
        assert readings is not None
        return {check.device: check for check in readings.checks}, {
            sample.device: sample for sample in readings.samples
        }

    def close(self) -> None:
        for worker in self.collector._workers.values():
            worker.close()


@pytest.fixture
def collected(machine: Machine) -> Iterator[Collected]:
    made = Collected(machine)
    yield made
    made.close()


def results(answer: Answer) -> list[tuple[str | None, CheckResult, str]]:
    assert answer.readout is not None, answer.problem
    return [(said.facts.uuid, said.check.result, said.check.code) for said in answer.readout.readings]


def test_the_library_is_asked_in_a_process_of_its_own(worker: VendorWorker) -> None:
    assert results(worker.read()) == [("GPU-0", CheckResult.OK, ""), ("GPU-1", CheckResult.OK, "")]


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"crash": True}, "the probe died"),
        ({"garbage": True, "gpus": GPUS}, "unreadable"),
        ({"slow_s": 60, "gpus": GPUS}, "no answer within"),
    ],
)
def test_a_library_that_takes_its_process_along_is_a_failed_probe_and_recovers(
    machine: Machine, plan: dict[str, Any], words: str
) -> None:
    worker = machine.worker(0.5 if "slow_s" in plan else 6.0)
    machine.plan(**plan)
    answer = worker.read()
    assert answer.readout is None and words in answer.problem
    worker.close()
    machine.plan(gpus=GPUS)
    worker = machine.worker()
    assert len(results(worker.read())) == 2
    worker.close()


def test_one_hanging_device_is_a_driver_timeout_of_that_device(
    machine: Machine, worker: VendorWorker
) -> None:
    worker.read()
    machine.plan(gpus=[{"number": 0}, {"number": 1, "hangs": True}])
    good, stuck = results(worker.read())
    assert good[1] is CheckResult.OK and stuck == ("GPU-1", CheckResult.FAILED, "driver-timeout")


def test_without_the_library_nvidia_smi_is_asked(machine: Machine, worker: VendorWorker) -> None:
    machine.plan(absent=True)
    machine.tool(
        f'[ "$1" = -q ] && cat {SAMPLE}; [ "$1" = topo ] && printf "\\tGPU0\\tGPU1\\tCPU Affinity\\tNUMA Affinity\\n'
        'GPU0\\t X \\tPIX\\t0-3\\t1\\nGPU1\\tPIX\\t X \\t0-3\\t1\\n"; exit 0'
    )
    answer = worker.read()
    assert [result for _, result, _ in results(answer)] == [CheckResult.OK, CheckResult.FATAL, CheckResult.OK]
    assert answer.readout is not None and answer.readout.links[0].kind == "PIX"
    first = answer.readout.readings[0].facts
    assert (first.numa_node, first.cpu_affinity) == (1, [0, 1, 2, 3])  # the kernel of this root is silent


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo garbage", "not recognised"),
        ("echo it broke >&2; exit 9", "it broke"),
        ("kill -9 $$", "exit status"),
        ("true", "empty output"),
        ("sleep 60", "no answer"),
    ],
)
def test_a_tool_that_does_not_answer_is_a_failed_probe(
    machine: Machine, worker: VendorWorker, script: str, words: str
) -> None:
    """C32: that the tool failed says nothing of the cards."""
    machine.plan(absent=True)
    machine.tool(script)
    answer = worker.read()
    assert answer.readout is None and words in answer.problem


def test_what_the_tool_complains_of_beside_its_output_counts(machine: Machine, worker: VendorWorker) -> None:
    machine.plan(absent=True)
    complaint = "Unable to determine the device handle for GPU3: 0000:D1:00.0: Unknown Error"
    machine.tool(f'[ "$1" = -q ] && cat {SAMPLE} && echo "{complaint}" >&2; exit 0')
    answer = worker.read()
    assert answer.readout is not None
    lost = answer.readout.readings[-1]
    assert (lost.facts.pci_bus_id, lost.check.result) == ("0000:d1:00.0", CheckResult.FATAL)


def test_a_vanished_card_keeps_its_name_and_fails(machine: Machine, collected: Collected) -> None:
    checks, _ = collected.round()
    assert {name: check.result for name, check in checks.items()} == {
        "GPU-0": CheckResult.OK,
        "GPU-1": CheckResult.OK,
    }
    machine.plan(gpus=GPUS[:1])
    checks, _ = collected.round()
    assert checks["GPU-0"].result is CheckResult.OK
    assert (checks["GPU-1"].result, checks["GPU-1"].code) == (CheckResult.FATAL, "card-dropped")
    assert [device.uuid for device in collected.collector.facts().devices] == ["GPU-0", "GPU-1"]
    machine.plan(gpus=GPUS)
    checks, _ = collected.round()
    assert checks["GPU-1"].result is CheckResult.OK
    machine.plan(gpus=[])
    checks, _ = collected.round()
    assert {check.code for check in checks.values()} == {"card-dropped"}


def test_a_card_without_a_handle_keeps_the_name_it_had(machine: Machine, collected: Collected) -> None:
    collected.round()
    machine.plan(gpus=[{"number": 0}, {"number": 1, "handle_error": 15}])
    checks, samples = collected.round()
    assert (checks["GPU-1"].code, checks["GPU-1"].result) == ("lost", CheckResult.FATAL)
    assert samples["GPU-1"].memory_used_mib is None
    second = collected.collector.facts().devices[1]
    assert (second.uuid, second.pci_bus_id, second.model) == ("GPU-1", "0000:3c:00.0", "Imaginary")


def test_slices_are_facts_and_samples_and_may_change_while_running(
    machine: Machine, collected: Collected
) -> None:
    parts = [{"instance": 1, "compute": 0, "total_mib": 9984, "used_mib": 70}]
    machine.plan(gpus=[{"number": 0, "mig": parts}])
    _, samples = collected.round()
    (device,) = collected.collector.facts().devices
    assert [(part.uuid, part.memory_used_mib) for part in device.partitions] == [("MIG-1-0", None)]
    assert samples["MIG-1-0"].memory_used_mib == 70 and samples["GPU-0"].memory_used_mib == 1024
    parts[0]["used_mib"] = 90
    machine.plan(gpus=[{"number": 0, "mig": parts}])
    _, samples = collected.round()
    assert samples["MIG-1-0"].memory_used_mib == 90
    assert collected.collector.facts().devices == [device]  # use is no fact
    machine.plan(gpus=[{"number": 0, "mig": [parts[0] | {"instance": 3}, parts[0] | {"instance": 4}]}])
    collected.round()
    (device,) = collected.collector.facts().devices
    assert [part.uuid for part in device.partitions] == ["MIG-3-0", "MIG-4-0"]
    machine.plan(gpus=[{"number": 0}])
    collected.round()
    assert collected.collector.facts().devices[0].partitions == []


def test_probe_prints_what_is_there_now(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", "nvidia"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(device["uuid"], device["health"]) for device in found["devices"]] == [
        ("GPU-0", "healthy"),
        ("GPU-1", "healthy"),
    ]
    machine.plan(absent=True)
    assert main(["probe", "nvidia"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["devices"] == [] and "nvidia-smi is not on PATH" in found["warnings"][0]

"""The live probe of Ascend, driven by an npu-smi of ours that answers, hangs, fails and loses a die."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from agent.collect import VendorWorker
from agent.known_devices import facts_of, fit
from agent.protocol import CheckResult, Vendor
from agent.vendors.ascend import AscendProbe, live
from agent.vendors.base import ProbeError, Reading, Readout

SAMPLES = Path(__file__).parent / "samples/ascend"
SCRIPT = """#!/bin/sh
answers="{folder}"
if [ -e "$answers/hang $*" ]; then exec sleep 600; fi
if [ -e "$answers/crash" ]; then kill -SEGV $$; fi
[ -e "$answers/$*" ] || {{ echo "Error parameter of -t" >&2; exit 1; }}
cat "$answers/$*"
"""


class FakeTool:
    """npu-smi on PATH whose answers are files named by its arguments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "answers"
        self.folder.mkdir()
        tool = folder / "bin/npu-smi"
        tool.parent.mkdir()
        tool.write_text(SCRIPT.format(folder=self.folder))
        tool.chmod(0o755)

    def answers(self, arguments: str, text: str) -> None:
        (self.folder / arguments).write_text(text)

    def hangs(self, arguments: str) -> None:
        (self.folder / f"hang {arguments}").touch()

    def recovers(self, arguments: str) -> None:
        (self.folder / f"hang {arguments}").unlink()


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeTool:
    fake = FakeTool(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    fake.answers("info", sample("910c-two-dies.txt"))
    fake.answers("info -m", sample("mapping-a3.txt"))
    fake.answers("info -t topo", sample("topo-a3-dies-no-affinity.txt"))
    return fake


def sample(name: str) -> str:
    return (SAMPLES / name).read_text()


def probe(tmp_path: Path) -> AscendProbe:
    """A probe of a machine whose slot 0a:00.0 is on NUMA node 3."""
    slot = tmp_path / "root/sys/bus/pci/devices/0000:0a:00.0"
    slot.mkdir(parents=True, exist_ok=True)
    (slot / "numa_node").write_text("3\n")
    (slot / "local_cpulist").write_text("72-95\n")
    return AscendProbe(tmp_path / "root")


def checks(readout: Readout) -> dict[str | None, tuple[CheckResult, str]]:
    return {
        reading.facts.pci_bus_id: (reading.check.result, reading.check.code) for reading in readout.readings
    }


def by_bus(readout: Readout, bus_id: str) -> Reading:
    return next(reading for reading in readout.readings if reading.facts.pci_bus_id == bus_id)


def without_board(text: str, npu: int) -> str:
    """The table without one NPU's devices."""
    kept, skipping = [], 0
    for line in text.splitlines():
        if line.startswith(f"| {npu} ") and "Ascend910" in line:
            skipping = 3
        if skipping == 0:
            kept.append(line)
        skipping = max(0, skipping - 1)
    return "\n".join(kept) + "\n"


def test_devices_are_counted_as_jobs_see_them_and_joined_by_their_links(
    tool: FakeTool, tmp_path: Path
) -> None:
    readout = probe(tmp_path).read()
    assert [reading.facts.index for reading in readout.readings] == [0, 1, 2, 3]
    assert [(link.a, link.b) for link in readout.links if link.kind == "SIO"] == [(0, 1), (2, 3)]
    first = readout.readings[0].facts
    assert (first.numa_node, first.cpu_affinity, first.driver_version) == (3, list(range(72, 96)), "25.5.1")
    assert readout.warnings == []


def test_an_alarm_carries_its_error_codes(tool: FakeTool, tmp_path: Path) -> None:
    tool.answers("info -t health -i 5 -c 0", sample("health-chip-alarm.txt"))
    check = by_bus(probe(tmp_path).read(), "0000:1a:00.0").check
    assert (check.result, check.code) == (CheckResult.FAILED, "error-state") and "80C98001" in check.evidence


def test_only_new_double_bit_errors_count(tool: FakeTool, tmp_path: Path) -> None:
    board = sample("ecc-910b.txt").replace("NPU ID                                   : 1", "NPU ID : 4")
    tool.answers("info -t ecc -i 4", board)
    npus = probe(tmp_path)
    assert checks(npus.read())["0000:0a:00.0"] == (CheckResult.OK, "")
    tool.answers(
        "info -t ecc -i 4",
        board.replace("Double Bit Error Count               : 2", "Double Bit Error Count : 5"),
    )
    assert checks(npus.read())["0000:0a:00.0"] == (CheckResult.FAILED, "ecc-uncorrectable")
    assert checks(npus.read())["0000:0a:00.0"] == (CheckResult.OK, "")


def test_a_die_that_vanishes_has_dropped_and_comes_back(tool: FakeTool, tmp_path: Path) -> None:
    npus = probe(tmp_path)
    known = [facts_of(reading) for reading in npus.read().readings]
    tool.answers("info", without_board(sample("910c-two-dies.txt"), 4))
    readout = npus.read()
    assert set(checks(readout)) == {"0000:1a:00.0", "0000:1b:00.0"}
    fitted = msgspec.structs.replace(readout, readings=fit(readout.readings, known))
    assert checks(fitted)["0000:0a:00.0"] == (CheckResult.FATAL, "card-dropped")
    assert by_bus(fitted, "0000:0b:00.0").sample.memory_used_mib is None
    assert checks(fitted)["0000:1b:00.0"] == (CheckResult.OK, "")
    tool.answers("info", sample("910c-two-dies.txt"))
    assert checks(npus.read())["0000:0a:00.0"] == (CheckResult.OK, "")


def test_a_device_that_only_the_mapping_names_is_unknown(tool: FakeTool, tmp_path: Path) -> None:
    tool.answers("info", without_board(sample("910c-two-dies.txt"), 4))
    found = probe(tmp_path).read().readings
    assert [reading.check.result for reading in found[:2]] == [CheckResult.UNKNOWN] * 2


def test_without_mapping_and_topology_the_devices_are_still_read(tool: FakeTool, tmp_path: Path) -> None:
    for name in ("info -m", "info -t topo"):
        (tool.folder / name).unlink()
    readout = probe(tmp_path).read()
    assert [reading.facts.index for reading in readout.readings] == [8, 9, 10, 11]
    assert {warning.code for warning in readout.warnings} == {"tool-failed"}


def test_slices_have_names_and_sizes(tool: FakeTool, tmp_path: Path) -> None:
    tool.answers("info", sample("910b2-four-healths.txt"))
    tool.answers("info -m", sample("mapping-910b.txt"))
    tool.answers("info -t info-vnpu -i 0 -c 0", sample("vnpu-two-slices.txt"))
    tool.answers("info -t info-vnpu -i 1 -c 0", "The vnpu is not in docker mode.\n")
    first = by_bus(probe(tmp_path).read(), "0000:c1:00.0")
    assert [(part.uuid, part.memory_total_mib) for part in first.facts.partitions] == [
        ("0000:c1:00.0/vnpu132", 16384),
        ("0000:c1:00.0/vnpu133", 8192),
    ]


@pytest.mark.parametrize(
    "answer", [sample("dcmi-init-failed.txt"), sample("no-card.txt"), "\x00garbage\n", "| a | b | c |\n"]
)
def test_a_tool_that_fails_is_a_failed_probe(tool: FakeTool, tmp_path: Path, answer: str) -> None:
    tool.answers("info", answer)
    with pytest.raises(ProbeError, match="npu-smi"):
        probe(tmp_path).read()


def test_a_crash_is_a_failed_probe(tool: FakeTool, tmp_path: Path) -> None:
    (tool.folder / "crash").touch()
    with pytest.raises(ProbeError, match="npu-smi"):
        probe(tmp_path).read()


@pytest.fixture
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "ROUND_S", 1.5)


def test_a_hanging_tool_is_ended_and_asked_again(tool: FakeTool, tmp_path: Path, short_rounds: None) -> None:
    npus = probe(tmp_path)
    tool.hangs("info")
    with pytest.raises(ProbeError, match="no answer within"):
        npus.read()
    tool.recovers("info")
    assert len(npus.read().readings) == 4


def test_a_question_that_hangs_takes_no_device_away(
    tool: FakeTool, tmp_path: Path, short_rounds: None
) -> None:
    tool.hangs("info -t topo")
    readout = probe(tmp_path).read()
    assert [reading.facts.index for reading in readout.readings] == [0, 1, 2, 3]
    assert any("topo" in warning.params["problem"] for warning in readout.warnings)


def test_the_probe_runs_in_a_process_of_its_own(
    tool: FakeTool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    worker = VendorWorker(Vendor.ASCEND, tmp_path)
    request.addfinalizer(worker.close)
    answer = worker.read()
    assert answer.readout is not None and len(answer.readout.readings) == 4


def test_a_machine_without_driver_and_tool_has_no_npus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not AscendProbe.present(tmp_path)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/davinci_manager").touch()
    assert AscendProbe.present(tmp_path)
    with pytest.raises(ProbeError, match="not on PATH"):
        AscendProbe(tmp_path).read()

"""Rounds of measuring that do not reach the server: what was told once is told until it arrives."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from agent.collect import HostCollector, Readings
from agent.config import Config, Identity
from agent.journal import Journal, Obeyed, Untold
from agent.known_devices import KnownDevices
from agent.loop import Agent
from agent.notices import notice
from agent.protocol import (
    VERSION,
    Check,
    CheckResult,
    DeviceFacts,
    DeviceSample,
    Facts,
    Reply,
    Report,
    Vendor,
)
from agent.runners.simulated import SimRunner, Timetable
from agent.simulation_facts import node_facts
from agent.simulation_spec import mixed_cluster
from agent.task import TaskKey
from agent.transport import Refused, Transport, Unreachable
from agent.vendors.base import Reading, Readout
from agent.vendors.error_counts import ErrorCounts
from agent.vendors.nvidia import NvidiaProbe

OK, UNKNOWN, FAILED, FATAL = CheckResult.OK, CheckResult.UNKNOWN, CheckResult.FAILED, CheckResult.FATAL
NODE = mixed_cluster().nodes[0]


class Line(Transport):
    """Reports arrive while it is up; while it loses, they arrive and nobody hears of it."""

    def __init__(self) -> None:
        self.up = False
        self.loses = False
        self.refusal: Refused | None = None
        self.arrived: list[Report] = []

    def report(self, report: Report) -> Reply:
        if self.refusal is not None:
            raise self.refusal
        if self.up or self.loses:
            self.arrived.append(report)
        if not self.up:
            raise Unreachable("it is down, or its answer is lost")
        now_ms = time.time_ns() // 1_000_000
        return Reply(VERSION, "c1", True, 1, now_ms, now_ms, 10, False, [])


class Rounds:
    """A collector whose rounds a test chose."""

    def __init__(self) -> None:
        self.next: Readings | None = None

    def start(self, on_ready: object) -> None:
        pass

    def facts(self) -> Facts:
        return node_facts(NODE, "m1")

    def begin(self) -> None:
        pass

    def take(self) -> Readings | None:
        taken, self.next = self.next, None
        return taken

    def close(self) -> None:
        pass


def round_of(temperature_c: int, **results: CheckResult) -> Readings:
    checks = [
        Check(device=name, result=result, code="" if result is OK else f"{result}-{temperature_c}")
        for name, result in results.items()
    ]
    samples = [DeviceSample(device=name, temperature_c=temperature_c) for name in results]
    return Readings(samples=tuple(samples), checks=tuple(checks))


class Node:
    """An agent whose reports are made one by one."""

    def __init__(self, folder: Path, timetable: Timetable, *, boot_id: str = "b1") -> None:
        self.line, self.rounds = Line(), Rounds()
        journal = Journal(folder, durable=False)
        self.agent = Agent(
            Identity("http://127.0.0.1:1", "c1", 1, "secret", "m1"),
            transport=self.line,
            collector=self.rounds,
            runner=SimRunner(NODE, journal, timetable),
            journal=journal,
            boot_id=boot_id,
        )

    def report(self, readings: Readings | None, *, up: bool) -> None:
        self.line.up, self.rounds.next = up, readings
        if up:
            self.agent._report()
            return
        with pytest.raises(Unreachable):
            self.agent._report()

    def told(self) -> dict[str, str]:
        """Codes of the last report that arrived."""
        return {check.device: check.code for check in self.line.arrived[-1].checks}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    timetable = Timetable()
    yield Node(tmp_path, timetable)
    timetable.close()


def test_what_may_have_arrived_is_told_first_and_then_the_worst_of_what_came_since(node: Node) -> None:
    node.report(round_of(1, a=FATAL, b=FAILED, c=OK), up=False)
    node.report(round_of(2, a=OK, b=FATAL, c=FAILED), up=False)
    node.report(round_of(3, a=FAILED, b=UNKNOWN, c=OK), up=False)
    node.report(round_of(4, a=OK, b=OK, c=OK), up=True)
    first, second = node.line.arrived
    assert {check.device: check.code for check in first.checks} == {"a": "fatal-1", "b": "failed-1", "c": ""}
    assert node.told() == {"a": "failed-3", "b": "fatal-2", "c": "failed-2"}
    assert first.samples == [] and {sample.temperature_c for sample in second.samples} == {4}
    assert first.seq < second.seq


def test_a_report_goes_out_again_as_it_was_and_nothing_else_where_nothing_is_newer(node: Node) -> None:
    node.line.loses = True
    for readings in (round_of(1, a=FAILED), None, None):
        node.report(readings, up=False)
    node.line.loses = False
    node.report(None, up=True)
    numbers = {report.seq for report in node.line.arrived}
    assert len(node.line.arrived) == 4 and len(numbers) == 1 and node.told() == {"a": "failed-1"}
    assert {sample.temperature_c for sample in node.line.arrived[-1].samples} == {1}


def test_what_arrived_is_not_told_again(node: Node) -> None:
    node.report(round_of(1, a=FATAL), up=False)
    node.report(None, up=True)
    assert node.told() == {"a": "fatal-1"}
    node.report(None, up=True)
    assert node.told() == {}
    node.report(round_of(2, a=OK), up=True)
    assert node.told() == {"a": ""}


def test_a_newer_check_as_bad_replaces_the_older_and_a_device_that_is_gone_keeps_its_fault(
    node: Node,
) -> None:
    node.report(round_of(0, a=OK), up=False)
    node.report(round_of(1, a=FAILED, gone=FATAL), up=False)
    node.report(round_of(2, a=FAILED), up=True)
    assert node.told() == {"a": "failed-2", "gone": "fatal-1"}


def restarted(node: Node, timetable: Timetable, *, boot_id: str = "b1") -> Node:
    """Another agent on the same state folder."""
    return Node(node.agent._journal.state_dir, timetable, boot_id=boot_id)


def test_failed_checks_that_were_not_told_outlive_the_agent(node: Node) -> None:
    timetable = Timetable()
    node.report(round_of(1, a=FATAL, b=UNKNOWN, c=FAILED), up=False)
    again = restarted(node, timetable)
    again.report(round_of(2, a=OK, b=FAILED, c=FAILED), up=False)
    third = restarted(again, timetable)
    third.report(round_of(3, a=OK, b=OK, c=OK), up=True)
    first, second = third.line.arrived
    assert {check.device: check.code for check in first.checks} == {
        "a": "fatal-1",
        "b": "unknown-1",
        "c": "failed-1",
    }
    assert third.told() == {"a": "", "b": "failed-2", "c": "failed-2"} and first.seq < second.seq
    last = restarted(third, timetable)
    last.report(round_of(4, a=OK), up=True)
    assert last.told() == {"a": ""} and len(last.line.arrived) == 1
    timetable.close()


def test_a_restarted_agent_tells_what_may_have_arrived_under_its_old_number(node: Node) -> None:
    timetable = Timetable()
    node.line.loses = True
    node.report(round_of(1, a=FAILED), up=False)
    again = restarted(node, timetable)
    again.report(round_of(2, a=OK), up=True)
    (told,) = node.line.arrived
    first, second = again.line.arrived
    assert first.seq == told.seq < second.seq
    assert [check.code for check in first.checks] == ["failed-1"] and again.told() == {"a": ""}
    timetable.close()


@pytest.mark.parametrize(("status", "kept"), [(400, False), (422, False), (401, True), (429, True)])
def test_what_the_server_will_never_take_is_dropped(node: Node, status: int, kept: bool) -> None:
    node.line.refusal = Refused(status, "no", "", {})
    node.rounds.next = round_of(1, a=FAILED)
    with pytest.raises(Refused):
        node.agent._report()
    node.line.refusal = None
    assert (node.agent._journal.untold("b1") != Untold()) is kept
    node.report(round_of(2, a=OK), up=True)
    assert len(node.line.arrived) == 1 + kept and node.told() == {"a": ""}


def test_what_cannot_be_written_or_sent_holds_up_nothing(node: Node) -> None:
    node.rounds.next = Readings(checks=(Check("a", FAILED, "x", "\ud800"),))
    with pytest.raises(UnicodeEncodeError):
        node.agent._report()
    node.report(round_of(2, a=OK), up=True)
    assert node.told() == {"a": ""}


def test_what_was_not_told_before_another_boot_is_dropped(node: Node) -> None:
    timetable = Timetable()
    node.report(round_of(1, a=FATAL), up=False)
    later = restarted(node, timetable, boot_id="b2")
    later.report(round_of(2, a=OK), up=True)
    assert later.told() == {"a": ""} and len(later.line.arrived) == 1
    timetable.close()


def test_the_same_check_that_fails_again_after_another_boot_is_kept(tmp_path: Path) -> None:
    failed = (Check("a", FAILED, "x"),)
    for boot_id in ("b1", "b2"):
        Journal(tmp_path, durable=False).write_untold(Untold(boot_id, checks=failed))
        assert Journal(tmp_path, durable=False).untold(boot_id).checks == failed


def test_what_is_kept_is_bounded_when_it_is_written_and_when_it_is_read(tmp_path: Path) -> None:
    checks = tuple(Check(f"d{number}", FATAL, "x", "e" * 600) for number in range(5000))
    report = Report(VERSION, "b1", 1, 0, "d", checks=list(checks))
    Journal(tmp_path, durable=False).write_untold(Untold("b1", report, checks))
    kept = Journal(tmp_path, durable=False).untold("b1")
    assert kept.report is not None
    assert [len(kept.checks), len(kept.report.checks), len(kept.checks[0].evidence)] == [1024, 1024, 500]
    (tmp_path / "untold").write_bytes(msgspec.json.encode(Untold("b1", None, checks)))
    assert len(Journal(tmp_path, durable=False).untold("b1").checks) == 1024


DAMAGED = [
    b"",
    b'{"boot_id": "b1", "checks": [{"dev',
    b"\xff\xfe{}",
    b'{"x":' + b"[" * 200_000,
    b'{"boot_id": "b1", "x": "' + b"x" * (5 << 20) + b'"}',
]


@pytest.mark.parametrize("damage", DAMAGED, ids=["empty", "cut", "bytes", "deep", "large"])
def test_damaged_files_of_the_state_folder_keep_nobody_from_starting(tmp_path: Path, damage: bytes) -> None:
    key = TaskKey(1, 1, 1)
    journal = Journal(tmp_path, durable=False)
    (tmp_path / "tasks" / key.folder).mkdir()
    for name in ("untold", "obeyed", "devices.json", f"done/{key.folder}", f"tasks/{key.folder}/record.json"):
        (tmp_path / name).write_bytes(damage)
    assert (journal.read_obeyed(), journal.past_outcome(key), journal.read_all()) == (Obeyed(), None, [])
    assert Journal(tmp_path, durable=False).untold("b1") == Untold()
    assert KnownDevices(tmp_path, "b1").of(Vendor.NVIDIA) == []


class Gone(NvidiaProbe):
    """No driver, no tool."""

    @staticmethod
    def present(root: Path) -> bool:
        return False


def reading(result: CheckResult, *others: Check, index: int = 0) -> Reading:
    name = f"GPU-{index}"
    facts = DeviceFacts(vendor=Vendor.NVIDIA, index=index, uuid=name)
    check = Check(name, result, "" if result is OK else "xid", "" if result is OK else "Xid 79")
    return Reading(facts, DeviceSample(device=name), check, findings=list(others))


@pytest.fixture
def collector(tmp_path: Path) -> HostCollector:
    return HostCollector(Config(state_dir=str(tmp_path / "state")), root=tmp_path, probes={})


def a_round(
    collector: HostCollector, monkeypatch: pytest.MonkeyPatch, *readings: Reading, **more: object
) -> None:
    """One round in which NVIDIA's probe gave this."""
    readout = Readout(vendor=Vendor.NVIDIA, readings=list(readings), **more)  # type: ignore[arg-type]
    monkeypatch.setattr(collector, "_probes", {Vendor.NVIDIA: None})
    monkeypatch.setattr(
        collector, "_read_vendor", lambda vendor, probe: collector._take_readout(vendor, readout)
    )
    collector._round()


def test_a_round_that_nobody_took_is_not_forgotten(
    collector: HostCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_round(collector, monkeypatch, reading(FATAL))
    a_round(collector, monkeypatch, reading(OK))
    taken = collector.take()
    assert taken is not None and [check.code for check in taken.checks] == ["xid"]
    a_round(collector, monkeypatch, reading(OK))
    taken = collector.take()
    assert taken is not None and [check.result for check in taken.checks] == [OK]


def test_the_evidence_of_all_that_was_found_is_told(
    collector: HostCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    hot = Check("GPU-0", FAILED, "over-temperature", "99 C of 95 C")
    a_round(collector, monkeypatch, reading(FATAL, hot, Check("GPU-0", OK)))
    taken = collector.take()
    assert taken is not None and taken.checks[0].evidence == "Xid 79; over-temperature: 99 C of 95 C"


def test_a_disk_that_takes_nothing_costs_no_round_and_is_asked_again(
    collector: HostCollector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = tmp_path / "state/devices.json"
    kept.mkdir(parents=True)
    a_round(collector, monkeypatch, reading(OK))
    assert collector.take() is not None and len(collector.facts().devices) == 1
    kept.rmdir()
    a_round(collector, monkeypatch, reading(OK))
    assert kept.is_file()


def test_nothing_is_put_down_while_others_wait_for_the_facts(
    collector: HostCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []
    monkeypatch.setattr(collector._known, "save", lambda: held.append(collector._lock.locked()))
    a_round(collector, monkeypatch, reading(OK))
    assert held == [False]


def test_a_driver_that_goes_is_written_down_where_nobody_reads(
    collector: HostCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Watched(dict[Vendor, object]):
        def __setitem__(self, vendor: Vendor, warnings: object) -> None:
            assert collector._lock.locked()
            super().__setitem__(vendor, warnings)

    monkeypatch.setattr(collector, "_probes", {Vendor.NVIDIA: Gone})
    monkeypatch.setattr(collector, "_vendor_warnings", Watched())
    collector._known.see(Vendor.NVIDIA, [reading(OK).facts])
    collector._round()
    assert [said.code for said in collector.facts().notices] == ["driver-gone"]


def test_a_damaged_answer_drops_no_card(collector: HostCollector, monkeypatch: pytest.MonkeyPatch) -> None:
    a_round(collector, monkeypatch, reading(OK), reading(OK, index=1))
    collector.take()
    a_round(collector, monkeypatch, reading(OK), warnings=[notice("output-damaged", tool="nvidia-smi")])
    taken = collector.take()
    assert taken is not None and {check.device: check.result for check in taken.checks} == {
        "GPU-0": OK,
        "GPU-1": UNKNOWN,
    }


def test_new_memory_errors_hide_no_other_fault() -> None:
    counts = ErrorCounts()
    counts.judge(counted(FAILED, 3))
    both = counts.judge(counted(FAILED, 5))
    assert both.check.code == "ecc-uncorrectable" and [one.code for one in both.findings] == ["xid"]
    worse = counts.judge(counted(FATAL, 6))
    assert worse.check.code == "xid" and [one.code for one in worse.findings] == ["ecc-uncorrectable"]


def counted(result: CheckResult, errors: int) -> Reading:
    return msgspec.structs.replace(reading(result), uncorrectable=errors)

"""Rounds of measuring that do not reach the server: what was told once is told until it arrives."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from agent.collect import HostCollector, Readings
from agent.config import Config, Identity
from agent.journal import Journal
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
from agent.transport import Transport, Unreachable
from agent.vendors.base import Reading, Readout
from agent.vendors.error_counts import ErrorCounts
from agent.vendors.nvidia import NvidiaProbe

OK, UNKNOWN, FAILED, FATAL = CheckResult.OK, CheckResult.UNKNOWN, CheckResult.FAILED, CheckResult.FATAL
NODE = mixed_cluster().nodes[0]


class Line(Transport):
    """Reports arrive while it is up."""

    def __init__(self) -> None:
        self.up = False
        self.arrived: list[Report] = []

    def report(self, report: Report) -> Reply:
        if not self.up:
            raise Unreachable("it is down")
        self.arrived.append(report)
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


def test_the_worst_check_of_each_device_is_told_until_it_arrives(node: Node) -> None:
    node.report(round_of(1, a=FATAL, b=FAILED, c=OK), up=False)
    node.report(round_of(2, a=OK, b=FATAL, c=FAILED), up=False)
    node.report(round_of(3, a=FAILED, b=UNKNOWN, c=OK), up=False)
    node.report(round_of(4, a=OK, b=OK, c=OK), up=True)
    assert node.told() == {"a": "fatal-1", "b": "fatal-2", "c": "failed-2"}
    assert {sample.temperature_c for sample in node.line.arrived[-1].samples} == {4}


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
    again.report(round_of(2, a=OK, b=OK, c=FAILED), up=False)
    third = restarted(again, timetable)
    third.report(round_of(3, a=OK, b=OK, c=OK), up=True)
    assert third.told() == {"a": "fatal-1", "b": "", "c": "failed-2"}
    last = restarted(third, timetable)
    last.report(round_of(4, a=OK), up=True)
    assert last.told() == {"a": ""}
    timetable.close()


def test_what_was_not_told_before_another_boot_is_dropped(node: Node) -> None:
    timetable = Timetable()
    node.report(round_of(1, a=FATAL), up=False)
    later = restarted(node, timetable, boot_id="b2")
    later.report(round_of(2, a=OK), up=True)
    assert later.told() == {"a": ""}
    timetable.close()


def test_what_is_kept_is_bounded_and_may_be_damaged(tmp_path: Path) -> None:
    journal = Journal(tmp_path, durable=False)
    journal.write_untold("b1", [Check(f"d{number}", FATAL, "x", "e" * 9000) for number in range(5000)])
    kept = Journal(tmp_path, durable=False).untold("b1")
    assert (len(kept), len(kept[0].evidence)) == (1024, 500)
    (tmp_path / "untold").write_bytes(b'{"boot_id": "b1", "checks": [{"dev')
    assert Journal(tmp_path, durable=False).untold("b1") == ()


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

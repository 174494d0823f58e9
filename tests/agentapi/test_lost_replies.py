"""Reports that the server takes in while its replies are lost: each check counts once, and none is lost."""

from pathlib import Path

import pytest

from agent import protocol
from agent.collect import Readings
from agent.config import Identity
from agent.journal import Journal
from agent.loop import Agent
from agent.protocol import Check, CheckResult, Facts, Reply, Report
from agent.runners.simulated import SimRunner, Timetable
from agent.simulation_facts import node_facts
from agent.simulation_spec import mixed_cluster
from agent.transport import Transport, Unreachable
from inventory.models import Device, DeviceEvent, DeviceHealth
from tests.agentapi.speaking import enrolled, post

pytestmark = pytest.mark.django_db
OK, UNKNOWN, FAILED = CheckResult.OK, CheckResult.UNKNOWN, CheckResult.FAILED
NODE = next(node for node in mixed_cluster().nodes if node_facts(node, "m1").devices)
FACTS = node_facts(NODE, "m1")


class Line(Transport):
    """To the server's own view; the reply may be lost on its way back, or the report on its way there."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.loses_report = self.loses_reply = False

    def report(self, report: Report) -> Reply:
        if self.loses_report:
            raise Unreachable("the report is lost")
        answer = post("report", report, token=self.token)
        assert answer.status_code == 200, answer.content
        if self.loses_reply:
            raise Unreachable("the reply is lost")
        return protocol.decode(answer.content, Reply)


class Rounds:
    """A collector whose rounds a test chose."""

    def __init__(self) -> None:
        self.next: Readings | None = None

    def start(self, on_ready: object) -> None:
        pass

    def facts(self) -> Facts:
        return FACTS

    def begin(self) -> None:
        pass

    def take(self) -> Readings | None:
        taken, self.next = self.next, None
        return taken

    def close(self) -> None:
        pass


class Speaker:
    """Agents of one boot, one after the other, on one state folder."""

    def __init__(self, folder: Path, timetable: Timetable) -> None:
        self.folder, self.timetable = folder, timetable
        self.line, self.rounds = Line(enrolled("m1", "b1").token), Rounds()
        self.agent = self.start()

    def start(self) -> Agent:
        journal = Journal(self.folder, durable=False)
        self.agent = Agent(
            Identity("http://127.0.0.1:1", "c1", 1, "secret", "m1"),
            transport=self.line,
            collector=self.rounds,
            runner=SimRunner(NODE, journal, self.timetable),
            journal=journal,
            boot_id="b1",
        )
        return self.agent

    def round(
        self, result: CheckResult | None, *, loses_report: bool = False, loses_reply: bool = False
    ) -> None:
        """One try to report what a round found of every device, or nothing new."""
        self.line.loses_report, self.line.loses_reply = loses_report, loses_reply
        if result is not None:
            names = [device.uuid or device.pci_bus_id or "" for device in FACTS.devices]
            self.rounds.next = Readings(checks=tuple(Check(name, result, "code") for name in names))
        if not (loses_report or loses_reply):
            self.agent._report()
            return
        with pytest.raises(Unreachable):
            self.agent._report()


@pytest.fixture
def speaker(tmp_path: Path):
    timetable = Timetable()
    speaker = Speaker(tmp_path, timetable)
    for _ in range(3):
        speaker.round(OK)
    assert (
        healths() == {DeviceHealth.HEALTHY} and not DeviceEvent.objects.filter(to_health="suspect").exists()
    )
    yield speaker
    timetable.close()


def healths() -> set[str]:
    return set(Device.objects.values_list("health", flat=True))


def failures() -> set[int]:
    return set(Device.objects.values_list("failed_checks", flat=True))


def test_one_failed_check_counts_once_however_many_replies_are_lost(speaker: Speaker) -> None:
    for result in (FAILED, OK, OK, None):
        speaker.round(result, loses_reply=True)
        assert (healths(), failures()) == ({DeviceHealth.SUSPECT}, {1})
    speaker.round(None)
    assert (healths(), failures()) == ({DeviceHealth.HEALTHY}, {0})


def test_one_failed_check_counts_once_over_restarts_of_the_agent(speaker: Speaker) -> None:
    for result in (FAILED, OK, OK):
        speaker.round(result, loses_reply=True)
        speaker.start()
        assert failures() == {1}
    speaker.round(OK)
    assert (healths(), failures()) == ({DeviceHealth.HEALTHY}, {0})


def test_an_unread_device_is_not_drained_by_lost_replies(speaker: Speaker) -> None:
    for result in (UNKNOWN, OK, OK, None):
        speaker.round(result, loses_reply=True)
    assert set(Device.objects.values_list("unknown_checks", flat=True)) == {1}


@pytest.mark.parametrize("restarts", [False, True])
def test_a_failed_check_whose_report_was_lost_still_counts(speaker: Speaker, restarts: bool) -> None:
    speaker.round(FAILED, loses_report=True)
    speaker.round(FAILED, loses_report=True)
    speaker.round(OK, loses_report=True)
    assert failures() == {0}
    if restarts:
        speaker.start()
    speaker.round(None)
    assert (healths(), failures()) == ({DeviceHealth.SUSPECT}, {2})
    speaker.round(OK)
    assert failures() == {0}

"""From a report to an assignment, its log and its end, as a real agent goes through it."""

import gzip

import pytest

from agent import protocol
from agent.protocol import ExitReason, TaskPhase, TaskState, Want
from queues.events import event_text
from queues.models import Job, JobEvent
from scheduling import logs
from scheduling.models import Placement
from tests.agentapi.speaking import Agent, enrolled, post_log, problem
from tests.inventory.factories import facts
from tests.scheduling.factories import make_job, make_queues, make_team, make_user, run_cycle

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent():
    agent = Agent(enrolled().token)
    agent.report(facts=facts())
    return agent


@pytest.fixture
def assignment(agent):
    make_queues()
    make_job(make_user(team=make_team()))
    run_cycle()
    (assignment,) = agent.report().assignments
    return assignment


def named(assignment):
    return {"attempt": assignment.attempt, "fence": assignment.fence}


def task(assignment, phase, **changes):
    return TaskState(placement=assignment.placement, phase=phase, **named(assignment), **changes)


def test_an_assignment_is_repeated_until_its_end_is_reported(agent, assignment):
    assert assignment.want is Want.RUN and assignment.command == ["/bin/true"]
    running = task(assignment, TaskPhase.RUNNING, started_at_ms=1, pid=7)
    assert agent.report(tasks=[running]).assignments
    assert Job.objects.get().status == "running"
    ended = task(
        assignment, TaskPhase.ENDED, exit_code=3, reason=ExitReason.EXITED, started_at_ms=1, ended_at_ms=9
    )
    report = agent.make(tasks=[ended])
    for _ in range(3):
        assert agent.send(report).status_code == 200
    assert (Job.objects.get().status, Job.objects.get().exit_code) == ("failed", 3)
    assert agent.report().assignments == []


@pytest.mark.parametrize(
    "code", [256, -1, 2**40, -(2**63), 2**63 - 1, 2**70, -(10**30), "1e400", "-1e400", 1.5]
)
def test_an_impossible_exit_code_is_unknown_and_no_lost_process(agent, assignment, code):
    ended = task(
        assignment,
        TaskPhase.ENDED,
        exit_code=-77,
        signal=128,
        pid=2**50,
        reason=ExitReason.EXITED,
        message="a\x1b[2Jb\u202ec\n",
    )
    report = protocol.encode(agent.make(tasks=[ended])).replace(b"-77", str(code).encode())
    assert agent.send(report).status_code == 200
    job = Job.objects.get()
    assert (job.status, job.exit_class, job.exit_code, job.exit_signal) == ("failed", "exit-code", None, None)
    assert job.exit_message == "a[2Jbc\n"
    assert event_text(JobEvent.objects.order_by("id").last()) == "Ended by itself; its exit code is unknown."


def test_a_task_of_a_foreign_node_changes_nothing(assignment):
    other = Agent(enrolled("machine-2", "boot-2").token, "boot-2")
    other.report(facts=facts(machine_id="machine-2"), tasks=[task(assignment, TaskPhase.ENDED, exit_code=0)])
    assert Placement.objects.get().phase == "assigned"


def test_a_log_grows_by_offset_and_a_repeat_is_harmless(agent, assignment):
    send = agent.send_log
    where = named(assignment)
    assert send(assignment.placement, b"hello ", offset=0, **where).json() == {
        "next_offset": 6,
        "truncated": False,
    }
    assert send(assignment.placement, b"hello world", offset=0, **where).json()["next_offset"] == 11
    assert send(assignment.placement, b"hello", offset=0, **where).json()["next_offset"] == 11
    assert send(assignment.placement, b"!", offset=11, compress=True, **where).json()["next_offset"] == 12
    assert logs.read_log(assignment.placement, offset=0, limit=100).data == b"hello world!"


def test_a_gap_in_a_log_names_the_offset_to_send_from(agent, assignment):
    answer = agent.send_log(assignment.placement, b"late", offset=100, **named(assignment))
    assert answer.status_code == 409
    body = problem(answer)
    assert (body["code"], body["params"], body["next_offset"]) == ("log-gap", {"next_offset": 0}, 0)


def test_a_log_is_cut_at_its_cap_with_a_mark(agent, assignment, monkeypatch):
    monkeypatch.setattr(logs, "CAP_BYTES", 10)
    answer = agent.send_log(assignment.placement, b"0123456789abc", offset=0, **named(assignment))
    assert answer.json() == {"next_offset": 10, "truncated": True}


@pytest.mark.parametrize("wrong", [{"attempt": 9}, {"fence": 1}])
def test_a_log_of_another_attempt_is_refused(agent, assignment, wrong):
    assert (
        agent.send_log(assignment.placement, b"x", offset=0, **(named(assignment) | wrong)).status_code == 404
    )


def test_a_log_of_a_foreign_placement_is_refused(assignment):
    other = Agent(enrolled("machine-2", "boot-2").token)
    assert other.send_log(assignment.placement, b"x", offset=0, **named(assignment)).status_code == 404


@pytest.mark.parametrize("name", ["attempt", "fence", "offset"])
def test_wrong_numbers_are_named(agent, assignment, name):
    for value in ("", "-1", "x", "9" * 25):
        query = {**named(assignment), "offset": 0} | {name: value}
        answer = post_log(
            assignment.placement,
            b"x",
            query,
            HTTP_AUTHORIZATION=f"Bearer {agent.token}",
        )
        assert answer.status_code == 400
        assert problem(answer)["errors"][0]["field"] == name


def test_a_bomb_and_broken_gzip_are_refused(agent, assignment):
    where = {**named(assignment), "offset": 0}
    bomb = b"\x00" * (64 * 1024 * 1024)
    assert agent.send_log(assignment.placement, bomb, compress=True, **where).status_code == 413
    for broken in (b"not gzip", gzip.compress(b"hello")[:-5]):
        answer = post_log(
            assignment.placement,
            broken,
            where,
            HTTP_AUTHORIZATION=f"Bearer {agent.token}",
            HTTP_CONTENT_ENCODING="gzip",
        )
        assert (answer.status_code, problem(answer)["code"]) == (400, "malformed")

"""A report that only said how far tasks are is followed by quiet ones; taking those in would have changed nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.memory_types import Pressure, PressureKind
from agent.protocol import (
    Assignment,
    Check,
    Checkpoint,
    CheckResult,
    ExitReason,
    Pull,
    TaskPhase,
    TaskState,
)
from controlplane.agentapi import report
from controlplane.agentapi.quiet import Quiet, note
from inventory.models import Device, Node, NodeContact
from queues.models import Job, JobEvent, JobStatus
from scheduling.models import DesiredState, Placement, Slice
from tests.agentapi.speaking import Agent, enrolled
from tests.inventory.factories import device_facts, facts
from tests.scheduling.factories import make_job, make_queues, make_team, make_user, run_cycle

pytestmark = pytest.mark.django_db
OK = [Check(device="GPU-00000000", result=CheckResult.OK)]
STATED = (Job, JobEvent, Placement, Slice, DesiredState, Device, Node)


@pytest.fixture
def agent(valkey_url: str) -> Agent:
    """An agent with one healthy device that has said the same some times."""
    one = Agent(enrolled().token)
    one.report(facts=facts(device_facts(0)))
    for _ in range(8):
        one.report(checks=OK)
    return one


def assigned(agent: Agent, **job: Any) -> tuple[Assignment, int]:
    """One job of this node, and the epoch that the agent then obeys."""
    make_queues()
    make_job(make_user(team=make_team()), **job)
    run_cycle()
    reply = agent.report(checks=OK)
    (assignment,) = reply.assignments
    return assignment, reply.epoch


def task(assignment: Assignment, phase: TaskPhase, **more: Any) -> TaskState:
    over = {"exit_code": 0, "reason": ExitReason.EXITED, "ended_at_ms": 9} if phase is TaskPhase.ENDED else {}
    started = {} if phase is TaskPhase.PREPARING else {"started_at_ms": 1, "pid": 7}
    named = {"attempt": assignment.attempt, "fence": assignment.fence}
    return TaskState(placement=assignment.placement, phase=phase, **{**named, **started, **over, **more})


def test_a_task_costs_one_long_report_for_each_step(agent, long_way):
    assignment, epoch = assigned(agent)
    counts = []
    for phase in (TaskPhase.PREPARING, TaskPhase.RUNNING, TaskPhase.ENDED):
        long_way.clear()
        said = [task(assignment, phase)]
        for _ in range(3):
            reply = agent.report(tasks=said, checks=OK, epoch=epoch)
            said, epoch = (said if reply.assignments else []), reply.epoch
        counts.append(len(long_way))
    assert counts == [1, 1, 1]
    assert Job.objects.get().status == JobStatus.SUCCEEDED and NodeContact.objects.get().epoch == epoch


@pytest.mark.parametrize(
    "acted_upon",
    [
        {"checkpoint": Checkpoint(path="/c/1", made_at_ms=1)},
        {"pressures": [Pressure(kind=PressureKind.NEAR, used_mib=9, booked_mib=10)]},
    ],
)
def test_what_the_server_may_act_upon_is_taken_in_again(agent, long_way, acted_upon):
    assignment, epoch = assigned(agent)
    long_way.clear()
    for _ in range(3):
        agent.report(tasks=[task(assignment, TaskPhase.RUNNING, **acted_upon)], checks=OK, epoch=epoch)
    assert len(long_way) == 2


def test_a_device_that_fails_beside_a_step_of_a_task_is_counted_each_time(agent):
    assignment, epoch = assigned(agent)
    bad = [Check(device="GPU-00000000", result=CheckResult.FAILED, code="xid-31")]
    for expected in (1, 2, 3):
        agent.report(tasks=[task(assignment, TaskPhase.RUNNING)], checks=bad, epoch=epoch)
        assert Device.objects.get().failed_checks == expected


def test_a_plan_that_is_newer_than_ours_is_no_quiet_one(agent):
    assignment, epoch = assigned(agent)
    running = [task(assignment, TaskPhase.RUNNING)]
    reply = agent.report(tasks=running, checks=OK, epoch=epoch)
    agent.report(tasks=running, checks=OK, epoch=epoch + 5, cluster_id=reply.cluster_id)
    assert Node.objects.get().state == "quarantined"


def stated() -> list[list[dict[str, Any]]]:
    """All rows that a report can have an effect on."""
    managers: list[Any] = [model._default_manager for model in STATED]
    return [list(manager.order_by("pk").values()) for manager in managers]


steps = st.builds(
    lambda phase, more: (phase, more),
    st.sampled_from([TaskPhase.PREPARING, TaskPhase.RUNNING, TaskPhase.STOPPING, TaskPhase.ENDED]),
    st.fixed_dictionaries(
        {},
        optional={
            "pid": st.sampled_from([7, 8]),
            "uid": st.sampled_from([60_001, 60_002]),
            "adopted": st.booleans(),
            "exit_code": st.sampled_from([0, 1]),
            "signal": st.just(9),
            "reason": st.sampled_from(ExitReason),
            "pull": st.builds(Pull, image=st.just("a:1"), done=st.booleans(), ms=st.just(5)),
            "fence": st.just(99),
            "attempt": st.just(2),
            "checkpoint": st.builds(Checkpoint, path=st.sampled_from(["", "/c/1"]), made_at_ms=st.just(1)),
            "device_use": st.just([]),
        },
    ),
)
checks = st.lists(
    st.builds(Check, device=st.just("GPU-00000000"), result=st.sampled_from(CheckResult)), max_size=1
)


@given(st.lists(st.tuples(steps, checks), min_size=1, max_size=5))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_report_that_is_called_quiet_would_have_changed_nothing(agent, said):
    with pytest.MonkeyPatch.context() as patch, transaction.atomic():
        _tell_in_turn(agent, said, patch)
        transaction.set_rollback(True)


def _tell_in_turn(agent: Agent, said: list[Any], patch: pytest.MonkeyPatch) -> None:
    assignment, epoch = assigned(agent)
    quiet: list[bool] = []

    def noting(*given: Any, **named: Any) -> Quiet | None:
        one = note(*given, **named)
        quiet.append(one is not None)
        return one

    patch.setattr(report, "note", noting)
    for (phase, more), checked in said:
        tasks = [task(assignment, phase, **more)]
        for _ in range(2):
            reply = agent.report(tasks=tasks, checks=checked, epoch=epoch)
            epoch = reply.epoch
            wanted = {one.placement for one in reply.assignments}
            tasks = [one for one in tasks if one.placement in wanted]
        before, quiet[:] = stated(), []
        following = agent.make(tasks=tasks, checks=checked, epoch=epoch)
        agent.send(following)
        if quiet == [True]:
            NodeContact.objects.update(report_digest="")
            agent.send(msgspec.structs.replace(following, seq=agent.make().seq))
            assert quiet == [True, False]
            assert stated() == before

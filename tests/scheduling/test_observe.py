"""What agents say, once, twice, late, or about things that are not theirs."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine

from agent.protocol import ExitReason, Pull, TaskPhase, Want
from controlplane.base import clock
from inventory.models import Node, NodeState
from queues.models import ExitClass, Job, JobEvent, JobStatus
from scheduling.backends.agent import desired_set, epoch_of
from scheduling.losses import declare_lost, declare_lost_nodes
from scheduling.models import CoreBooking, Phase, Placement, Slice
from scheduling.operations import cancel_job
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def node(user):
    node = make.make_node(cores=8)
    make.make_device(node, memory_mib=24576)
    return node


def start(user, **changes) -> tuple[Job, Placement]:
    job = make.make_job(user, **changes)
    make.run_cycle()
    return job, Placement.objects.filter(job=job).latest("pk")


def booked() -> tuple[int, int]:
    return sum(s.memory_mib for s in Slice.objects.all()), CoreBooking.objects.count()


def test_a_confirmation_books_nothing_again(user, node):
    """C01: booked is 8 GiB after the decision, after the confirmation, and after the same confirmation again."""
    _job, placement = start(user, resources={"device_memory": "8Gi", "shareable": True})
    for _ in range(2):
        assert booked() == (8192, 1)
        make.report(node, make.started(placement))
    assert booked() == (8192, 1)


def test_phases_only_move_forward(user, node):
    job, placement = start(user)
    for phase in (
        TaskPhase.PREPARING,
        TaskPhase.RUNNING,
        TaskPhase.PREPARING,
        TaskPhase.STOPPING,
        TaskPhase.RUNNING,
    ):
        make.report(node, make.task(placement, phase, started_at_ms=1))
    placement.refresh_from_db()
    assert placement.phase == Phase.STOPPING
    assert placement.preparing_at <= placement.running_at <= placement.stopping_at
    assert Job.objects.get(pk=job.pk).status == JobStatus.RUNNING


def test_process_facts_are_kept_up_to_date(user, node):
    _job, placement = start(user)
    make.report(node, make.started(placement))
    make.report(
        node, make.task(placement, TaskPhase.RUNNING, started_at_ms=1000, pid=99, uid=60001, adopted=True)
    )
    placement.refresh_from_db()
    assert (placement.pid, placement.uid, placement.adopted) == (99, 60001, True)
    make.report(node, make.task(placement, TaskPhase.RUNNING, pid=2**40, uid=-(2**40)))
    placement.refresh_from_db()
    assert (placement.pid, placement.uid) == (None, None)


def test_a_task_that_ended_between_two_reports_did_run(user, node):
    job, placement = start(user)
    make.report(node, make.ended(placement))
    job.refresh_from_db()
    placement.refresh_from_db()
    assert [e.to_status for e in JobEvent.objects.filter(job=job).order_by("pk")][-2:] == [
        "running",
        "succeeded",
    ]
    assert placement.running_at >= placement.assigned_at and job.started_at == placement.running_at


def test_an_end_that_is_told_late_was_when_it_was(user, node):
    job, placement = start(user)
    make.report(node, make.started(placement))
    with time_machine.travel(clock.now() + timedelta(hours=1), tick=False):
        make.report(node, make.ended(placement, started_at_ms=1_000, ended_at_ms=6_000))
    job.refresh_from_db()
    assert job.finished_at - job.started_at == timedelta(seconds=5)


def test_clocks_of_nodes_decide_nothing(user, node):
    """C47: a clock that is hours off, or runs backwards, moves no time of ours outside of the attempt."""
    for began, ended in [(10**15, 10**15 + 5), (5, 3), (0, 10**18), (-(10**12), 4)]:
        job, placement = start(user)
        make.report(node, make.ended(placement, started_at_ms=began, ended_at_ms=ended))
        job.refresh_from_db()
        assert placement.assigned_at <= job.started_at <= job.finished_at <= clock.now()


@pytest.mark.parametrize(
    "end,status,exit_class,code,signal",
    [
        ({"code": 0}, JobStatus.SUCCEEDED, ExitClass.SUCCESS, 0, None),
        ({"code": 7}, JobStatus.FAILED, ExitClass.EXIT_CODE, 7, None),
        (
            {"reason": ExitReason.SIGNALLED, "exit_code": None, "signal": 9},
            JobStatus.FAILED,
            ExitClass.SIGNAL,
            None,
            9,
        ),
        (
            {"reason": ExitReason.START_FAILED, "exit_code": None},
            JobStatus.FAILED,
            ExitClass.START_FAILED,
            None,
            None,
        ),
        ({"reason": ExitReason.TIME_LIMIT, "signal": 15}, JobStatus.FAILED, ExitClass.TIME_LIMIT, 0, 15),
    ],
)
def test_exits_are_classified(user, node, end, status, exit_class, code, signal):
    job, placement = start(user)
    make.report(node, make.ended(placement, message="why", **end))
    job.refresh_from_db()
    assert (job.status, job.exit_class, job.exit_code, job.exit_signal) == (status, exit_class, code, signal)
    assert job.exit_message == "why" and booked() == (0, 0)


@pytest.mark.parametrize("reason", [ExitReason.LOST_PROCESS, ExitReason.STOPPED])
def test_mishaps_are_tried_again_on_the_house_within_a_bound(user, node, reason):
    job, placement = start(user)
    for attempt in range(1, 7):
        assert placement.attempt == attempt
        make.report(node, make.ended(placement, reason=reason, exit_code=None))
        make.run_cycle()
        placement = Placement.objects.filter(job=job).latest("pk")
    job.refresh_from_db()
    assert (job.status, job.exit_class, job.requeues_left) == (JobStatus.FAILED, ExitClass.LOST_PROCESS, 0)


def test_a_new_attempt_remembers_where_it_was(user, node):
    job, placement = start(user, max_retries=1)
    shape = job.shape
    make.report(node, make.ended(placement, code=1))
    job.refresh_from_db()
    assert (job.attempt, job.retries_left, job.previous_nodes) == (2, 0, [node.pk])
    assert job.shape != shape and job.pending_since is not None and job.started_at is None


def test_a_late_answer_changes_nothing_and_is_remarked_once(user, node):
    """C05: the slot went to another job; the answer of the first, under its old fence, swaps nothing."""
    job, placement = start(user, resources={"device_memory": "8Gi", "shareable": True})
    Node.objects.filter(pk=node.pk).update(state=NodeState.LOST)
    declare_lost(node.pk)
    Node.objects.filter(pk=node.pk).update(state=NodeState.READY)
    make.run_cycle()
    second = Placement.objects.get(job=job, attempt=2)
    before = Job.objects.filter(pk=job.pk).values().get()
    for _ in range(3):
        make.report(node, make.started(placement))
        make.report(node, make.task(second, TaskPhase.RUNNING, fence=placement.fence - 5, started_at_ms=1))
        make.report(node, make.ended(second, attempt=1))
    assert Job.objects.filter(pk=job.pk).values().get() == before
    second.refresh_from_db()
    assert second.phase == Phase.ASSIGNED and booked() == (8192, 1)
    assert JobEvent.objects.filter(job=job, code="late-answer").count() == 3


def test_a_node_speaks_only_for_its_own_placements(user, node):
    job, placement = start(user)
    stranger = make.make_node()
    assert make.report(stranger, make.ended(placement)) == 0
    assert make.report(node, make.ended(Placement(pk=10**9, attempt=1, fence=1))) == 0
    assert Job.objects.get(pk=job.pk).status == JobStatus.STARTING
    assert not JobEvent.objects.filter(code="late-answer").exists()


def test_a_returning_node_is_told_to_stop_what_was_given_up(user, node):
    """C44: the node was cut off, its job started elsewhere; back again, its copy is not in its desired set."""
    job, placement = start(user, resources={"cores": 2})
    make.report(node, make.started(placement))
    Node.objects.filter(pk=node.pk).update(state=NodeState.LOST)
    other = make.make_node(cores=8)
    assert declare_lost_nodes() == 1 and declare_lost_nodes() == 0
    job.refresh_from_db()
    assert (job.status, job.attempt, job.requeues_left) == (JobStatus.PENDING, 2, 4)
    make.run_cycle()
    assert [a.attempt for a in desired_set(other)[1]] == [2]
    Node.objects.filter(pk=node.pk).update(state=NodeState.READY)
    assert desired_set(node)[1] == []
    make.report(node, make.started(placement))
    assert Placement.objects.filter(job=job, phase__in=("assigned", "running")).count() == 1


def test_a_node_that_came_back_in_time_loses_nothing(user, node):
    _job, placement = start(user)
    assert declare_lost(node.pk) == 0
    placement.refresh_from_db()
    assert placement.phase == Phase.ASSIGNED and booked() == (0, 1)


def test_cancel_while_the_agent_is_away_keeps_the_bookings(user, node):
    job, placement = start(user, resources={"devices": 1})
    epoch = epoch_of(node.pk)
    assert cancel_job(job.pk, actor="ada") and not cancel_job(job.pk, actor="ada")
    job.refresh_from_db()
    assert (job.status, job.exit_class) == (JobStatus.CANCELLED, ExitClass.CANCELLED)
    later, assignments = desired_set(node)
    assert later > epoch and [(a.want, a.grace_s) for a in assignments] == [(Want.STOP, 10)]
    assert booked() == (24576, 1)
    other, _none = make.make_job(user, resources={"devices": 1}), make.run_cycle()
    assert Job.objects.get(pk=other.pk).status == JobStatus.PENDING
    make.report(node, make.ended(placement, reason=ExitReason.STOPPED, exit_code=None, signal=15))
    assert booked() == (0, 0) and Job.objects.get(pk=job.pk).status == JobStatus.CANCELLED


@pytest.mark.parametrize("stage", ["pending", "starting", "running"])
def test_cancel_at_every_stage(user, node, stage):
    job = make.make_job(user)
    if stage != "pending":
        make.run_cycle()
    if stage == "running":
        make.report(node, make.started(Placement.objects.get(job=job)))
    assert Job.objects.get(pk=job.pk).status == stage
    cancel_job(job.pk, actor="ada")
    make.run_cycle()
    job.refresh_from_db()
    assert job.status == JobStatus.CANCELLED and job.finished_at is not None
    assert JobEvent.objects.filter(job=job).latest("pk").actor == "ada"


def test_an_assignment_that_nobody_picks_up_is_not_made_twice(user, node):
    job, placement = start(user)
    for _ in range(3):
        make.run_cycle()
        assert [a.placement for a in desired_set(node)[1]] == [placement.pk]
    assert Placement.objects.filter(job=job).count() == 1


def test_limits_do_not_cross_jobs(user, node):
    """C04: a big job crash-loops beside a small one; each attempt carries its own memory and cores."""
    big = make.make_job(user, resources={"memory": "30Gi", "cores": 3}, max_retries=10)
    small = make.make_job(user, resources={"memory": "1Gi"})
    make.run_cycle()
    for _ in range(6):
        told = {a.job: (a.memory_mib, len(a.cpus)) for a in desired_set(node)[1]}
        assert told == {big.pk: (30720, 3), small.pk: (1024, 1)}
        make.report(node, make.ended(Placement.objects.filter(job=big).latest("pk"), code=1))
        make.run_cycle()


def test_waiting_is_split(user, node):
    job, placement = start(user)
    make.report(node, make.started(placement))
    job.refresh_from_db()
    placement.refresh_from_db()
    first = JobEvent.objects.get(job=job, code="placed").at
    assert job.pending_ms == pytest.approx((first - job.submitted_at).total_seconds() * 1000, abs=5)
    assert job.start_ms == pytest.approx(
        (placement.running_at - placement.assigned_at).total_seconds() * 1000, abs=2
    )
    assert job.held_ms == job.image_pull_ms == 0


def test_fetching_an_image_is_seen_while_it_lasts_and_is_a_part_of_the_wait_of_its_own(user, node):
    with time_machine.travel("2026-03-01T10:00:00Z", tick=False) as traveller:
        job, placement = start(user, image="example.com/team/a:1", network="none")
        told = desired_set(node)[1][0]
        assert (told.image, told.network) == ("example.com/team/a:1", "none")
        for layers, ms in ((1, 4000), (1, 4000), (3, 9000)):
            traveller.shift(5)
            pull = Pull(told.image, ms=ms, layers=layers, text="Copying\x1b blob")
            make.report(node, make.task(placement, TaskPhase.PREPARING, pull=pull))
        seen = JobEvent.objects.get(job=job, code="pulling")
        assert (seen.details["layers"], seen.details["progress"]) == (3, "Copying blob")
        done = Pull(told.image, done=True, ms=12_000)
        make.report(node, make.task(placement, TaskPhase.RUNNING, started_at_ms=1000, pull=done))
    job.refresh_from_db()
    assert JobEvent.objects.get(job=job, code="pulled").details["ms"] == 12_000
    assert (job.status, job.image_pull_ms, job.start_ms) == (JobStatus.RUNNING, 12_000, 3000)

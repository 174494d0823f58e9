"""Suspending and resuming jobs, with their checkpoints."""

from __future__ import annotations

import pytest

from agent.protocol import Checkpoint, ExitReason, TaskPhase, Want
from controlplane.base.problems import Problem
from queues.models import Intent, Job, JobEvent, JobStatus
from scheduling.backends.agent import desired_set
from scheduling.models import Phase, Placement, Slice
from scheduling.operations import cancel_job, resume_job, suspend_job
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
WAY = {"checkpoint": {"signal": "USR1", "timeout_s": 30}, "resources": {"devices": 1}}
PATH = "/shared/checkpoints/1/1"


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def node(user):
    node = make.make_node(cores=8)
    make.make_device(node, memory_mib=24576)
    return node


def running(user, node, **changes) -> tuple[Job, Placement]:
    job = make.make_job(user, **changes)
    make.run_cycle()
    placement = Placement.objects.filter(job=job).latest("pk")
    make.report(node, make.started(placement))
    return fresh(job), placement


def fresh(job: Job) -> Job:
    job.refresh_from_db()
    return job


def answer(node, placement, **told) -> int:
    """The agent says what became of the asking that stands in the desired set; its number."""
    asked = desired_set(node)[1][0].checkpoint_asked
    assert asked is not None
    told = {"path": PATH, "made_at_ms": 1, "asked": asked, **told}
    make.report(
        node, make.task(placement, TaskPhase.RUNNING, started_at_ms=1000, checkpoint=Checkpoint(**told))
    )
    return asked


def stopped(node, placement) -> None:
    make.report(node, make.ended(placement, exit_code=None, signal=15, reason=ExitReason.STOPPED))


def test_a_running_job_is_asked_stopped_and_goes_on_from_its_checkpoint(user, node):
    job, placement = running(user, node, **WAY)
    assert suspend_job(job.pk, actor="ada") and not suspend_job(job.pk, actor="ada")
    assert fresh(job).status == JobStatus.SUSPENDING
    told = desired_set(node)[1][0]
    assert (told.want, told.checkpoint.signal, told.checkpoint.timeout_s) == (Want.RUN, "USR1", 30)
    assert answer(node, placement) and desired_set(node)[1][0].want is Want.STOP
    stopped(node, placement)
    assert (fresh(job).status, job.attempt, job.requeues_left) == (JobStatus.SUSPENDED, 2, 5)
    assert not Slice.objects.exists()
    make.run_cycle()
    assert fresh(job).status == JobStatus.SUSPENDED
    assert resume_job(job.pk, actor="ada") and fresh(job).status == JobStatus.PENDING
    make.run_cycle()
    again = desired_set(node)[1][0]
    assert (again.attempt, again.resume_from, again.checkpoint_asked) == (2, PATH, None)


def test_a_job_that_makes_no_checkpoint_runs_on(user, node):
    job, placement = running(user, node, **WAY)
    suspend_job(job.pk, actor="ada")
    first = answer(node, placement, path="", problem="no checkpoint was confirmed within 30 s")
    assert (fresh(job).status, job.intent) == (JobStatus.RUNNING, Intent.RUN)
    assert (
        JobEvent.objects.get(job=job, code="checkpoint-failed").details["problem"].startswith("no checkpoint")
    )
    assert desired_set(node)[1][0].checkpoint_asked is None
    placement.refresh_from_db()
    assert (placement.phase, placement.stopping_at) == (Phase.RUNNING, None)
    suspend_job(job.pk, actor="ada")
    assert answer(node, placement, asked=first - 1) and fresh(job).status == JobStatus.SUSPENDING


def test_a_checkpoint_that_nobody_asked_for_is_kept_for_a_mishap(user, node):
    job, placement = running(user, node, **WAY)
    for made_at_ms in (1, 1, 2):
        made = Checkpoint(path=PATH, made_at_ms=made_at_ms)
        make.report(node, make.task(placement, TaskPhase.RUNNING, started_at_ms=1000, checkpoint=made))
    assert JobEvent.objects.get(job=job, code="checkpoint").details["made_at_ms"] == 2
    make.report(node, make.ended(placement, exit_code=None, reason=ExitReason.LOST_PROCESS))
    make.run_cycle()
    assert desired_set(node)[1][0].resume_from == PATH


def test_work_is_lost_only_when_told_so(user, node):
    job, placement = running(user, node)
    with pytest.raises(Problem) as caught:
        suspend_job(job.pk, actor="ada")
    assert caught.value.code == "no-checkpoint" and fresh(job).status == JobStatus.RUNNING
    assert suspend_job(job.pk, actor="ada", lose_work=True) and desired_set(node)[1][0].want is Want.STOP
    stopped(node, placement)
    assert fresh(job).status == JobStatus.SUSPENDED


def test_one_that_waits_is_suspended_at_once_and_can_be_cancelled(user, node):
    job = make.make_job(user)
    assert suspend_job(job.pk, actor="ada") and fresh(job).status == JobStatus.SUSPENDED
    make.run_cycle()
    assert not Placement.objects.exists()
    assert cancel_job(job.pk, actor="ada") and fresh(job).status == JobStatus.CANCELLED
    assert not suspend_job(job.pk, actor="ada") and not resume_job(job.pk, actor="ada")


def test_one_that_ends_by_itself_meanwhile_has_ended(user, node):
    job, placement = running(user, node, **WAY)
    suspend_job(job.pk, actor="ada")
    make.report(node, make.ended(placement))
    assert fresh(job).status == JobStatus.SUCCEEDED


def test_resuming_calls_off_a_suspension_that_was_only_asked_for(user, node):
    job, _placement = running(user, node, **WAY)
    suspend_job(job.pk, actor="ada")
    assert resume_job(job.pk, actor="ada") and fresh(job).status == JobStatus.RUNNING
    assert desired_set(node)[1][0].checkpoint_asked is None

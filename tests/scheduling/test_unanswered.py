"""A node that reports but never says what became of a checkpoint holds nobody for ever."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agent.protocol import Checkpoint, TaskPhase
from controlplane.base import clock
from inventory.models import NodeContact
from queues.models import Intent, Job, JobEvent, JobStatus
from scheduling import evacuation
from scheduling.backends.agent import desired_set
from scheduling.models import Phase, Placement
from scheduling.operations import cancel_job, requeue_job, suspend_job
from scheduling.unanswered import SLACK, UNANSWERED, let_unanswered_run_on
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
TIMEOUT_S = 30
WAY = {"checkpoint": {"signal": "USR1", "timeout_s": TIMEOUT_S}}
PATIENCE = timedelta(seconds=TIMEOUT_S) + SLACK


@pytest.fixture
def node():
    make.make_queues()
    return make.make_node(cores=8)


@pytest.fixture
def placement(node):
    return running(node)


def running(node, **changes):
    job = make.make_job(make.make_user(team=make.make_team()), **WAY, **changes)
    make.run_cycle()
    for one in Placement.objects.filter(job=job):
        make.report(node, make.started(one))
    return Placement.objects.filter(job=job).order_by("replica").first()


def heard(node, after):
    """The node's last report came so long after it was asked."""
    asked_at = Placement.objects.filter(phase=Phase.CHECKPOINTING).earliest("stopping_at").stopping_at
    NodeContact.objects.update_or_create(node=node, defaults={"received_at": asked_at + after})


def job_of(placement) -> Job:
    return Job.objects.get(pk=placement.job_id)


def look() -> int:
    return let_unanswered_run_on(preempted=evacuation.PREEMPTED)


def test_a_suspension_that_is_never_answered_is_given_up_with_its_cause(node, placement):
    suspend_job(placement.job_id, actor="ada")
    heard(node, PATIENCE - timedelta(milliseconds=1))
    assert look() == 0 and job_of(placement).status == JobStatus.SUSPENDING
    heard(node, PATIENCE)
    asked = desired_set(node)[1][0].checkpoint_asked
    assert look() == 1 and look() == 0
    job = job_of(placement)
    assert (job.status, job.intent) == (JobStatus.RUNNING, Intent.RUN)
    assert JobEvent.objects.get(job=job, code=UNANSWERED).details["node"] == node.pk
    assert desired_set(node)[1][0].checkpoint_asked is None
    late = Checkpoint(path="/c/1/1", made_at_ms=5, asked=asked)
    make.report(node, make.task(placement, TaskPhase.RUNNING, started_at_ms=1000, checkpoint=late))
    assert job_of(placement).status == JobStatus.RUNNING


def test_it_is_part_of_every_look(node, placement):
    suspend_job(placement.job_id, actor="ada")
    heard(node, PATIENCE)
    evacuation.reconcile()
    assert job_of(placement).status == JobStatus.RUNNING


@pytest.mark.parametrize("silent_for", [timedelta(0), timedelta(hours=1)])
def test_a_server_that_was_away_and_a_silent_node_cost_no_suspension(node, placement, silent_for):
    """Nobody could answer: the server's hour passed without a report, or the node's is no answer."""
    suspend_job(placement.job_id, actor="ada")
    Placement.objects.filter(pk=placement.pk).update(stopping_at=clock.now() - silent_for)
    heard(node, timedelta(seconds=1))
    assert look() == 0 and job_of(placement).status == JobStatus.SUSPENDING
    NodeContact.objects.all().delete()
    assert look() == 0


def test_one_that_was_to_wait_again_runs_on(node, placement):
    requeue_job(placement.job_id, actor="ada")
    heard(node, PATIENCE)
    assert look() == 1
    placement.refresh_from_db()
    assert (placement.phase, placement.stop_reason) == (Phase.RUNNING, "")
    assert JobEvent.objects.filter(job=placement.job_id, code=UNANSWERED).exists()


def test_all_replicas_run_on(node):
    first = running(node, replicas=2, resources={"cores": 1})
    suspend_job(first.job_id, actor="ada")
    heard(node, PATIENCE)
    Placement.objects.filter(pk=first.pk).update(saved_at=clock.now())
    assert look() == 1 and job_of(first).status == JobStatus.RUNNING
    rows = Placement.objects.filter(job=first.job_id).values_list("phase", "saved_at", "stopping_at")
    assert list(rows) == [(Phase.RUNNING, None, None)] * 2


def test_what_was_cancelled_meanwhile_stays_so(node, placement):
    suspend_job(placement.job_id, actor="ada")
    heard(node, PATIENCE)
    cancel_job(placement.job_id, actor="ada")
    assert look() == 0 and job_of(placement).status == JobStatus.CANCELLED


def test_a_victim_that_was_suspended_too_is_spared_and_its_place_free(node, placement):
    other = make.make_job(placement.job.owner)
    suspend_job(placement.job_id, actor="ada")
    heard(node, PATIENCE)
    Placement.objects.filter(pk=placement.pk).update(yields_to=other)
    assert look() == 1
    placement.refresh_from_db()
    assert placement.yields_to_id is None and placement.spared_until > clock.now()


def test_victims_of_a_preemption_have_the_grace_of_the_policy(node, placement):
    suspend_job(placement.job_id, actor="ada")
    heard(node, PATIENCE)
    Placement.objects.update(stop_reason=evacuation.PREEMPTED)
    assert look() == 0


def test_one_query_where_there_is_nothing(node, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert look() == 0

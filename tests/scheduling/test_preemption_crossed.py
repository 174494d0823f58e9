"""What else befalls jobs while a victim writes its checkpoint: nothing that it was promised is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agent.protocol import Want
from controlplane.base import clock
from queues.models import Intent
from scheduling.cycle import Worker
from scheduling.evacuation import reconcile
from scheduling.models import Hold, Phase, Placement
from scheduling.operations import cancel_job, requeue_job, resume_job, suspend_job
from tests.scheduling import factories as make
from tests.scheduling.test_preemption import WAY, answer, codes, fresh, status, stopped, told, urgent, victim

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def node(user):
    return with_devices(2)


def with_devices(count: int):
    found = make.make_node(cores=8)
    for index in range(count):
        make.make_device(found, index=index)
    return found


def ends(job) -> None:
    placement = Placement.objects.get(job=job)
    make.report(placement.node, make.started(placement), make.ended(placement))


def test_a_beneficiary_that_starts_elsewhere_lets_its_victim_run_on(user, node):
    job, placement = victim(user, node, 2)
    with_devices(2)
    blocker = make.make_job(user, queue="training", resources={"devices": 2})
    make.run_cycle()
    first = urgent(user)
    assert status(job, first) == ["preempting", "pending"]
    ends(blocker)
    make.run_cycle()
    assert status(first) == ["starting"] and Placement.objects.get(job=first).node_id != placement.node_id
    make.run_cycle()
    placement.refresh_from_db()
    assert status(job) == ["running"] and not Hold.objects.exists()
    assert (placement.phase, placement.yields_to) == (Phase.RUNNING, None)
    assert placement.spared_until > clock.now()


def test_suspending_a_victim_lets_it_finish_the_checkpoint_that_it_writes(user, node):
    job, placement = victim(user, node, 2)
    first = urgent(user)
    asked = told(node, placement).checkpoint_asked
    assert suspend_job(job.pk, actor="ada") and status(job) == ["suspending"]
    assert told(node, placement).want is Want.RUN and told(node, placement).checkpoint_asked == asked
    answer(node, placement)
    stopped(node, placement)
    make.run_cycle()
    assert status(job, first) == ["suspended", "starting"]


def test_a_suspended_victim_does_not_run_on_when_its_beneficiary_is_gone(user, node):
    job, placement = victim(user, node, 2)
    first = urgent(user)
    suspend_job(job.pk, actor="ada")
    cancel_job(first.pk, actor="ada")
    make.run_cycle()
    placement.refresh_from_db()
    assert (placement.phase, placement.stop_reason) == (Phase.CHECKPOINTING, "suspended")
    assert status(job) == ["suspending"] and not Hold.objects.exists()


def test_a_suspended_victim_that_makes_no_checkpoint_runs_on_and_the_takeover_is_over(user, node):
    job, placement = victim(user, node, 2)
    first = urgent(user)
    suspend_job(job.pk, actor="ada")
    answer(node, placement, path="", problem="disk full")
    assert status(job) == ["running"] and fresh(job).intent == Intent.RUN
    make.run_cycle()
    assert status(job, first) == ["running", "pending"] and not Hold.objects.exists()
    assert "checkpoint-failed" in codes(job)


def test_suspending_and_resuming_gets_no_job_out_of_yielding(user, node):
    job, placement = victim(user, node, 2)
    first = urgent(user)
    suspend_job(job.pk, actor="ada")
    assert resume_job(job.pk, actor="ada") and status(job) == ["preempting"]
    answer(node, placement)
    stopped(node, placement)
    make.run_cycle()
    assert status(job, first) == ["pending", "starting"]


def test_resumed_after_its_beneficiary_is_gone_it_runs_on(user, node):
    job, _placement = victim(user, node, 2)
    first = urgent(user)
    suspend_job(job.pk, actor="ada")
    cancel_job(first.pk, actor="ada")
    make.run_cycle()
    assert resume_job(job.pk, actor="ada")
    make.run_cycle()
    assert status(job) == ["running"]


@pytest.mark.parametrize("problem", ["", "disk full"])
def test_a_cancelled_victim_stays_cancelled_whatever_comes(user, node, problem):
    job, placement = victim(user, node, 2)
    first = urgent(user)
    asked = told(node, placement).checkpoint_asked
    cancel_job(job.pk, actor="ada")
    cancel_job(first.pk, actor="ada")
    make.run_cycle()
    answer(node, placement, path="" if problem else "/shared/1", problem=problem, asked=asked)
    placement.refresh_from_db()
    assert (placement.phase, placement.stop_reason) == (Phase.STOPPING, "cancelled")
    assert status(job) == ["cancelled"] and told(node, placement).want is Want.STOP


def test_suspending_what_is_being_queued_again_lets_it_finish_its_checkpoint(user, node):
    job, placement = victim(user, node, 2)
    assert requeue_job(job.pk, actor="ada") and suspend_job(job.pk, actor="ada")
    assert told(node, placement).want is Want.RUN
    answer(node, placement)
    stopped(node, placement)
    assert status(job) == ["suspended"]


def test_a_checkpoint_may_take_longer_than_a_stop(user, node):
    """Only what was told to stop and does not is given up: its devices may be held for ever."""
    job, placement = victim(user, node, 2)
    requeue_job(job.pk, actor="ada")
    Placement.objects.filter(pk=placement.pk).update(stopping_at=clock.now() - timedelta(hours=1))
    reconcile()
    assert status(job) == ["running"] and told(node, placement).want is Want.RUN
    answer(node, placement)
    reconcile()
    assert told(node, placement).want is Want.STOP
    placement.refresh_from_db()
    assert placement.phase == Phase.STOPPING
    Placement.objects.filter(pk=placement.pk).update(stopping_at=clock.now() - timedelta(hours=1))
    reconcile()
    placement.refresh_from_db()
    assert placement.phase == Phase.LOST


@pytest.mark.parametrize("changes", [{"checkpoint": None}, {}])
def test_what_started_since_the_view_of_it_was_read_is_not_stopped_as_unstarted(user, node, changes):
    worker = Worker()
    job = make.make_job(user, **{**WAY, **changes, "resources": {"devices": 2}})
    make.run_cycle(worker)
    worker.running.load()
    placement = Placement.objects.get(job=job)
    make.report(node, make.started(placement))
    first = make.make_job(user, resources={"devices": 2})
    make.run_cycle(worker)
    placement.refresh_from_db()
    assert placement.phase == Phase.RUNNING and status(job, first) == ["running", "pending"]
    worker.running.forget()
    make.run_cycle(worker)
    assert status(job) == ["preempting" if changes == {} else "running"]


def test_what_was_spared_since_the_view_of_it_was_read_is_not_asked(user, node):
    worker = Worker()
    job, placement = victim(user, node, 2)
    worker.running.load()
    Placement.objects.filter(pk=placement.pk).update(spared_until=clock.now() + timedelta(minutes=1))
    first = make.make_job(user, resources={"devices": 2})
    make.run_cycle(worker)
    assert status(job, first) == ["running", "pending"]


def test_nobody_is_asked_beside_a_place_that_others_have_by_now(user, node):
    """The view shows a placement that leaves and whose devices somebody else got since."""
    make.make_device(node, index=2)
    worker = Worker()
    gone, placed_gone = victim(user, node, 1)
    job, _placement = victim(user, node, 2)
    requeue_job(gone.pk, actor="ada")
    worker.running.load()
    cancel_job(gone.pk, actor="ada")
    stopped(node, placed_gone)
    other = make.make_job(user, queue="training", resources={"devices": 1})
    make.run_cycle()
    first = make.make_job(user, resources={"devices": 3})
    make.run_cycle(worker)
    assert status(gone, other, job, first) == ["cancelled", "starting", "running", "pending"]
    worker.running.forget()
    make.run_cycle(worker)
    assert status(job) == ["running"] and not Hold.objects.exists()

"""Preemption as a conversation, with the bad days that it must survive."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from agent.protocol import Checkpoint, ExitReason, TaskPhase, Want
from controlplane.base import clock
from queues.models import Intent, Job, JobEvent, JobStatus, Queue
from scheduling import recordings, takeovers
from scheduling.backends.agent import desired_set
from scheduling.models import Hold, Phase, Placement, Recording, Slice
from scheduling.operations import cancel_job, resume_job, suspend_job
from scheduling.wishes import wish_recording
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
WAY: dict[str, Any] = {"checkpoint": {"signal": "USR1", "timeout_s": 30}, "queue": "offline"}
PATH = "/shared/checkpoints/1/1"


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def node(user):
    """Two devices."""
    found = make.make_node(cores=8)
    for index in range(2):
        make.make_device(found, index=index)
    return found


def victim(user, node, devices: int = 1, **changes) -> tuple[Job, Placement]:
    """An offline job that runs."""
    job = make.make_job(user, **{**WAY, "resources": {"devices": devices}, **changes})
    make.run_cycle()
    placement = Placement.objects.get(job=job)
    make.report(node, make.started(placement))
    return fresh(job), placement


def urgent(user, devices: int = 2) -> Job:
    job = make.make_job(user, resources={"devices": devices})
    make.run_cycle()
    return fresh(job)


def fresh(job: Job) -> Job:
    return Job.objects.get(pk=job.pk)


def status(*jobs: Job) -> list[str]:
    return [fresh(job).status for job in jobs]


def told(node, placement):
    return next(one for one in desired_set(node)[1] if one.placement == placement.pk)


def answer(node, placement, **said) -> None:
    """The agent says what became of the asking."""
    said = {"path": PATH, "made_at_ms": 1, "asked": told(node, placement).checkpoint_asked, **said}
    state = make.task(placement, TaskPhase.RUNNING, started_at_ms=1000, checkpoint=Checkpoint(**said))
    make.report(node, state)


def stopped(node, placement) -> None:
    make.report(node, make.ended(placement, exit_code=None, signal=15, reason=ExitReason.STOPPED))


def pass_time(seconds: int) -> None:
    """All that was asked or kept is so much older."""
    by = timedelta(seconds=seconds)
    for placement in Placement.objects.exclude(stopping_at=None):
        Placement.objects.filter(pk=placement.pk).update(stopping_at=placement.stopping_at - by)
    for hold in Hold.objects.all():
        Hold.objects.filter(pk=hold.pk).update(until=hold.until - by)


def codes(job: Job) -> list[str]:
    return list(JobEvent.objects.filter(job=job).order_by("pk").values_list("code", flat=True))


def test_the_whole_conversation(user, node):
    job, placement = victim(user, node, 2)
    first = urgent(user)
    assert status(job, first) == ["preempting", "pending"]
    assert told(node, placement).want is Want.RUN and told(node, placement).checkpoint_asked is not None
    kept = Hold.objects.get()
    assert (kept.beneficiary, kept.node) == (first, node)
    answer(node, placement)
    assert told(node, placement).want is Want.STOP
    stopped(node, placement)
    assert (fresh(job).status, fresh(job).attempt, fresh(job).requeues_left) == ("pending", 2, 5)
    make.run_cycle()
    assert status(job, first) == ["pending", "starting"] and not Hold.objects.exists()
    devices = set(Slice.objects.values_list("device_id", flat=True))
    assert devices == {part["device"] for part in kept.place["slices"]}

    mine = Placement.objects.get(job=first)
    make.report(node, make.started(mine), make.ended(mine))
    make.run_cycle()
    again = Placement.objects.filter(job=job).latest("pk")
    assert (again.attempt, told(node, again).resume_from) == (2, PATH)
    assert "preempt-asked" in codes(job) and "takes-over" in codes(first)


@pytest.mark.parametrize("wished", [True, False])
def test_whom_a_plan_has_leave_is_recorded_and_replays(user, node, wished):
    job, _placement = victim(user, node, 2)
    Recording.objects.all().delete()
    if wished:
        wish_recording("me", reason="whom it has leave")
    urgent(user)
    assert Hold.objects.exists()
    calls = [recordings.load(row.pk) for row in Recording.objects.order_by("pk")]
    assert [recordings.replay(call).difference for call in calls] == [None, None]
    assert [call.policy.preempts for call in calls] == [False, True]
    plan = calls[1].plan
    assert plan is not None and [one.job for one in plan.preemptions] == [job.pk]


def test_c22_what_came_free_first_stays_kept_until_the_other_victim_is_gone(user, node):
    one, placed_one = victim(user, node)
    other, placed_other = victim(user, node)
    first = urgent(user)
    assert status(one, other) == ["preempting", "preempting"]
    answer(node, placed_one)
    stopped(node, placed_one)
    small = make.make_job(user, queue="offline", resources={"devices": 1})
    make.run_cycle()
    assert status(one, small, first) == ["pending", "pending", "pending"], "nobody steals the free device"
    answer(node, placed_other)
    stopped(node, placed_other)
    make.run_cycle()
    assert status(one, other, small, first) == ["pending", "pending", "pending", "starting"]


def test_a_cancelled_beneficiary_lets_its_victims_run_on(user, node):
    job, placement = victim(user, node, 2)
    first = urgent(user)
    cancel_job(first.pk, actor="ada")
    make.run_cycle()
    assert status(job, first) == ["running", "cancelled"] and not Hold.objects.exists()
    assert told(node, placement).checkpoint_asked is None
    placement.refresh_from_db()
    assert (placement.phase, placement.stop_reason, placement.yields_to) == (Phase.RUNNING, "", None)


def test_a_victim_that_ends_by_itself_meanwhile_has_succeeded(user, node):
    job, placement = victim(user, node, 2)
    first = urgent(user)
    make.report(node, make.ended(placement))
    make.run_cycle()
    assert status(job, first) == ["succeeded", "starting"] and not Hold.objects.exists()


def test_two_jobs_do_not_both_get_one_victim(user, node):
    job, _placement = victim(user, node, 2)
    first, second = urgent(user), urgent(user)
    make.run_cycle()
    assert status(job, first, second) == ["preempting", "pending", "pending"]
    assert list(Hold.objects.values_list("beneficiary", flat=True)) == [first.pk]
    assert codes(job).count("preempt-asked") == 1


def test_an_asking_that_nobody_answers_is_given_up_and_nothing_is_lost(user, node):
    job, placement = victim(user, node, 2)
    first = urgent(user)
    pass_time(119)
    make.run_cycle()
    assert status(job) == ["preempting"]
    pass_time(2)
    make.run_cycle()
    assert status(job, first) == ["running", "pending"] and not Hold.objects.exists()
    assert "preempt-unanswered" in codes(job) and "takeover-given-up" in codes(first)
    make.run_cycle()
    assert status(job) == ["running"], "it is spared for a while"
    Placement.objects.filter(pk=placement.pk).update(spared_until=clock.now())
    make.run_cycle()
    assert status(job) == ["preempting"]


def test_a_victim_that_can_make_no_checkpoint_runs_on_and_another_one_is_asked(user, node):
    make.make_device(node, index=2)
    one, placed_one = victim(user, node)
    other, _placed = victim(user, node)
    third, _placed = victim(user, node)
    Placement.objects.filter(job=one).update(running_at=clock.now() + timedelta(seconds=1))
    first = urgent(user, 1)
    assert status(one, other, third) == ["preempting", "running", "running"]
    answer(node, placed_one, path="", problem="disk full")
    assert status(one) == ["running"]
    make.run_cycle()
    assert status(one, first) == ["running", "pending"]
    assert sorted(status(other, third)) == ["preempting", "running"]


def test_a_checkpoint_that_is_confirmed_twice_stops_once(user, node):
    job, placement = victim(user, node, 2)
    first = urgent(user)
    asked = told(node, placement).checkpoint_asked
    answer(node, placement)
    answer(node, placement, asked=asked)
    stopped(node, placement)
    stopped(node, placement)
    make.run_cycle()
    assert fresh(job).attempt == 2 and status(first) == ["starting"]
    assert codes(job).count("requeued") == 1


def test_a_victim_that_was_put_back_is_not_disturbed_again_before_it_ran_a_while(user, node):
    job, placement = victim(user, node, 2)
    first = urgent(user)
    answer(node, placement)
    stopped(node, placement)
    make.run_cycle()
    mine = Placement.objects.get(job=first)
    make.report(node, make.started(mine), make.ended(mine))
    make.run_cycle()
    again = Placement.objects.filter(job=job).latest("pk")
    make.report(node, make.started(again))
    second = urgent(user)
    assert status(job, second) == ["running", "pending"]
    Placement.objects.filter(pk=again.pk).update(running_at=clock.now() - timedelta(minutes=11))
    make.run_cycle()
    assert status(job, second) == ["preempting", "pending"]


def test_what_has_not_started_leaves_at_once(user, node):
    job = make.make_job(user, queue="offline", resources={"devices": 2})
    make.run_cycle()
    first = urgent(user)
    placement = Placement.objects.get(job=job)
    assert (placement.phase, status(job)) == (Phase.STOPPING, ["preempting"])
    make.report(node, make.ended(placement, started_at_ms=None, exit_code=None, reason=ExitReason.STOPPED))
    make.run_cycle()
    assert status(job, first) == ["pending", "starting"]


def test_a_job_that_can_make_no_checkpoint_is_left_alone(user, node):
    job, _placement = victim(user, node, 2, checkpoint=None)
    first = urgent(user)
    assert status(job, first) == ["running", "pending"] and not Hold.objects.exists()


def test_the_impossible_evicts_nobody_and_the_possible_behind_it_does(user, node):
    """C23."""
    job, _placement = victim(user, node, 2)
    impossible = make.make_job(user, resources={"devices": 4}, priority=9)
    possible = urgent(user)
    assert status(job, impossible, possible) == ["preempting", "pending", "pending"]
    assert Hold.objects.get().beneficiary == possible


def test_training_and_inference_are_never_asked(user, node):
    job, _placement = victim(user, node, 2, queue="training")
    first = make.make_job(user, queue="inference", resources={"devices": 1})
    make.run_cycle()
    assert status(job, first) == ["running", "pending"]


def test_a_person_cannot_resume_a_job_out_of_it_and_may_suspend_or_cancel_it(user, node):
    job, placement = victim(user, node, 2)
    first = urgent(user)
    assert not resume_job(job.pk, actor="ada") and status(job) == ["preempting"]
    assert suspend_job(job.pk, actor="ada")
    answer(node, placement)
    stopped(node, placement)
    make.run_cycle()
    assert status(job, first) == ["suspended", "starting"]


def test_what_is_kept_is_over_some_day_whatever_happens(user, node):
    job, placement = victim(user, node, 2)
    first = urgent(user)
    answer(node, placement)
    pass_time(600)
    make.run_cycle()
    assert not Hold.objects.filter(until__lte=clock.now()).exists()
    stopped(node, placement)
    make.run_cycle()
    assert status(job, first) == ["pending", "starting"]


@pytest.mark.parametrize("moment", ["asked", "confirmed", "released"])
def test_another_server_goes_on_where_one_was_killed(user, node, moment):
    """All that counts is in the rows: each cycle here is another process that knows nothing."""
    job, placement = victim(user, node, 2)
    first = urgent(user)
    for step in ("asked", "confirmed", "released"):
        if step == "confirmed":
            answer(node, placement)
        if step == "released":
            stopped(node, placement)
        if step == moment:
            make.run_cycle()
            make.run_cycle()
    make.run_cycle()
    assert status(job, first) == ["pending", "starting"]


def test_killed_before_the_askings_were_committed_nothing_was_asked(user, node, monkeypatch):
    job, placement = victim(user, node, 2)

    def killed(*_args, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr(takeovers, "keep", killed)
    make.make_job(user, resources={"devices": 2})
    with pytest.raises(KeyboardInterrupt):
        make.run_cycle()
    assert status(job) == ["running"] and told(node, placement).checkpoint_asked is None
    monkeypatch.undo()
    make.run_cycle()
    assert status(job) == ["preempting"]


def test_a_queue_that_is_no_longer_preemptable_keeps_what_it_has(user, node):
    job, _placement = victim(user, node, 2)
    Queue.objects.filter(name="offline").update(preemptable=False)
    first = urgent(user)
    assert status(job, first) == ["running", "pending"] and fresh(first).intent == Intent.RUN
    assert JobStatus.PREEMPTING not in status(job)


def test_a_later_job_does_not_take_the_share_of_a_job_whose_victim_leaves(user, node):
    """Training may hold two of four: the first job waits for them, and the device that came free is none of it."""
    for index in (2, 3):
        make.make_device(node, index=index)
    Queue.objects.update(quota_ppm=None)
    Queue.objects.filter(name="training").update(quota_ppm=500_000)
    job, placement = victim(user, node, 2)
    filler, placed_filler = victim(user, node, 1, checkpoint=None)
    victim(user, node, 1, checkpoint=None)
    first = urgent(user)
    make.report(node, make.ended(placed_filler))
    later = make.make_job(user, queue="training", resources={"devices": 1})
    make.run_cycle()
    assert status(job, filler, first, later) == ["preempting", "succeeded", "pending", "pending"]
    answer(node, placement)
    stopped(node, placement)
    make.run_cycle()
    assert status(first, later) == ["starting", "pending"]

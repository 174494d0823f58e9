"""Short jobs before long ones: what is expected of jobs, live in the cycle, said in the explanation."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest

from controlplane.base import clock
from controlplane.policy import service
from queues.models import Job, JobStatus
from scheduling.engine.types import Request
from scheduling.foresight import Foresight
from scheduling.models import Placement
from scheduling.policy_bridge import current_policy
from scheduling.requests import RequestCache, load_pending
from scheduling.selectors.explanations import explain_job
from scheduling.simulator.foresight import Knows, RunTimes
from scheduling.simulator.jobs import SimJob
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
HOUR_MS = 3_600_000
ONE = Request(devices=1)


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def patience(times: int = 10) -> None:
    text = f"scheduler: {{queue-policy: {{run-time-patience: {{times: {times}}}}}}}"
    service.activate(text, author=None, reason="test")


def started(
    user, name: str, *, ago: timedelta, ran: timedelta | None = None, status=JobStatus.SUCCEEDED
) -> None:
    """A job that started so long ago and ran for so long (None: it still does)."""
    job, at = make.make_job(user, name=name), clock.now() - ago
    over = {"status": JobStatus.RUNNING} if ran is None else {"status": status, "finished_at": at + ran}
    Job.objects.filter(pk=job.pk).update(started_at=at, **over)


def foreseen(knower: Foresight | None = None) -> dict[str, int | None]:
    jobs = (knower or Foresight()).foresee(load_pending(RequestCache()), current_policy().engine)
    names = dict(Job.objects.values_list("pk", "name"))
    return {names[job.job]: job.runs_ms for job, _shape in jobs}


def test_the_middle_of_the_last_runs_counts_whatever_became_of_them(user):
    patience()
    for hours, status in ((1, "succeeded"), (5, "failed"), (3, "cancelled")):
        started(user, "train", ago=20 * HOUR, ran=hours * HOUR, status=status)
    started(user, "train", ago=400 * 24 * HOUR, ran=90 * HOUR)
    make.make_job(user, name="train")
    make.make_job(user, name="stranger")
    make.make_job(user, name="limited", time_limit_s=60)
    assert foreseen() == {"train": 3 * HOUR_MS, "stranger": None, "limited": 60_000}


def test_who_still_runs_is_taken_for_twice_its_age_and_no_shorter_than_a_stranger(user):
    patience()
    started(user, "sweep", ago=timedelta(minutes=1))
    make.make_job(user, name="sweep")
    assert foreseen() == {"sweep": HOUR_MS}
    Job.objects.filter(status="running").update(started_at=clock.now() - 5 * HOUR)
    assert foreseen()["sweep"] == pytest.approx(10 * HOUR_MS, rel=0.01)


def test_history_is_read_now_and_then_and_only_under_patience(user, django_assert_num_queries):
    make.make_job(user, name="train")
    waiting, knower = load_pending(RequestCache()), Foresight()
    plain = current_policy().engine
    patience()
    patient = current_policy().engine
    for policy, queries in ((plain, 0), (patient, 2), (patient, 1)):
        with django_assert_num_queries(queries):
            assert [job.job for job, _ in knower.foresee(waiting, policy)] == [waiting[0][0].job]


def test_it_foresees_as_the_simulator_does(user):
    """The same starts, told to both."""
    patience()
    engine = current_policy().engine
    rng, now = Random(7), clock.now()
    for number in range(6):
        simulated = RunTimes(Knows.HISTORY, engine)
        starts = sorted(rng.sample(range(1, 300), rng.randint(1, 30)), reverse=True)
        name = f"kind-{number}"
        for place, minutes in enumerate(starts):
            ran = rng.choice((None, rng.randint(0, minutes)))
            ago = timedelta(minutes=minutes)
            started(user, name, ago=ago, ran=None if ran is None else timedelta(minutes=ran))
            job = SimJob(place, 1, 0, 1, ONE)
            at_ms = clock.to_ms(now - ago)
            simulated.started(job, at_ms)
            if ran is not None:
                simulated.left(job, at_ms + 60_000 * ran)
        make.make_job(user, name=name)
        assert simulated.renewed(clock.to_ms(now))
        expected = simulated.runs_ms(SimJob(99, 1, 0, 1, ONE), 0, clock.to_ms(now))
        assert foreseen()[name] == pytest.approx(expected, rel=0.01, abs=2000)


def test_the_short_job_starts_first_though_it_came_later_and_the_long_one_is_told_why(user):
    for _ in range(3):
        started(user, "long", ago=60 * HOUR, ran=40 * HOUR)
        started(user, "short", ago=60 * HOUR, ran=HOUR / 4)
    make.make_node(cores=1)
    long, short = (make.make_job(user, name=name) for name in ("long", "short"))
    patience()
    make.run_cycle()
    assert list(Placement.objects.filter(ended_at=None).values_list("job", flat=True)) == [short.pk]
    later = make.make_job(user, name="short")
    line = explain_job(Job.objects.get(pk=long.pk), user)["line"]
    assert (line["place"], line["waiting"], line["sentence"]["code"]) == (2, 2, "line-run-time")
    assert "should run for a shorter time (15 min, its own 2400 min)." in line["sentence"]["text"]
    assert explain_job(Job.objects.get(pk=later.pk), user)["line"]["place"] == 1


def test_by_age_alone_without_patience(user):
    for _ in range(3):
        started(user, "long", ago=60 * HOUR, ran=40 * HOUR)
    make.make_node(cores=1)
    long, _short = (make.make_job(user, name=name) for name in ("long", "short"))
    make.run_cycle()
    assert list(Placement.objects.filter(ended_at=None).values_list("job", flat=True)) == [long.pk]

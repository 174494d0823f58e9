"""Fair share between the teams of a queue: counted from placements, live in the cycle, shown in the explanation."""

from __future__ import annotations

from datetime import timedelta

import pytest

from controlplane.base import clock
from inventory.models import Node
from queues.models import Job, JobStatus, Queue
from scheduling.engine.fairshare import Whole
from scheduling.fairshare import count_usage, team_shares
from scheduling.models import Placement, TeamUsage, UsageCount
from scheduling.selectors.explanations import explain_job
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
WHOLE = Whole(device_milli=4000, core_milli=64_000)
DAY = timedelta(days=1)


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def other():
    return make.make_user("bob", team=make.make_team("speech"))


def held(user, *, since: timedelta, until: timedelta | None = None, milli: int = 1000) -> Placement:
    """A placement of so many milli that began so long ago, and ended then."""
    now = clock.now()
    node = Node.objects.first() or make.make_node(cores=1)
    job = make.make_job(user)
    Job.objects.filter(pk=job.pk).update(status=JobStatus.SUCCEEDED, finished_at=now)
    return Placement.objects.create(
        job=job,
        attempt=1,
        node=node,
        fence=1,
        device_milli=milli,
        phase="running" if until is None else "released",
        assigned_at=now - since,
        ended_at=None if until is None else now - until,
    )


def share_of(user) -> int:
    shares = team_shares().get(Queue.objects.get(name="training").pk, ())
    return {share.team: share.share_ppm for share in shares}.get(user.memberships.get().team_id, 0)


def test_use_is_counted_from_what_placements_held(user):
    held(user, since=14 * DAY, until=7 * DAY)
    held(user, since=2 * DAY)
    assert count_usage(WHOLE, half_life_days=7)
    # One of four devices: half of what a week builds up, decayed for a week, and of late two days.
    assert share_of(user) == pytest.approx(250_000 * (0.5 * 0.5 + (1 - 0.5 ** (2 / 7))), rel=0.05)


def test_counting_again_adds_only_what_came_since(user):
    held(user, since=DAY, until=DAY / 2)
    count_usage(WHOLE, half_life_days=7)
    once = share_of(user)
    assert not count_usage(WHOLE, half_life_days=7), "not due before a minute has passed"
    UsageCount.objects.update(until=clock.now() - timedelta(minutes=2))
    assert count_usage(WHOLE, half_life_days=7)
    assert once > 0 and share_of(user) == pytest.approx(once, rel=0.001)


def test_the_team_that_had_less_is_served_first_though_it_came_later(user, other):
    held(user, since=3 * DAY, until=DAY, milli=0)
    Placement.objects.update(cpus=[0])
    first, second = make.make_job(user), make.make_job(other)
    make.run_cycle()
    assert TeamUsage.objects.get().share_ppm > 100_000
    assert list(Placement.objects.filter(ended_at=None).values_list("job", flat=True)) == [second.pk]
    found = explain_job(Job.objects.get(pk=first.pk), user)["line"]
    assert (found["place"], found["waiting"]) == (1, 1)
    assert found["sentence"]["text"] == "First in line of 1 waiting jobs."


def test_the_explanation_says_what_put_the_job_before_it_there(user, other):
    held(user, since=3 * DAY, milli=4000)
    count_usage(WHOLE, half_life_days=7)
    mine = make.make_job(user, resources={"devices": 400})
    theirs = make.make_job(other, resources={"devices": 400})
    make.run_cycle()
    line = explain_job(Job.objects.get(pk=mine.pk), user)["line"]
    assert (line["place"], line["sentence"]["code"]) == (
        Job.objects.filter(status="pending").count(),
        "line-fair-share",
    )
    assert line["sentence"]["params"]["theirs"] == 0 < line["sentence"]["params"]["mine"]
    assert "less of the cluster of late (0.0 %, its own" in line["sentence"]["text"]
    assert explain_job(Job.objects.get(pk=theirs.pk), other)["line"]["place"] == 1

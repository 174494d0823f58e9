"""A node with a low disk takes no new jobs and says why; of kept checkpoints it learns which are of no use any more."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import translation

from agent.protocol import Notice
from controlplane.base import clock
from inventory.models import Node
from inventory.warnings import warning_text
from queues.models import Job, JobStatus
from scheduling.models import Phase, Placement, ShapeReason
from tests.agentapi.speaking import Agent, enrolled
from tests.inventory.factories import facts
from tests.scheduling.factories import make_job, make_queues, make_team, make_user, run_cycle

pytestmark = pytest.mark.django_db
LOW = Notice("disk-low", {"folder": "/var/lib/headrace", "least_mib": "1024"})
LONG_AGO = timedelta(days=15)


@pytest.fixture
def user():
    make_queues()
    return make_user(team=make_team())


@pytest.fixture
def agent(user):
    agent = Agent(enrolled().token)
    agent.report(facts=facts())
    return agent


def ended(job: Job, ago: timedelta, **columns) -> Job:
    """As if it had run on its node and been over for that long."""
    Placement.objects.filter(job=job).update(phase=Phase.RELEASED, ended_at=clock.now())
    columns = {"status": JobStatus.SUCCEEDED, "finished_at": clock.now() - ago, **columns}
    Job.objects.filter(pk=job.pk).update(**columns)
    return job


def placed(user) -> Job:
    job = make_job(user)
    run_cycle()
    assert Placement.objects.filter(job=job).exists()
    return job


def test_a_low_disk_keeps_new_jobs_off_and_what_runs_goes_on(agent, user):
    running = placed(user)
    agent.report(facts=facts(notices=[LOW]), facts_digest="d2")
    waiting = make_job(user)
    run_cycle()
    assert not Placement.objects.filter(job=waiting).exists()
    assert ShapeReason.objects.get(shape=waiting.shape).code == "node-not-ready"
    (said,) = [entry for entry in Node.objects.get().facts["warnings"] if entry["code"] == "disk-low"]
    with translation.override("en"):
        assert warning_text(said).startswith("/var/lib/headrace: less than 1024 MiB are free.")
    assert [one.job for one in agent.report(facts_digest="d2").assignments] == [running.pk]
    agent.report(facts=facts())
    run_cycle()
    assert Placement.objects.filter(job=waiting).exists()


def test_of_kept_checkpoints_it_learns_which_are_over(agent, user):
    old, fresh, resting = (placed(user) for _ in range(3))
    ended(old, LONG_AGO)
    ended(fresh, timedelta(days=13))
    ended(resting, LONG_AGO, status=JobStatus.SUSPENDED, finished_at=None)
    never_here = ended(make_job(user), LONG_AGO)
    kept = [old.pk, fresh.pk, resting.pk, never_here.pk, 10**15]
    assert agent.report(kept=kept).over == [old.pk]
    assert agent.report(kept=kept).over == [old.pk], "also when nothing else is new"
    assert agent.report().over == []


def test_what_still_holds_something_is_not_over(agent, user):
    job = placed(user)
    live = Placement.objects.get(job=job)
    ended(job, LONG_AGO, status=JobStatus.CANCELLED)
    Placement.objects.filter(pk=live.pk).update(phase=Phase.STOPPING, ended_at=None)
    assert agent.report(kept=[job.pk]).over == []


@pytest.mark.parametrize("kept, field", [([1] * 1001, "kept"), ([-1], "kept[0]"), ([1, 2**63], "kept[1]")])
def test_what_no_agent_asks_is_refused(agent, kept, field):
    answer = agent.send(agent.make(kept=kept))
    assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == field

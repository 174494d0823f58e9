"""Expected jobs from history, and when a waiting job could start."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.base import clock
from queues.models import Job, JobStatus
from queues.submission import Submission, accept, unsaved_job
from scheduling import cycle, estimates, expected
from scheduling.models import ExpectedJobs, Placement, Recording
from scheduling.recordings import load
from scheduling.selectors.explanations import explain_job
from scheduling.tasks import expect
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def ended(user, *, ran_s: float, ago: timedelta = timedelta(hours=1), **changes) -> Job:
    """A job that ran so long and ended."""
    job = unsaved_job(accept(Submission(user, make.body(**changes))), user)
    at = clock.now() - ago
    job.submitted_at = job.started_at = at - timedelta(seconds=ran_s)
    job.status, job.finished_at, job.pending_since = JobStatus.SUCCEEDED, at, None
    job.save(force_insert=True)
    return job


def run(user, **changes) -> Placement:
    """A job that runs."""
    job = make.make_job(user, **changes)
    make.run_cycle()
    placement = Placement.objects.select_related("node").get(job=job)
    make.report(placement.node, make.started(placement))
    placement.refresh_from_db()
    return placement


def estimate(job: Job):
    return explain_job(Job.objects.get(pk=job.pk), job.owner)["estimate"]


def test_the_most_frequent_requests_are_expected(user):
    for number in range(15):
        for _ in range(number + 1):
            ended(user, ran_s=1, resources={"cores": number + 1}, priority=number, datasets=["a"])
    ended(user, ran_s=1, resources={"cores": 15}, queue="offline")
    ended(user, ran_s=1, ago=timedelta(days=15), resources={"cores": 1})
    expect()
    found = expected.expected_jobs()
    assert [(one.request.cores, one.weight) for one in found] == [
        (n, n + (n == 15)) for n in range(15, 3, -1)
    ]
    assert {one.request.datasets for one in found} == {()}
    assert ExpectedJobs.objects.count() == 1


def test_a_recording_holds_what_was_expected(user):
    make.make_node()
    worker = cycle.Worker()
    for _ in range(2):
        make.make_job(user, resources={"cores": 3})
        expect()
        make.run_cycle(worker)
    first, second = (load(row.pk) for row in Recording.objects.order_by("pk"))
    assert [one.weight for one in first.expected] == [1] and [one.weight for one in second.expected] == [2]


def test_without_history_nothing_particular_is_expected(user):
    assert expected.expected_jobs() == () and expected.refresh_expected() == 0
    assert expected.expected_jobs() == ()


def test_a_time_limit_says_when_a_job_could_start(user):
    make.make_device(make.make_node("alpha"))
    running = run(user, resources={"devices": 1}, time_limit_s=600)
    waits = make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    found = estimate(waits)
    assert running.running_at is not None
    assert found == {
        "at": clock.from_ms(clock.to_ms(running.running_at + timedelta(seconds=600))),
        "is_earliest": False,
        "basis": "time-limit",
        "node": running.node_id,
        "node_name": "alpha",
        "after_jobs": [{"job": running.job_id, "name": running.job.name}],
    }


def test_jobs_in_line_for_one_device_are_told_different_starts(user):
    make.make_device(make.make_node())
    running = run(user, resources={"devices": 1}, time_limit_s=3600)
    line = [make.make_job(user, resources={"devices": 1}, time_limit_s=86_400) for _ in range(5)]
    make.run_cycle()
    found = [estimate(one) for one in line]
    first_ms = clock.to_ms(running.running_at) + 3_600_000
    assert [clock.to_ms(one["at"]) for one in found] == [first_ms + n * 86_400_000 for n in range(5)]
    assert not any(one["is_earliest"] for one in found)
    assert [one["job"] for one in found[2]["after_jobs"]] == [running.job_id, line[0].pk, line[1].pk]


def test_behind_a_job_of_unknown_length_the_estimate_is_the_earliest_start(user):
    make.make_device(make.make_node())
    running = run(user, resources={"devices": 1}, time_limit_s=3600)
    first, last = (make.make_job(user, name=name, resources={"devices": 1}) for name in ("new", "last"))
    make.run_cycle()
    found = estimate(last)
    assert found["is_earliest"] and [one["job"] for one in found["after_jobs"]] == [running.job_id]
    ended(user, ran_s=500, name="new")
    found = estimate(last)
    assert not found["is_earliest"] and found["basis"] == "mixed"
    assert [one["job"] for one in found["after_jobs"]] == [running.job_id, first.pk]


def test_jobs_of_other_teams_are_not_named(user):
    make.make_device(make.make_node())
    other = make.make_user("eve", team=make.make_team("other"))
    running = run(other, name="secret", resources={"devices": 1}, time_limit_s=600)
    waits = make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    assert estimate(waits)["after_jobs"] == [{"job": running.job_id, "name": None}]


def test_an_estimate_does_not_read_what_it_needs_not(user):
    node = make.make_node()
    for index in range(3):
        make.make_device(node, index=index)
        run(user, resources={"devices": 1}, time_limit_s=60 + index)
    run(user, name="usual")
    with CaptureQueriesContext(connection) as asked:
        assert len(estimates.expected_ends()) == 3
    assert len(asked) == 3
    assert not any('"spec",' in query["sql"] for query in asked.captured_queries)


def test_history_speaks_where_there_is_no_limit(user):
    make.make_device(make.make_node())
    for ran_s in (100, 5000, 10_000):
        ended(user, ran_s=ran_s, name="train")
    ended(user, ran_s=1, name="train", queue="offline")
    ended(user, ran_s=1, name="other")
    running = run(user, name="train", resources={"devices": 1})
    waits = make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    found = estimate(waits)
    assert found["basis"] == "history" and [one["job"] for one in found["after_jobs"]] == [running.job_id]
    assert clock.to_ms(found["at"]) - clock.to_ms(running.running_at) == 5_000_000
    Placement.objects.update(running_at=clock.now() - timedelta(seconds=5001))
    assert estimate(waits) is None, "it runs longer than such jobs do, so nobody knows"


def test_ends_of_both_kinds_are_mixed(user):
    node = make.make_node()
    for index in range(2):
        make.make_device(node, index=index)
    ended(user, ran_s=5000, name="train")
    first = run(user, name="train", resources={"devices": 1})
    second = run(user, resources={"devices": 1}, time_limit_s=60)
    waits = make.make_job(user, resources={"devices": 2})
    make.run_cycle()
    found = estimate(waits)
    assert found["basis"] == "mixed" and {one["job"] for one in found["after_jobs"]} == {
        first.job_id,
        second.job_id,
    }


@pytest.mark.parametrize("resources", [{"devices": 1}, {"devices": 99}])
def test_what_no_known_end_starts_has_no_estimate(user, resources):
    make.make_device(make.make_node())
    run(user, resources={"devices": 1})
    waits = make.make_job(user, resources=resources)
    make.run_cycle()
    assert estimate(waits) is None

"""Many submissions at the same moment."""

from __future__ import annotations

import functools

import pytest
from django.test import Client

from controlplane.base.problems import Problem
from queues.models import Job, JobStatus
from queues.submission import Submission, submit
from scheduling.models import Placement, Slice
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def test_twenty_posts_with_one_key_make_one_job(user, at_once):
    """C41."""
    client = Client()
    client.force_login(user)
    assert client.get("/api/v1/jobs").status_code == 200  # loads the addresses before threads race to do it

    def post():
        own = Client()
        own.cookies = client.cookies
        body = make.body(name="once")
        return own.post(
            "/api/v1/jobs/submit", body, content_type="application/json", headers={"Idempotency-Key": "k1"}
        )

    answers = at_once(*[post] * 20)
    assert {answer.status_code for answer in answers} == {201}
    bodies = [{**answer.json(), "waits_ms": None} for answer in answers]
    assert bodies == [bodies[0]] * 20
    assert Job.objects.count() == 1


def test_the_same_key_with_another_body_is_refused(user, at_once):
    works = [
        functools.partial(submit, Submission(user, make.body(name=f"job-{i % 2}"), "same")) for i in range(10)
    ]
    results = at_once(*works)
    refused = [r for r in results if isinstance(r, Problem)]
    assert len(refused) == 5 and {r.status for r in refused} == {422}
    assert Job.objects.count() == 1


def test_a_failed_submission_leaves_its_key_free(user):
    with pytest.raises(Problem):
        submit(Submission(user, make.body(queue="nowhere"), "k"))
    assert submit(Submission(user, make.body(), "k")).created
    assert not submit(Submission(user, make.body(), "k")).created


def test_fifty_submissions_for_one_device(user, at_once):
    node = make.make_node(cores=64)
    make.make_device(node)

    def submit_and_schedule():
        job = make.make_job(user, resources={"devices": 1})
        make.run_cycle()
        return job

    jobs = at_once(*[submit_and_schedule] * 50)
    assert all(isinstance(job, Job) for job in jobs), [j for j in jobs if not isinstance(j, Job)][:1]
    make.run_cycle()
    assert Job.objects.filter(status=JobStatus.STARTING).count() == 1
    assert Job.objects.filter(status=JobStatus.PENDING).count() == 49
    assert Slice.objects.count() == 1 and Placement.objects.count() == 1

"""Jobs that wait for others, are tried again, or must be over by a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from agent.protocol import ExitReason, Want
from controlplane.alerts.models import Alert
from controlplane.base import clock
from controlplane.base.problems import Problem
from queues.models import Dependency, Job, JobEvent, JobStatus
from queues.submission import Submission, submit
from scheduling.backends.agent import desired_set
from scheduling.models import Placement, Slice
from scheduling.operations import cancel_job, hold_job, release_job
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


class Time:
    """The server's clock, as far as a test moves it."""

    def __init__(self) -> None:
        self.at = NOON

    def now(self) -> datetime:
        return self.at

    def later(self, **span: float) -> None:
        self.at += timedelta(**span)


@pytest.fixture
def time(monkeypatch):
    moved = Time()
    monkeypatch.setattr(clock, "now", moved.now)
    monkeypatch.setattr(clock, "now_ms", lambda: clock.to_ms(moved.at))
    return moved


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def api(user):
    client = APIClient()
    client.force_login(user)
    return client


@pytest.fixture
def node(user):
    node = make.make_node(cores=8)
    make.make_device(node)
    return node


def fresh(job: Job) -> Job:
    job.refresh_from_db()
    return job


def start(job: Job, node) -> Placement:
    make.run_cycle()
    placement = Placement.objects.filter(job=job).latest("pk")
    make.report(node, make.started(placement))
    return placement


def end(job: Job, node, **how: Any) -> Job:
    """Let a job that waits get its place, run, and end like this."""
    make.report(node, make.ended(start(job, node), **how))
    make.run_cycle()
    return fresh(job)


def after(*jobs: Job, ends: str = "ok") -> dict[str, Any]:
    return {"after": [{"job": job.pk, "ends": ends} for job in jobs]}


@pytest.mark.parametrize(
    ("ends", "code", "starts"),
    [("ok", 0, True), ("ok", 3, False), ("failed", 3, True), ("failed", 0, False), ("any", 3, True)],
)
def test_a_job_starts_when_the_other_has_ended_as_it_must_and_else_ends_itself(
    user, api, node, ends, code, starts
):
    first = make.make_job(user)
    second = make.make_job(user, **after(first, ends=ends))
    assert (fresh(second).status, second.held_for) == (JobStatus.HELD, "dependency")
    said = {"ok": "to end well", "failed": "to fail", "any": "to end"}[ends]
    shown = api.get(f"/api/v1/jobs/{second.pk}").json()
    assert shown["reason"]["text"] == f"It waits for job {first.pk} {said}."
    assert shown["spec"]["after"] == [{"job": first.pk, "ends": ends}]
    end(first, node, exit_code=code)
    if starts:
        assert fresh(second).status == JobStatus.STARTING and second.held_ms >= 0
        return
    assert (fresh(second).status, second.exit_class) == (JobStatus.FAILED, "dependency")
    told = JobEvent.objects.get(job=second, code="dependency")
    assert told.details["job"] == first.pk
    events = api.get(f"/api/v1/jobs/{second.pk}/events").json()
    assert events[-1]["text"] == f"Can no longer start: job {first.pk} did not end as it must."


def test_all_dependencies_must_be_met_and_a_chain_falls_together(user, api, node):
    one, two = make.make_job(user), make.make_job(user)
    both = make.make_job(user, **after(one, two))
    last = make.make_job(user, **after(both))
    shown = api.get(f"/api/v1/jobs/{both.pk}/explain").json()["sentence"]["text"]
    assert shown == f"It waits for job {one.pk} to end well. So it does for 1 more."
    end(one, node)
    assert fresh(both).status == JobStatus.HELD
    assert Dependency.objects.get(job=both, on=one).met_at is not None
    cancel_job(two.pk, actor="ada")
    make.run_cycle()
    assert [fresh(job).exit_class for job in (both, last)] == ["dependency", "dependency"]


def test_what_is_over_already_is_judged_at_once(user, node):
    done = end(make.make_job(user), node)
    job = make.make_job(user, **after(done))
    make.run_cycle()
    assert fresh(job).status == JobStatus.STARTING
    with pytest.raises(Problem) as caught:
        submit(Submission(user, make.body(**after(done, ends="failed"))))
    assert [(e.field, e.code) for e in caught.value.errors] == [("after", "never-met")]


def test_jobs_of_others_cannot_be_waited_for_and_no_circle_can_be_made(user):
    """A dependency names a job that exists and is never changed: what is later is never waited for."""
    hidden = make.make_job(make.make_user("eve", team=make.make_team("others")))
    for number in (hidden.pk, 10**12):
        with pytest.raises(Problem) as caught:
            submit(Submission(user, make.body(after=[{"job": number}])))
        assert [(e.field, e.code) for e in caught.value.errors] == [("after", "no-such-job")]


def test_a_person_may_hold_what_waits_for_another(user, node):
    first = make.make_job(user)
    second = make.make_job(user, **after(first))
    assert hold_job(second.pk, actor="ada") and fresh(second).held_for == "person"
    end(first, node)
    assert fresh(second).status == JobStatus.HELD
    assert release_job(second.pk, actor="ada") and fresh(second).status == JobStatus.PENDING


def test_releasing_leaves_the_other_gates(user):
    second = make.make_job(user, on_hold=True, **after(make.make_job(user)))
    assert fresh(second).held_for == "person"
    assert release_job(second.pk, actor="ada") and fresh(second).held_for == "dependency"


def test_only_the_named_endings_are_tried_again(user, node):
    job = make.make_job(user, max_retries=2, retry_on=["signal"])
    killed = end(job, node, exit_code=None, signal=9, reason=ExitReason.SIGNALLED)
    assert (killed.status, killed.attempt, killed.retries_left) == (JobStatus.STARTING, 2, 1)
    make.report(node, make.ended(Placement.objects.get(job=job, attempt=2), exit_code=3))
    assert (fresh(job).status, job.exit_class) == (JobStatus.FAILED, "exit-code")


def test_a_time_limit_is_tried_again_when_asked_for(user, node):
    job = make.make_job(user, max_retries=1, retry_on=["time-limit"], time_limit_s=5)
    assert end(job, node, exit_code=None, reason=ExitReason.TIME_LIMIT).attempt == 2


def test_retries_back_off_longer_each_time(user, api, node, time):
    job = make.make_job(user, max_retries=3, back_off_s=60)
    for waits_s in (60, 120):
        held = end(job, node, exit_code=1)
        assert (held.status, held.held_for) == (JobStatus.HELD, "back-off")
        said = api.get(f"/api/v1/jobs/{job.pk}").json()["reason"]["text"]
        assert said == f"It failed and is tried again in {waits_s} s."
        time.later(seconds=waits_s - 1)
        make.run_cycle()
        assert fresh(job).status == JobStatus.HELD
        time.later(seconds=2)
        make.run_cycle()
        assert fresh(job).status == JobStatus.STARTING
        assert job.held_ms >= (waits_s - 1) * 1000
    assert job.retries_left == 1


def finish_by(**span: float) -> str:
    return (NOON + timedelta(**span)).isoformat()


@pytest.mark.parametrize("stage", ["held", "pending", "running"])
def test_a_job_that_is_late_ends_as_such(user, node, time, stage):
    other = {"resources": {"devices": 1}}
    if stage == "pending":
        start(make.make_job(user, **other), node)
    job = make.make_job(user, latest_finish=finish_by(hours=1), on_hold=stage == "held", **other)
    if stage == "running":
        start(job, node)
    time.later(minutes=59)
    make.run_cycle()
    assert fresh(job).status == stage
    time.later(minutes=2)
    make.run_cycle()
    assert (fresh(job).status, job.exit_class) == (JobStatus.FAILED, "deadline")
    assert Slice.objects.filter(placement__job=job).exists() == (stage == "running")
    if stage == "running":
        assert desired_set(node)[1][0].want is Want.STOP


def test_one_that_may_be_late_is_told_of_once_until_it_is_over(user, node, time):
    job = make.make_job(user, latest_finish=finish_by(hours=1), on_late="tell")
    placement = start(job, node)
    time.later(hours=2)
    make.run_cycle()
    make.run_cycle()
    assert fresh(job).status == JobStatus.RUNNING
    assert Alert.objects.get(code="job-late").subject_id == str(job.pk)
    assert JobEvent.objects.filter(job=job, code="late").count() == 1
    make.report(node, make.ended(placement))
    make.run_cycle()
    assert Alert.objects.get(code="job-late").cleared_at is not None


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({"after": {"job": 1}}, "after", "type"),
        ({"after": [1]}, "after[0]", "type"),
        ({"after": [{}]}, "after[0].job", "required"),
        ({"after": [{"job": True}]}, "after[0].job", "type"),
        ({"after": [{"job": 1, "ends": "well"}]}, "after[0].ends", "choice"),
        ({"after": [{"job": 1, "when": "ok"}]}, "after[0].when", "unknown-field"),
        ({"after": [{"job": 1}, {"job": 1}]}, "after", "repeated"),
        ({"after": [{"job": 1}] * 101}, "after", "max-length"),
        ({"retry_on": ["success"]}, "retry_on", "choice"),
        ({"back_off_s": 3601}, "back_off_s", "max"),
        ({"back_off_s": "60"}, "back_off_s", "type"),
        ({"on_hold": 1}, "on_hold", "type"),
        ({"latest_finish": "tomorrow"}, "latest_finish", "not-a-moment"),
        ({"latest_finish": "2026-12-31T08:00:00"}, "latest_finish", "not-a-moment"),
        ({"latest_finish": "2020-12-31T08:00:00Z"}, "latest_finish", "in-the-past"),
        ({"latest_finish": 1}, "latest_finish", "type"),
        ({"on_late": "cry"}, "on_late", "choice"),
        ({"array": 5}, "array", "type"),
        ({"array": {}}, "array.tasks", "required"),
        ({"array": {"tasks": 10_001}}, "array.tasks", "max"),
        ({"array": {"tasks": 0}}, "array.tasks", "min"),
        ({"array": {"tasks": 2, "at_once": 0}}, "array.at_once", "min"),
        ({"array": {"tasks": 2, "step": 1}}, "array.step", "unknown-field"),
    ],
)
def test_odd_conditions_name_their_field(api, changes, field, code):
    answer = api.post("/api/v1/jobs/submit", make.body(**changes), format="json")
    assert answer.status_code == 400
    assert [(e["field"], e["code"]) for e in answer.json()["errors"]] == [(field, code)]
    assert not Job.objects.exists()

"""What people do to jobs: hold, release, requeue, another priority, cancel at every stage, and many at once."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from agent.protocol import Checkpoint, ExitReason, TaskPhase, Want
from controlplane.accounts.models import AuditEntry, Membership, Role
from controlplane.base.problems import Problem
from inventory.models import Node, NodeState
from queues.models import Job, JobEvent, JobStatus
from scheduling.api import job_actions
from scheduling.backends.agent import desired_set
from scheduling.losses import declare_lost_nodes
from scheduling.models import Phase, Placement, Slice
from scheduling.operations import (
    cancel_job,
    hold_job,
    release_job,
    reprioritise_job,
    requeue_job,
    resume_job,
    suspend_job,
)
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
WAY: dict[str, Any] = {"checkpoint": {"signal": "USR1"}, "resources": {"devices": 1}}
PATH = "/shared/checkpoints/1/1"


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def api(user):
    return client_of(user)


@pytest.fixture
def node(user):
    node = make.make_node(cores=8)
    make.make_device(node, memory_mib=24576)
    return node


def client_of(user) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


def running(user, node, **changes) -> tuple[Job, Placement]:
    job = make.make_job(user, **changes)
    make.run_cycle()
    placement = Placement.objects.filter(job=job).latest("pk")
    make.report(node, make.started(placement))
    return fresh(job), placement


def fresh(job: Job) -> Job:
    job.refresh_from_db()
    return job


def codes(job: Job) -> list[str]:
    return list(JobEvent.objects.filter(job=job).order_by("pk").values_list("code", flat=True))


def test_a_held_job_gets_no_place_until_it_is_released(user, api, node):
    job = make.make_job(user)
    shown = api.post(f"/api/v1/jobs/{job.pk}/hold", {}, format="json").json()
    assert (shown["status"], shown["reason"]["code"]) == ("held", "held-person")
    assert fresh(job).pending_since is None and job.held_since is not None
    make.run_cycle()
    explained = api.get(f"/api/v1/jobs/{job.pk}/explain").json()
    assert explained["sentence"]["text"] == "It is held until somebody releases it."
    assert not Placement.objects.exists()
    shown = api.post(f"/api/v1/jobs/{job.pk}/release", {}, format="json").json()
    assert shown["status"] == "pending" and fresh(job).held_since is None
    make.run_cycle()
    assert fresh(job).status == JobStatus.STARTING
    assert codes(job) == ["submitted", "held-person", "released", "placed"]
    assert list(AuditEntry.objects.values_list("action", flat=True)) == ["job-hold", "job-release"]


def test_holding_twice_and_releasing_what_nobody_holds_change_nothing(user):
    job = make.make_job(user)
    assert not release_job(job.pk, actor="ada")
    assert hold_job(job.pk, actor="ada") and not hold_job(job.pk, actor="ada")
    assert codes(job) == ["submitted", "held-person"]


def test_a_job_that_runs_is_not_held(user, api, node):
    job, _placement = running(user, node)
    answer = api.post(f"/api/v1/jobs/{job.pk}/hold", {}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "not-waiting")


def test_a_held_job_can_be_cancelled(user):
    job = make.make_job(user)
    hold_job(job.pk, actor="ada")
    assert cancel_job(job.pk, actor="ada")
    assert (fresh(job).status, job.held_for, job.held_since) == (JobStatus.CANCELLED, "", None)


def test_a_job_is_queued_again_from_its_checkpoint_in_its_old_place(user, node):
    job, placement = running(user, node, **WAY)
    later = make.make_job(user, **WAY)
    assert requeue_job(job.pk, actor="ada") and not requeue_job(job.pk, actor="ada")
    told = desired_set(node)[1][0]
    assert told.want is Want.RUN and told.checkpoint_asked is not None
    made = Checkpoint(path=PATH, made_at_ms=1, asked=told.checkpoint_asked)
    make.report(node, make.task(placement, TaskPhase.RUNNING, started_at_ms=1000, checkpoint=made))
    assert desired_set(node)[1][0].want is Want.STOP
    make.report(node, make.ended(placement, exit_code=None, signal=15, reason=ExitReason.STOPPED))
    assert (fresh(job).status, job.attempt, job.requeues_left) == (JobStatus.PENDING, 2, 5)
    assert not Slice.objects.exists()
    make.run_cycle()
    assert desired_set(node)[1][0].resume_from == PATH
    assert (fresh(job).status, fresh(later).status) == (JobStatus.STARTING, JobStatus.PENDING)
    assert codes(job)[-4:] == ["requeue-asked", "checkpoint", "requeued", "placed"]


def test_one_without_a_checkpoint_is_queued_again_only_when_told_so(user, node):
    job, placement = running(user, node)
    with pytest.raises(Problem) as caught:
        requeue_job(job.pk, actor="ada")
    assert caught.value.code == "no-checkpoint"
    assert requeue_job(job.pk, actor="ada", lose_work=True)
    make.report(node, make.ended(placement, exit_code=None, signal=15, reason=ExitReason.STOPPED))
    assert (fresh(job).status, job.attempt) == (JobStatus.PENDING, 2)


def test_a_checkpoint_that_fails_leaves_it_running(user, node):
    job, placement = running(user, node, **WAY)
    requeue_job(job.pk, actor="ada")
    asked = desired_set(node)[1][0].checkpoint_asked
    failed = Checkpoint(path="", made_at_ms=1, asked=asked, problem="no space left")
    make.report(node, make.task(placement, TaskPhase.RUNNING, started_at_ms=1000, checkpoint=failed))
    placement.refresh_from_db()
    assert (fresh(job).status, placement.phase) == (JobStatus.RUNNING, Phase.RUNNING)
    assert codes(job)[-1] == "checkpoint-failed"


def test_one_that_ends_by_itself_meanwhile_has_ended(user, node):
    job, placement = running(user, node, **WAY)
    requeue_job(job.pk, actor="ada")
    make.report(node, make.ended(placement))
    assert fresh(job).status == JobStatus.SUCCEEDED


def test_a_higher_priority_is_served_first(user, api, node):
    first, second = make.make_job(user, **WAY), make.make_job(user, **WAY)
    shape = fresh(second).shape
    answer = api.post(f"/api/v1/jobs/{second.pk}/priority", {"priority": 5}, format="json")
    assert (answer.json()["priority"], answer.json()["spec"]["priority"]) == (5, 0)
    assert fresh(second).shape != shape
    assert not reprioritise_job(second.pk, actor="ada", priority=5)
    make.run_cycle()
    assert (fresh(first).status, fresh(second).status) == (JobStatus.PENDING, JobStatus.STARTING)
    event = JobEvent.objects.get(code="reprioritised")
    assert (event.details, event.actor) == ({"before": 0, "priority": 5}, "ada")


@pytest.mark.parametrize("priority", [1001, True, "5", None, 1.5])
def test_odd_priorities_are_refused(user, api, priority):
    job = make.make_job(user)
    answer = api.post(f"/api/v1/jobs/{job.pk}/priority", {"priority": priority}, format="json")
    assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == "priority"


STAGES = ["held", "pending", "starting", "running", "suspending", "suspended", "requeued"]


def at_stage(stage: str, user, node) -> Job:
    job = make.make_job(user, **WAY)
    if stage == "held":
        hold_job(job.pk, actor="ada")
    if stage == "suspended":
        suspend_job(job.pk, actor="ada")
    if stage in ("starting", "running", "suspending", "requeued"):
        make.run_cycle()
    if stage in ("running", "suspending", "requeued"):
        make.report(node, make.started(Placement.objects.get(job=job)))
    if stage == "suspending":
        suspend_job(job.pk, actor="ada")
    if stage == "requeued":
        requeue_job(job.pk, actor="ada")
    return fresh(job)


@pytest.mark.parametrize("stage", STAGES)
def test_a_job_is_cancelled_at_every_stage_while_its_agent_is_offline(user, node, stage):
    """It is over at once; what it booked stays booked until its node is lost, and its agent is told to stop it."""
    job = at_stage(stage, user, node)
    Node.objects.filter(pk=node.pk).update(state=NodeState.SILENT)
    placed = Slice.objects.exists()
    assert cancel_job(job.pk, actor="ada") and not cancel_job(job.pk, actor="ada")
    assert (fresh(job).status, job.exit_class) == (JobStatus.CANCELLED, "cancelled")
    assert Slice.objects.exists() == placed
    assert all(assignment.want is Want.STOP for assignment in desired_set(node)[1])
    for undo in (release_job, resume_job):
        assert not undo(job.pk, actor="ada")
    Node.objects.filter(pk=node.pk).update(state=NodeState.LOST)
    declare_lost_nodes()
    assert not Slice.objects.exists()
    assert fresh(job).status == JobStatus.CANCELLED and codes(job)[-1] == "cancelled"


def bulk(api, **body):
    return api.post("/api/v1/jobs/bulk", body, format="json")


def test_many_are_acted_on_each_with_its_own_outcome(user, api, node):
    waiting, over = make.make_job(user), make.make_job(user)
    cancel_job(over.pk, actor="ada")
    runs, _placement = running(user, node)
    hidden = make.make_job(make.make_user("eve", team=make.make_team("others")))
    answer = bulk(api, action="hold", jobs=[runs.pk, waiting.pk, over.pk, hidden.pk, 999_999])
    assert answer.status_code == 200 and answer.json()["left"] == 0
    found = {row["job"]: (row["changed"], row["code"]) for row in answer.json()["outcomes"]}
    # The one that waited got its place together with the one that runs.
    assert found == {
        runs.pk: (False, "not-waiting"),
        waiting.pk: (False, "not-waiting"),
        over.pk: (False, None),
        hidden.pk: (False, "not-found"),
        999_999: (False, "not-found"),
    }
    answer = bulk(api, action="cancel", jobs=[runs.pk, waiting.pk])
    assert [row["changed"] for row in answer.json()["outcomes"]] == [True, True]
    assert AuditEntry.objects.filter(action="job-cancel").count() == 2
    assert fresh(hidden).status == JobStatus.PENDING


def test_a_filter_finds_only_what_is_not_over_and_says_what_is_left(user, api, monkeypatch):
    monkeypatch.setattr(job_actions, "MOST_AT_ONCE", 2)
    jobs = [make.make_job(user, name=f"sweep-{number}") for number in range(3)]
    other = make.make_job(user, name="other")
    dry = bulk(api, action="cancel", filter={"search": "sweep"}, dry_run=True).json()
    assert ([row["job"] for row in dry["outcomes"]], dry["left"]) == ([jobs[0].pk, jobs[1].pk], 1)
    assert fresh(jobs[0]).status == JobStatus.PENDING
    assert bulk(api, action="cancel", filter={"search": "sweep"}).json()["left"] == 1
    last = bulk(api, action="cancel", filter={"search": "sweep"}).json()
    assert ([row["job"] for row in last["outcomes"]], last["left"]) == ([jobs[2].pk], 0)
    pending = bulk(api, action="cancel", filter={"status": ["pending", "held"]}, dry_run=True).json()
    assert [row["job"] for row in pending["outcomes"]] == [other.pk]
    assert fresh(other).status == JobStatus.PENDING


def test_members_touch_their_own_jobs_only_leads_those_of_their_team(user):
    mine, team = make.make_job(user), make.make_team()
    others = make.make_job(make.make_user("bob", team=team))
    answer = bulk(client_of(user), action="hold", jobs=[mine.pk, others.pk]).json()
    assert [row["code"] for row in answer["outcomes"]] == [None, "forbidden"]
    lead = make.make_user("lea", team=team, lead=True)
    assert bulk(client_of(lead), action="hold", jobs=[others.pk]).json()["outcomes"][0]["changed"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"action": "hold"}, "jobs"),
        ({"action": "hold", "jobs": [1], "filter": {"queue": "training"}}, "filter"),
        ({"action": "hold", "filter": {}}, "filter"),
        ({"action": "hold", "filter": {"colour": "red"}}, "filter.colour"),
        ({"action": "hold", "jobs": []}, "jobs"),
        ({"action": "hold", "jobs": list(range(1, 502))}, "jobs"),
        ({"action": "hold", "jobs": ["1"]}, "jobs[0]"),
        ({"action": "burn", "jobs": [1]}, "action"),
        ({"action": "reprioritise", "jobs": [1]}, "priority"),
        ({"action": "cancel", "jobs": [1], "priority": 1}, "priority"),
        ({"action": "hold", "jobs": [1], "lose_work": True}, "lose_work"),
    ],
)
def test_odd_wishes_name_the_field(api, body, field):
    answer = bulk(api, **body)
    assert answer.status_code == 400 and [e["field"] for e in answer.json()["errors"]] == [field]


def test_an_operator_without_a_team_acts_on_all(user):
    job = make.make_job(user)
    operator = make.make_user("olga", role=Role.OPERATOR)
    assert not Membership.objects.filter(user=operator).exists()
    assert bulk(client_of(operator), action="cancel", jobs=[job.pk]).json()["outcomes"][0]["changed"]

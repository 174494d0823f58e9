"""Dry runs, what-ifs and previews of quotas say what the cycle right after them decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Role, User
from controlplane.base import clock
from inventory.models import Node, NodeSet
from queues.models import Job, JobStatus, Queue, TeamQuota
from scheduling.engine.types import EnginePolicy
from scheduling.models import Hold, Promise, Recording, ShapeReason
from scheduling.pauses import pause_cluster, pause_part
from scheduling.selectors.consequences import consequences
from tests.scheduling import factories as make
from tests.scheduling.test_preemption import answer, stopped, urgent, victim
from tests.scheduling.test_reservations import statuses, waiting

pytestmark = pytest.mark.django_db
SHORT: dict[str, Any] = {"resources": {"devices": 1}, "time_limit_s": 600}
LONG: dict[str, Any] = {"resources": {"devices": 1}, "time_limit_s": 7200}
ENDLESS: dict[str, Any] = {"resources": {"devices": 1}}


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def operator(user):
    return make.make_user("olga", role=Role.OPERATOR)


@pytest.fixture
def node(user):
    """Four devices."""
    found = make.make_node(cores=16, node_set="lab")
    for index in range(4):
        make.make_device(found, index=index)
    return found


def post(who: User, path: str, body: object) -> Any:
    client = APIClient()
    client.force_login(who)
    found = client.post(f"/api/v1{path}", body, format="json")
    assert found.status_code == 200, found.content
    return found.json()


def dry(user: User, spec: dict[str, Any]) -> Any:
    return post(user, "/jobs/submit?dry_run=1", make.body(**spec))


def what_if(operator: User, *edits: object, recording: int | None = None) -> Any:
    return post(operator, "/what-if", {"recording": recording, "edits": list(edits)})


def add(spec: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"kind": "add-job", "spec": make.body(name="new", team="vision", **spec), **changes}


def promise(user: User, node: Node) -> None:
    """All four devices to one job, once those of two are free."""
    waiting(user, 2, time_limit_s=3600)
    make.run_cycle()
    waiting(user, 4, minutes=20)
    make.run_cycle()
    assert Promise.objects.exists()


def patience(user: User, node: Node) -> None:
    """A job that the next cycle promises a place."""
    waiting(user, 2, time_limit_s=3600)
    make.run_cycle()
    waiting(user, 4, minutes=20)


def hold(user: User, node: Node) -> None:
    """One device has come free for a job that waits for the other three."""
    victims = [victim(user, node) for _ in range(4)]
    urgent(user, 4)
    answer(node, victims[0][1])
    stopped(node, victims[0][1])
    assert Hold.objects.exists()


def quota(user: User, node: Node) -> None:
    queue = Queue.objects.get(name="training")
    TeamQuota.objects.create(queue=queue, team=make.make_team(), quota_milli=1000)


def lending(user: User, node: Node) -> None:
    """The queue may have one of the four; it may borrow more."""
    Queue.objects.filter(name="training").update(quota_ppm=250_000, preemptable=True, borrow=True)
    patience(user, node)


SITUATIONS = (
    promise,
    patience,
    hold,
    quota,
    lending,
    lambda user, node: pause_part("op", Queue.objects.get(name="training"), reason=""),
    lambda user, node: pause_part("op", NodeSet.objects.get(name="lab"), reason=""),
    lambda user, node: pause_cluster("op", reason=""),
)
NAMES = ("promise", "patience", "hold", "quota", "lending", "queue-paused", "set-paused", "all-paused")


def truth(job: Job) -> str | None:
    """Why the job waits after a cycle; None when it starts."""
    make.run_cycle()
    if statuses(job) == [JobStatus.STARTING]:
        return None
    return str(ShapeReason.objects.get(shape=job.shape).code)


def told(user: User, operator: User, spec: dict[str, Any]) -> tuple[str | None, str | None]:
    """What a dry run and a what-if say of such a job; None: it starts."""
    found, (change,) = dry(user, spec), what_if(operator, add(spec))["changes"]
    assert (found["placement"] is None) == (found["refusal"] is not None)
    of_dry_run = found["refusal"] and found["refusal"]["sentence"]["code"]
    assert (change["after"] is None) == (change["reason_after"] is not None)
    return of_dry_run, change["reason_after"] and change["reason_after"]["code"]


@pytest.mark.parametrize("situation", SITUATIONS, ids=NAMES)
def test_a_job_is_told_what_the_next_cycle_decides(user, operator, node, situation):
    situation(user, node)
    for spec in (LONG, ENDLESS, SHORT, LONG):
        of_dry_run, of_what_if = told(user, operator, spec)
        job = make.make_job(user, **spec)
        if of_what_if in ("paused", "queue-paused"):
            make.run_cycle()
            assert (of_dry_run, statuses(job)) == (of_what_if, [JobStatus.PENDING])
        else:
            code = truth(job)
            assert (of_dry_run, of_what_if) == (code, code)


@pytest.mark.parametrize("situation", SITUATIONS, ids=NAMES)
def test_a_what_if_places_what_the_next_cycle_places(user, operator, node, situation):
    situation(user, node)
    for spec in (LONG, ENDLESS, SHORT):
        make.make_job(user, **spec)
    before = what_if(operator)["before"]
    started = Job.objects.exclude(status=JobStatus.PENDING).count()
    make.run_cycle()
    assert before["placed"] == Job.objects.exclude(status=JobStatus.PENDING).count() - started


def test_a_recorded_plan_is_made_again_with_its_promises(user, operator, node):
    promise(user, node)
    for spec in (LONG, SHORT):
        make.make_job(user, **spec)
    make.run_cycle()
    assert Recording.objects.latest("pk").placed == 1
    for recording in Recording.objects.all():
        assert what_if(operator, recording=recording.pk)["before"]["placed"] == recording.placed


Edited = Callable[[EnginePolicy], EnginePolicy]


def without_caps(policy: EnginePolicy) -> EnginePolicy:
    return replace(policy, queues=tuple(replace(queue, quota_ppm=None) for queue in policy.queues))


def test_a_preview_of_quotas_starts_what_the_next_cycle_starts(user, operator, node):
    promise(user, node)
    Queue.objects.update(quota_ppm=0)
    jobs = [make.make_job(user, **spec) for spec in (LONG, SHORT)]
    starts = [one["job"] for one in consequences(without_caps, operator)["starts"]]
    Queue.objects.update(quota_ppm=None)
    make.run_cycle()
    assert starts == [job.pk for job in jobs if statuses(job) == [JobStatus.STARTING]] == [jobs[1].pk]


def test_a_job_without_a_limit_is_taken_to_run_as_such_jobs_did(user, operator, node):
    spec = {"name": "new", "resources": {"devices": 1}}
    done = make.make_job(user, **spec)
    ends = clock.now()
    Job.objects.filter(pk=done.pk).update(
        status=JobStatus.SUCCEEDED, started_at=ends - timedelta(minutes=10), finished_at=ends
    )
    promise(user, node)
    assert dry(user, spec)["placement"] is not None
    edit = {"kind": "add-job", "spec": make.body(team="vision", **spec)}
    assert what_if(operator, edit)["changes"][0]["after"] is not None
    assert truth(make.make_job(user, **spec)) is None

"""Dry runs, what-ifs and previews of quotas say what the cycle right after them decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
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
from scheduling.selectors.explanations import explain_job
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


NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
NIGHT = datetime(2026, 5, 4, 23, tzinfo=UTC)


def held(user: User, spec: dict[str, Any]) -> str | None:
    """What a dry run says that holds the job, after which it is submitted and a cycle agrees; None: it starts."""
    make.run_cycle()
    found = dry(user, spec)
    job = make.make_job(user, **spec)
    make.run_cycle()
    code = found["refusal"] and found["refusal"]["sentence"]["code"]
    if code is None:
        assert statuses(job) == [JobStatus.STARTING] and found["placement"] is not None
        return None
    assert (found["placement"], found["refusal"]["status"], statuses(job)) == (None, "held", ["held"])
    seen = explain_job(Job.objects.get(pk=job.pk), user)["sentence"]
    assert (code, found["refusal"]["sentence"]["text"]) == (seen["code"], seen["text"])
    return str(code)


@pytest.mark.parametrize(
    ("now", "spec", "code"),
    [
        (NOON, {"on_hold": True}, "held-person"),
        (NOON, {"deferrable": True}, "held-window"),
        (NIGHT, {"deferrable": True}, None),
        (NOON, {"deferrable": True, "latest_finish": "2026-05-04T13:00:00Z", "time_limit_s": 3600}, None),
        (NOON, {"on_hold": True, "deferrable": True, "array": {"tasks": 3}}, "held-person"),
    ],
)
def test_a_gate_is_told_before_a_place(user, node, monkeypatch, now, spec, code):
    monkeypatch.setattr(clock, "now", lambda: now)
    assert held(user, spec) == code


def test_a_gate_is_told_before_a_pause(user, node):
    pause_cluster("op", reason="")
    assert dry(user, {"on_hold": True})["refusal"]["sentence"]["code"] == "held-person"


@pytest.mark.parametrize("ends", ["ok", "any"])
def test_a_dependency_is_told_until_it_is_met(user, node, ends):
    first, second = (make.make_job(user, on_hold=True) for _ in range(2))
    after = {"after": [{"job": job.pk, "ends": ends} for job in (second, first)]}
    assert dry(user, after)["refusal"]["sentence"]["params"] == {"job": first.pk, "ends": ends, "more": 1}
    assert held(user, after) == "held-dependency"
    Job.objects.filter(pk__in=[first.pk, second.pk]).update(
        status=JobStatus.SUCCEEDED, finished_at=clock.now(), held_for=""
    )
    assert held(user, after) is None


@pytest.mark.parametrize(
    ("array", "considered", "starting"),
    [({"tasks": 100}, 100, 4), ({"tasks": 100, "at_once": 3}, 3, 3), ({"tasks": 2}, 2, 2)],
)
def test_a_dry_run_counts_the_tasks_that_start(user, node, array, considered, starting):
    spec = {"resources": {"devices": 1}, "array": array}
    found = dry(user, spec)
    told = found["array"]
    assert found["placement"]["node"] == node.pk
    assert (told["tasks"], told["considered"], told["starting"]) == (array["tasks"], considered, starting)
    assert told["sentence"]["text"] == f"Of the {array['tasks']} tasks of this array {starting} start now."
    make.make_job(user, **spec)
    make.run_cycle()
    assert Job.objects.filter(status=JobStatus.STARTING).count() == starting


def test_of_a_long_array_the_first_tasks_are_looked_at(user, node, monkeypatch):
    monkeypatch.setattr("scheduling.selectors.dryrun.MOST_JOBS_ADDED", 3)
    waits = make.make_job(user, resources={"devices": 2})
    found = dry(user, {"resources": {"devices": 1}, "array": {"tasks": 9}})["array"]
    assert (found["considered"], found["starting"]) == (3, 2), f"job {waits.pk} is served before"
    assert found["sentence"]["text"] == "Of the first 3 of the 9 tasks of this array 2 start now."
    assert dry(user, {"resources": {"devices": 1}})["array"] is None


def below(user: User, node: Node) -> Job:
    """A job of the lowest queue that holds all four devices."""
    return victim(user, node, 4)[0]


def test_a_job_that_takes_over_is_told_so_and_whose_place_it_gets(user, operator, node):
    yields = below(user, node)
    found, (change,) = dry(user, ENDLESS), what_if(operator, add(ENDLESS))["changes"]
    assert found["placement"] is None and found["refusal"]["sentence"]["code"] == "takes-over"
    assert found["refusal"]["estimate"] is None
    assert found["takeover"] == {
        "nodes": [{"id": node.pk, "name": node.name}],
        "stops": [{"job": yields.pk, "name": yields.name}],
    }
    assert change["reason_after"]["code"] == "takes-over" and change["start_unknown"] is None
    assert change["stops"] == found["takeover"]["stops"]
    stored = make.make_job(user, **ENDLESS)
    before = what_if(operator)["before"]
    assert [(one["code"], one["count"]) for one in before["reasons"]] == [("takes-over", 1)]
    make.run_cycle()
    assert Hold.objects.get().beneficiary == stored


def test_names_of_victims_are_told_to_those_who_may_see_them(user, node):
    below(user, node)
    stranger = make.make_user("eve", team=make.make_team("speech"))
    assert [one["name"] for one in dry(stranger, ENDLESS)["takeover"]["stops"]] == [None]


@pytest.mark.parametrize("spec", [{**ENDLESS, "queue": "offline"}, {"resources": {"devices": 5}}])
def test_nobody_yields_to_a_job_that_is_not_above_or_would_not_fit(user, operator, node, spec):
    below(user, node)
    found, (change,) = dry(user, spec), what_if(operator, add(spec))["changes"]
    assert found["takeover"] is None and found["refusal"]["sentence"]["code"] != "takes-over"
    assert change["stops"] == [] and change["reason_after"]["code"] != "takes-over"
    make.make_job(user, **spec)
    make.run_cycle()
    assert not Hold.objects.exists()


def test_what_starts_in_the_same_plan_is_counted_before_anybody_is_asked(user, operator, node):
    """Three devices of four are held below: one job starts, and the next one needs a single victim."""
    for _ in range(3):
        victim(user, node)
    found = what_if(operator, add(ENDLESS, count=2))
    stops = [len(change["stops"]) for change in found["changes"]]
    assert (found["after"]["placed"], sorted(stops)) == (1, [0, 1])
    for _ in range(2):
        make.make_job(user, **ENDLESS)
    make.run_cycle()
    assert Hold.objects.count() == 1 and len(statuses(*Job.objects.filter(status="preempting"))) == 1


def test_a_quota_lets_nobody_take_over(user, operator, node):
    below(user, node)
    queue = Queue.objects.get(name="training")
    TeamQuota.objects.create(queue=queue, team=make.make_team(), quota_milli=0)
    assert dry(user, ENDLESS)["refusal"]["sentence"]["code"] == "team-quota"
    assert what_if(operator, add(ENDLESS))["changes"][0]["reason_after"]["code"] == "team-quota"

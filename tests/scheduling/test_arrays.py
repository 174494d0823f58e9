"""Arrays: many tasks of one request, so many at once."""

from __future__ import annotations

import time

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import AuditEntry
from queues.models import Job, JobArray, JobEvent, JobStatus
from scheduling.backends.agent import desired_set
from scheduling.models import Placement
from scheduling.operations import cancel_job, hold_job, release_job
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
# Session, user, memberships, page of arrays, counts.
LIST_QUERIES = 5


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def api(user):
    client = APIClient()
    client.force_login(user)
    return client


def statuses() -> list[str]:
    return list(Job.objects.order_by("array_index").values_list("status", flat=True))


def counts(api) -> dict[str, int]:
    row = api.get("/api/v1/job-arrays").json()["results"][0]
    return {status: count for status, count in row["counts"].items() if count}


def end_all(node) -> None:
    for placement in Placement.objects.filter(phase="assigned"):
        make.report(node, make.started(placement))
        make.report(node, make.ended(placement))


def test_as_many_as_may_are_under_way_and_each_knows_its_index(user, api):
    node = make.make_node(cores=16)
    answer = api.post(
        "/api/v1/jobs/submit", make.body(name="sweep", array={"tasks": 5, "at_once": 2}), format="json"
    )
    first = answer.json()
    assert (answer.status_code, first["array"]["index"], first["array"]["tasks"]) == (201, 0, 5)
    assert statuses() == ["pending", "pending", "held", "held", "held"]
    make.run_cycle()
    told = [assignment.env for assignment in desired_set(node)[1]]
    assert [(env["HEADRACE_ARRAY_INDEX"], env["HEADRACE_ARRAY_TASKS"]) for env in told] == [
        ("0", "5"),
        ("1", "5"),
    ]
    held = Job.objects.get(array_index=3)
    said = api.get(f"/api/v1/jobs/{held.pk}").json()["reason"]["text"]
    assert said == "It is task 3 of its array, of which 2 are under way at once."
    end_all(node)
    make.run_cycle()
    assert counts(api) == {"succeeded": 2, "starting": 2, "held": 1}
    end_all(node)
    make.run_cycle()
    end_all(node)
    assert counts(api) == {"succeeded": 5}
    assert JobEvent.objects.filter(code="submitted").count() == 5


def test_a_held_task_lets_no_other_overtake_its_slot_and_a_cancelled_one_leaves_it(user):
    make.make_node(cores=16)
    make.make_job(user, array={"tasks": 4, "at_once": 1})
    first = Job.objects.get(array_index=0)
    hold_job(first.pk, actor="ada")
    make.run_cycle()
    assert statuses() == ["held", "held", "held", "held"]
    release_job(first.pk, actor="ada")
    cancel_job(first.pk, actor="ada")
    make.run_cycle()
    assert statuses() == ["cancelled", "starting", "held", "held"]


def test_an_array_that_waits_for_a_job_waits_as_a_whole(user):
    node = make.make_node(cores=16)
    first = make.make_job(user)
    make.make_job(user, array={"tasks": 3, "at_once": 2}, after=[{"job": first.pk}])
    tasks = Job.objects.filter(array__isnull=False)
    assert set(tasks.values_list("held_for", flat=True)) == {"dependency"}
    make.run_cycle()
    end_all(node)
    make.run_cycle()
    held = dict(tasks.order_by("array_index").values_list("array_index", "held_for"))
    assert held == {0: "", 1: "", 2: "slot"}


def test_an_array_is_cancelled_as_a_whole(user, api):
    make.make_node(cores=2)
    make.make_job(user, array={"tasks": 6, "at_once": 4})
    make.run_cycle()
    assert sorted(statuses()) == ["held", "held", "pending", "pending", "starting", "starting"]
    array = JobArray.objects.get()
    stranger = APIClient()
    stranger.force_login(make.make_user("eve", team=make.make_team("others")))
    assert stranger.post(f"/api/v1/job-arrays/{array.pk}/cancel", {}, format="json").status_code == 404
    answer = api.post(f"/api/v1/job-arrays/{array.pk}/cancel", {}, format="json").json()
    assert (answer["counts"]["cancelled"], answer["over"]) == (6, True)
    assert JobEvent.objects.filter(code="cancelled", actor="ada").count() == 6
    assert AuditEntry.objects.filter(action="job-array-cancel").count() == 1
    assert not Job.objects.exclude(held_since=None, pending_since=None).exists()


def test_lists_show_arrays_as_rows_and_tasks_on_demand(user, api, django_assert_num_queries):
    other = make.make_job(user, name="alone")
    for number in range(3):
        make.make_job(user, name=f"sweep-{number}", array={"tasks": 4})
    with django_assert_num_queries(LIST_QUERIES):
        rows = api.get("/api/v1/job-arrays").json()["results"]
    assert [row["name"] for row in rows] == ["sweep-2", "sweep-1", "sweep-0"]
    alone = api.get("/api/v1/jobs?array=none").json()["results"]
    assert [row["id"] for row in alone] == [other.pk]
    tasks = api.get(f"/api/v1/jobs?array={rows[0]['id']}").json()["results"]
    assert [row["array"]["index"] for row in tasks] == [3, 2, 1, 0]
    assert api.get("/api/v1/jobs?array=x").status_code == 400
    assert api.get("/api/v1/job-arrays?live=false").json()["results"] == []


def test_one_key_makes_one_array(user):
    for _again in range(2):
        make.make_job(user, key="once", array={"tasks": 3})
    assert Job.objects.count() == 3


def test_ten_thousand_tasks_are_submitted_and_ended_together(user, api):
    started = time.monotonic()
    make.make_job(user, array={"tasks": 10_000, "at_once": 50})
    submitted_s = time.monotonic() - started
    assert Job.objects.count() == 10_000
    make.make_node(cores=8)
    started = time.monotonic()
    make.run_cycle()
    cycle_s = time.monotonic() - started
    started = time.monotonic()
    array = JobArray.objects.get()
    assert api.post(f"/api/v1/job-arrays/{array.pk}/cancel", {}, format="json").json()["over"]
    cancelled_s = time.monotonic() - started
    print(f"submitted in {submitted_s:.2f} s, cycle {cycle_s:.2f} s, cancelled in {cancelled_s:.2f} s")
    assert set(statuses()) == {JobStatus.CANCELLED}

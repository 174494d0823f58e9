"""Cycles: order, bounds, pauses, reasons."""

from __future__ import annotations

import pytest

from controlplane.base.models import Cluster
from inventory.models import Device
from queues.models import Job, JobStatus
from queues.submission import Submission, accept, unsaved_job
from scheduling import cycle
from scheduling.models import CoreBooking, Cycle, Placement, ShapeReason, Slice
from scheduling.selectors.explanations import explain_job
from scheduling.tasks import declare_lost, run_cycle
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def many(user, count: int, **changes) -> list[Job]:
    accepted = accept(Submission(user, make.body(**changes)))
    return Job.objects.bulk_create([unsaved_job(accepted, user) for _ in range(count)])


def test_jobs_are_served_by_queue_priority_and_age(user):
    make.make_node(cores=1)
    late = make.make_job(user, queue="offline")
    make.make_job(user, queue="training")
    first = make.make_job(user, queue="training", priority=5)
    make.run_cycle()
    assert Placement.objects.get().job == first and late.pk < first.pk


def test_five_thousand_impossible_jobs_do_not_hold_up_ten(user, monkeypatch):
    """C38: the runnable ones are last in line, and start in the first cycle; each step of it is bounded, and of each
    impossible shape few jobs are looked at.
    """
    node = make.make_node(cores=16)
    for index in range(10):
        make.make_device(node, index=index)
    many(user, 2300, queue="inference", resources={"devices": 500})
    many(user, 2300, queue="training", resources={"device_memory": "900Gi"})
    for number in range(400):
        many(user, 1, queue="training", resources={"cores": 1000 + number})
    runnable = many(user, 10, queue="offline", resources={"devices": 1})
    worker, sizes = cycle.Worker(), []
    real = worker.session.plan
    monkeypatch.setattr(
        worker.session,
        "plan",
        lambda state, jobs, *a, **k: sizes.append(len(jobs)) or real(state, jobs, *a, **k),
    )
    make.run_cycle(worker)
    assert Job.objects.filter(pk__in=[j.pk for j in runnable], status=JobStatus.STARTING).count() == 10
    assert max(sizes) <= cycle.BATCH and sum(sizes) <= 2 * cycle.BATCH + 402 + 10
    assert ShapeReason.objects.count() == 402
    found = Cycle.objects.get()
    assert (found.considered, found.placed, found.waiting, found.refused) == (5010, 10, 5000, 402)
    make.run_cycle(worker)
    assert Cycle.objects.latest("pk").considered == 5000


def test_batches_see_what_the_ones_before_took(user, monkeypatch):
    monkeypatch.setattr(cycle, "BATCH", 3)
    make.make_node(cores=20)
    many(user, 25)
    make.run_cycle()
    assert CoreBooking.objects.count() == Placement.objects.count() == 20


def test_a_refused_decision_makes_the_cycle_look_at_its_node_again(user):
    """Readings raise no version: without another look the same node would be chosen and refused for half a minute."""
    for name in ("a", "b"):
        make.make_device(make.make_node(name))
    worker = cycle.Worker()
    make.make_job(user, resources={"devices": 9})
    make.run_cycle(worker)
    Device.objects.update(foreign_mib=1)
    job = make.make_job(user, resources={"devices": 1})
    make.run_cycle(worker)
    found = Cycle.objects.latest("pk")
    assert (found.placed, found.stale, found.refused) == (0, 2, 2)
    assert ShapeReason.objects.get(shape=job.shape).code == "foreign-use"


def test_a_paused_cluster_starts_nothing(user):
    make.make_node()
    job = make.make_job(user)
    Cluster.objects.update_or_create(defaults={"paused": True})
    make.run_cycle()
    assert not Placement.objects.exists()
    Cluster.objects.update(paused=False)
    make.run_cycle()
    assert Placement.objects.get().job == job


def test_reasons_are_written_when_they_have_something_new_to_say(user):
    make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    first = ShapeReason.objects.get()
    assert first.code == "node-not-ready"
    make.run_cycle()
    assert ShapeReason.objects.get().updated_at == first.updated_at
    make.make_node()
    make.run_cycle()
    changed = ShapeReason.objects.get()
    assert changed.code == "no-devices" and changed.since > first.since


def test_a_reason_names_the_cycle_that_gave_it(user):
    """A later cycle that had nothing new to say is not the one."""
    waiting = make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    make.make_job(user, resources={"devices": 2})
    make.run_cycle()
    first, second = Cycle.objects.order_by("pk")
    assert ShapeReason.objects.get(shape=waiting.shape).cycle == first
    found = explain_job(waiting, user)
    assert found["cycle"] == first.pk != second.pk
    first.delete()
    assert explain_job(waiting, user)["cycle"] is None


def test_reasons_of_shapes_that_no_longer_wait_are_gone(user):
    job = make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    make.make_device(make.make_node())
    make.run_cycle()
    assert Job.objects.get(pk=job.pk).status == JobStatus.STARTING and not ShapeReason.objects.exists()


def test_a_new_worker_leaves_running_jobs_where_they_are(user):
    """C13, C49: the scheduler starts anew on a full cluster; every job keeps its place, the new ones wait."""
    node = make.make_node(cores=16)
    for index in range(8):
        make.make_device(node, index=index)
    many(user, 8, resources={"devices": 1})
    make.run_cycle()
    for placement in Placement.objects.all():
        make.report(node, make.started(placement))
    before = list(Slice.objects.order_by("pk").values("placement", "device"))
    many(user, 8, resources={"devices": 1})
    make.run_cycle()
    assert list(Slice.objects.order_by("pk").values("placement", "device")) == before
    assert Job.objects.filter(status=JobStatus.RUNNING).count() == 8
    assert Job.objects.filter(status=JobStatus.PENDING).count() == 8


def test_halves_pack_the_same_together_or_apart(user):
    """C02: two halves go to one device, submitted in one moment or one after the other."""
    node = make.make_node()
    for index in range(2):
        make.make_device(node, index=index)
    many(user, 2, queue="offline", resources={"device_compute_milli": 500})
    make.run_cycle()
    together = sorted(Slice.objects.values_list("device__index", flat=True))
    for placement in Placement.objects.all():
        make.report(node, make.ended(placement))
    for _ in range(2):
        many(user, 1, queue="offline", resources={"device_compute_milli": 500})
        make.run_cycle()
    assert sorted(Slice.objects.values_list("device__index", flat=True)) == together
    assert len(set(together)) == 1


def test_tasks_are_harmless_without_work(user):
    run_cycle()
    declare_lost()
    assert not Cycle.objects.exists()

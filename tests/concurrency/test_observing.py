"""Agents, people and the scheduler at the same rows at the same moment."""

from __future__ import annotations

import functools

import pytest

from agent.protocol import TaskPhase
from inventory.models import Device, DeviceHealth, Node, NodeState
from queues.models import Job, JobEvent, JobStatus
from scheduling.evacuation import tell_of_missing
from scheduling.losses import declare_lost
from scheduling.models import CoreBooking, Phase, Placement, Slice
from scheduling.operations import cancel_job
from scheduling.snapshot import SnapshotCache
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 12


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def booked(node) -> tuple[int, int, int]:
    state = SnapshotCache().refresh(now_ms=1, whole_every_ms=1)
    info = state.info(node.pk)
    devices = sum(device.compute_booked_milli for device in info.devices)
    return devices, sum(cpu.booked for cpu in info.cpus), info.memory_booked_mib


def test_eight_jobs_that_end_together_leave_the_books_at_zero(user, at_once):
    node = make.make_node(cores=8)
    for index in range(8):
        make.make_device(node, index=index)
    for _round in range(ROUNDS):
        for _ in range(8):
            make.make_job(user, resources={"devices": 1, "memory": "1Gi"})
        make.run_cycle()
        live = list(Placement.objects.filter(phase=Phase.ASSIGNED))
        assert len(live) == 8 and booked(node) == (8000, 8, 8192)
        results = at_once(*[functools.partial(make.report, node, make.ended(p)) for p in live])
        assert results == [1] * 8
        assert booked(node) == (0, 0, 0)
    assert Job.objects.filter(status=JobStatus.SUCCEEDED).count() == 8 * ROUNDS


def test_one_answer_sent_many_times_at_once_counts_once(user, at_once):
    node = make.make_node()
    job = make.make_job(user)
    make.run_cycle()
    placement = Placement.objects.get()
    results = at_once(*[functools.partial(make.report, node, make.ended(placement))] * 10)
    assert sorted(results) == [0] * 9 + [1]
    assert JobEvent.objects.filter(job=job, to_status=JobStatus.SUCCEEDED).count() == 1


def test_cancel_end_and_loss_at_once_end_the_job_once(user, at_once):
    node = make.make_node()
    make.make_device(node)
    for _round in range(ROUNDS):
        job = make.make_job(user, resources={"devices": 1}, max_retries=1)
        make.run_cycle()
        placement = Placement.objects.get(job=job)
        make.report(node, make.started(placement))
        Node.objects.filter(pk=node.pk).update(state=NodeState.LOST)
        results = at_once(
            functools.partial(cancel_job, job.pk, actor="ada"),
            functools.partial(make.report, node, make.ended(placement, code=0)),
            functools.partial(declare_lost, node.pk),
            functools.partial(make.report, node, make.task(placement, TaskPhase.STOPPING)),
        )
        assert not [r for r in results if isinstance(r, Exception)]
        Node.objects.filter(pk=node.pk).update(state=NodeState.READY)
        job.refresh_from_db()
        assert job.status in (JobStatus.CANCELLED, JobStatus.SUCCEEDED)
        assert not Slice.objects.exists() and not CoreBooking.objects.exists()


def test_reports_and_cycles_do_not_deadlock(user, at_once):
    nodes = [make.make_node(cores=4) for _ in range(3)]
    for _ in range(12):
        make.make_job(user)
    make.run_cycle()

    def end_all(node):
        live = list(Placement.objects.filter(node=node).exclude(phase=Phase.RELEASED).order_by("-pk"))
        return make.report(node, *[make.ended(placement) for placement in live])

    for _round in range(4):
        for _ in range(6):
            make.make_job(user)
        works = [functools.partial(end_all, node) for node in nodes]
        works += [make.run_cycle] * 2
        works += [
            functools.partial(cancel_job, pk, actor="ada")
            for pk in Job.objects.values_list("pk", flat=True)[:5]
        ]
        results = at_once(*works)
        assert not [r for r in results if isinstance(r, Exception)], results


def test_two_looks_at_once_tell_an_owner_once(user, at_once):
    node = make.make_node()
    device = make.make_device(node)
    for _round in range(ROUNDS):
        job = make.make_job(user, resources={"devices": 1})
        make.run_cycle()
        Device.objects.update(health=DeviceHealth.MISSING)
        assert at_once(*[tell_of_missing] * 4) == [None] * 4
        assert JobEvent.objects.filter(job=job, code="device-missing").count() == 1
        make.report(node, make.ended(Placement.objects.get(job=job)))
        Device.objects.filter(pk=device.pk).update(health=DeviceHealth.HEALTHY)

"""Apply refuses what the rows no longer allow, and books exactly what was decided."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import IntegrityError, transaction

from controlplane.base import clock
from inventory.health import TAKES_JOBS
from inventory.models import Device, DeviceHealth, DeviceReading, Node, NodeState
from queues.models import Intent, Job, JobStatus
from scheduling.apply import Applying, StaleCode, apply_placed
from scheduling.backends.agent import epoch_of
from scheduling.engine.columns import USABLE_HEALTH
from scheduling.engine.plan import plan
from scheduling.engine.types import SliceChoice
from scheduling.models import CoreBooking, Cycle, Decision, Outcome, Placement, Slice
from scheduling.policy_bridge import current_policy
from scheduling.requests import RequestCache, load_pending
from scheduling.sheets import decode_placed
from scheduling.snapshot import SnapshotCache
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def node(user):
    node = make.make_node(cores=8)
    make.make_device(node)
    return node


def decide(user, **resources):
    """A decision on the cluster as it is now, and what it takes to apply it."""
    job = make.make_job(user, queue="offline", resources=resources)
    policy = current_policy()
    state = SnapshotCache().refresh(now_ms=1, whole_every_ms=1)
    waiting = [one for one, _shape in load_pending(RequestCache()) if one.job == job.pk]
    placed = plan(state, waiting, policy.engine, now_ms=1, seed=0).placed[0]
    lease = make.lease(f"test-{make.next_number()}")
    return job, placed, Applying(lease, Cycle.objects.create(fencing_token=lease.token), policy)


def test_a_decision_is_booked_as_decided(user, node):
    job, placed, context = decide(user, devices=1, cores=3, memory="2Gi")
    before = epoch_of(node.pk)
    assert apply_placed(placed, context) is None
    placement = Placement.objects.get(job=job)
    assert (placement.cpus, placement.host_memory_mib) == (list(placed.cpus), 2048)
    assert sorted(placement.core_bookings.values_list("cpu", flat=True)) == list(placed.cpus)
    booked = Slice.objects.get()
    assert SliceChoice(booked.device_id, booked.memory_mib, booked.compute_milli) == placed.slices[0]
    assert epoch_of(node.pk) > before
    job.refresh_from_db()
    assert job.status == JobStatus.STARTING and job.pending_since is None
    assert decode_placed(Decision.objects.get().sheet) == placed


CHANGES = {
    StaleCode.JOB_CHANGED: lambda job, node: Job.objects.filter(pk=job.pk).update(attempt=2),
    StaleCode.NODE_NOT_READY: lambda job, node: Node.objects.filter(pk=node.pk).update(
        state=NodeState.SILENT
    ),
    StaleCode.DEVICE_UNAVAILABLE: lambda job, node: Device.objects.update(health=DeviceHealth.QUARANTINED),
    StaleCode.DEVICE_MEMORY: lambda job, node: Device.objects.update(memory_total_mib=1000),
    StaleCode.CORES_UNAVAILABLE: lambda job, node: Node.objects.filter(pk=node.pk).update(facts={}),
    StaleCode.HOST_MEMORY: lambda job, node: Node.objects.filter(pk=node.pk).update(memory_mib=100),
}


@pytest.mark.parametrize("code", CHANGES)
def test_what_changed_meanwhile_is_refused_with_its_code(user, node, code):
    job, placed, context = decide(user, device_memory="10Gi", cores=2, memory="1Gi")
    CHANGES[code](job, node)
    before = epoch_of(node.pk)
    assert apply_placed(placed, context) is code
    assert not Placement.objects.exists() and not Slice.objects.exists() and not CoreBooking.objects.exists()
    stale = Decision.objects.get()
    assert (stale.outcome, stale.stale_code, stale.placement) == (Outcome.STALE, code, None)
    assert epoch_of(node.pk) == before
    assert Job.objects.get(pk=job.pk).status == JobStatus.PENDING


def test_an_observed_node_takes_nothing(user, node):
    _job, placed, context = decide(user, cores=1)
    Node.objects.update(observe_only=True)
    assert apply_placed(placed, context) is StaleCode.NODE_NOT_READY


def test_a_cordoned_device_takes_nothing(user, node):
    _job, placed, context = decide(user, devices=1)
    Device.objects.update(cordoned=True)
    assert apply_placed(placed, context) is StaleCode.DEVICE_UNAVAILABLE


def test_a_cancelled_job_is_not_started(user, node):
    job, placed, context = decide(user, cores=1)
    Job.objects.filter(pk=job.pk).update(intent=Intent.CANCEL)
    assert apply_placed(placed, context) is StaleCode.JOB_CHANGED


@pytest.mark.parametrize(
    "first,second",
    [({"devices": 1}, {"device_compute_milli": 250}), ({"device_compute_milli": 250}, {"devices": 1})],
)
def test_whole_and_shares_exclude_one_another(user, node, first, second):
    """C14: both were decided on the empty device; whoever comes second is refused."""
    one, two = decide(user, **first), decide(user, **second)
    assert apply_placed(one[1], one[2]) is None
    later = replace(two[1], cpus=(7,), loader_cpus=())
    assert apply_placed(later, two[2]) is StaleCode.DEVICE_BUSY
    assert Slice.objects.count() == 1


def test_shared_memory_is_checked_with_its_safety_factor(user, node):
    """20 + 20 GiB would fit 40 GiB, but not with the 1.2 of the pre-check."""
    one, two = decide(user, device_memory="20Gi"), decide(user, device_memory="20Gi")
    assert apply_placed(one[1], one[2]) is None
    assert apply_placed(replace(two[1], cpus=(7,), loader_cpus=()), two[2]) is StaleCode.DEVICE_MEMORY


@pytest.mark.parametrize("total", [40960, None])
def test_a_whole_device_in_foreign_use_is_refused(user, node, total):
    Device.objects.update(memory_total_mib=total)
    _job, placed, context = decide(user, devices=1)
    Device.objects.update(foreign_mib=500)
    assert apply_placed(placed, context) is StaleCode.DEVICE_MEMORY


def test_a_share_finds_only_what_its_neighbours_do_not_use(user, node):
    """10 + 20 GiB are booked of 40, but the first one uses 25 by now."""
    one, two = decide(user, device_memory="10Gi"), decide(user, device_memory="20Gi")
    assert apply_placed(one[1], one[2]) is None
    later = replace(two[1], cpus=(7,), loader_cpus=())
    DeviceReading.objects.create(device=node.devices.get(), at=clock.now(), memory_used_mib=25 * 1024)
    assert apply_placed(later, two[2]) is StaleCode.DEVICE_MEMORY
    DeviceReading.objects.update(memory_used_mib=10 * 1024)
    assert apply_placed(later, two[2]) is None


def test_engine_and_rows_agree_on_which_health_takes_jobs():
    assert {health.name.lower() for health in USABLE_HEALTH} == set(TAKES_JOBS)


def test_halves_by_compute_share_a_device(user, node):
    one, two = decide(user, device_compute_milli=500), decide(user, device_compute_milli=500)
    assert apply_placed(one[1], one[2]) is None
    assert apply_placed(replace(two[1], cpus=(7,), loader_cpus=()), two[2]) is None


def test_the_same_cores_are_not_given_twice(user, node):
    one, two = decide(user, cores=2), decide(user, cores=2)
    assert apply_placed(one[1], one[2]) is None
    assert apply_placed(two[1], two[2]) is StaleCode.CORES_BUSY


def test_the_rows_guard_themselves(user, node):
    """Were all checks gone, the constraints would still hold."""
    one = decide(user, devices=1, cores=1)
    apply_placed(one[1], one[2])
    placement = Placement.objects.get()
    for row in (
        Slice(placement=placement, device=node.devices.get(), memory_mib=1, compute_milli=1000),
        Slice(placement=placement, device=node.devices.get(), memory_mib=-1, compute_milli=1),
        CoreBooking(placement=placement, node=node, cpu=placement.cpus[0]),
        Placement(job=placement.job, attempt=9, node=node, fence=1),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            row.save(force_insert=True)

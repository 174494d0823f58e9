"""Gangs whose nodes report at the same moment, and that race for the same devices."""

from __future__ import annotations

import pytest

from queues.models import Job, JobEvent, JobStatus
from scheduling.apply import Applying, apply_placed
from scheduling.engine.plan import plan
from scheduling.gangs import keep_together
from scheduling.models import CoreBooking, Cycle, Placement, Slice
from scheduling.policy_bridge import current_policy
from scheduling.requests import RequestCache, load_pending
from scheduling.snapshot import SnapshotCache
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def user(transactional_db):
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def nodes(user):
    found = [make.make_node(cores=8) for _ in range(2)]
    for node in found:
        make.make_device(node)
    return found


def test_gangs_that_were_decided_alone_never_hold_a_part(user, nodes, at_once):
    """Each wants both devices, and so does one half of each what a single job wants."""
    pair = {"replicas": 2, "resources": {"devices": 1}}
    jobs = [
        make.make_job(user, **pair),
        make.make_job(user, **pair),
        make.make_job(user, resources={"devices": 1}),
    ]
    policy, state = current_policy(), SnapshotCache().refresh(now_ms=1, whole_every_ms=1)
    waiting = [one for one, _shape in load_pending(RequestCache())]
    decisions = [plan(state, [one], policy.engine, now_ms=1, seed=0).placed for one in waiting]
    lease = make.lease()
    shared = Applying(lease, Cycle.objects.create(fencing_token=lease.token), policy)
    at_once(*[lambda parts=parts: apply_placed(parts[0], shared, *parts[1:]) for parts in decisions] * 2)
    for job in jobs:
        count = Placement.objects.filter(job=job).count()
        assert count == (job.replicas if Job.objects.get(pk=job.pk).status == JobStatus.STARTING else 0)
    held = Slice.objects.values_list("device_id", flat=True)
    assert len(held) == len(set(held)) == Placement.objects.count() > 0


def test_replicas_that_end_at_once_end_the_job_once(user, nodes, at_once):
    job = make.make_job(user, replicas=2, resources={"devices": 1})
    make.run_cycle()
    both = list(Placement.objects.filter(job=job).select_related("node").order_by("replica"))
    at_once(*[lambda one=one: make.report(one.node, make.started(one)) for one in both])
    assert Job.objects.get().status == JobStatus.RUNNING
    ends = [lambda one=one: make.report(one.node, make.ended(one, code=4)) for one in both]
    at_once(*ends, keep_together, *ends)
    found = Job.objects.get()
    assert (found.status, found.exit_code) == (JobStatus.FAILED, 4)
    assert JobEvent.objects.filter(job=job, to_status="failed").count() == 1
    assert not Slice.objects.exists() and not CoreBooking.objects.exists()

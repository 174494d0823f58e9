"""Cycles that race, lose their lease, or die in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from django.db import connection
from django.db.models import Sum

from controlplane.base import locks
from controlplane.base.locks import LeaseLost
from controlplane.base.models import Lease
from queues.models import Job, JobStatus
from scheduling import apply, cycle
from scheduling.apply import Applying, apply_placed
from scheduling.cycle import Worker
from scheduling.engine.plan import plan
from scheduling.models import CoreBooking, Cycle, Decision, Outcome, Placement, Slice
from scheduling.policy_bridge import current_policy
from scheduling.requests import RequestCache, load_pending
from scheduling.snapshot import SnapshotCache
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def planned(worker: Worker | None = None):
    """What a cycle would decide now."""
    worker = worker or Worker(SnapshotCache(), RequestCache())
    policy = current_policy()
    jobs = [job for job, _shape in load_pending(worker.requests)]
    state = worker.snapshot.refresh(now_ms=1, whole_every_ms=1)
    return plan(state, jobs, policy.engine, now_ms=1, seed=0).placed, policy


def steal(name: str = locks.CYCLE_LEASE):
    """Another process takes the lease that this one still believes in."""
    Lease.objects.filter(name=name).update(expires_at=None)
    return make.lease(name)


def context(lease, policy) -> Applying:
    return Applying(lease, Cycle.objects.create(fencing_token=lease.token), policy)


def test_a_cycle_whose_lease_was_stolen_writes_nothing(user):
    make.make_node()
    make.make_job(user)
    placed, policy = planned()
    old = context(make.lease(), policy)
    steal()
    with pytest.raises(LeaseLost):
        apply_placed(placed[0], old)
    assert not Placement.objects.exists() and Job.objects.get().status == JobStatus.PENDING


def test_two_cycles_with_the_same_plan_book_once(user, at_once):
    """The guard holds even if both believed to hold the lease at the moment of applying."""
    node = make.make_node(cores=4)
    make.make_device(node)
    for _ in range(6):
        make.make_job(user, resources={"devices": 1})
    first, policy = planned()
    second = list(first)
    shared = context(make.lease(), policy)
    codes = at_once(*[lambda one=one: apply_placed(one, shared) for one in [*first, *second] * 4])
    assert sorted(str(code) for code in codes).count("None") == 1
    assert {str(c) for c in codes} <= {"None", "job-changed", "conflict"}
    assert Slice.objects.count() == 1


def test_decisions_from_an_old_snapshot_are_refused_by_the_rows(user, at_once):
    """Ten jobs, each decided alone on the empty cluster: every decision wants the same cores and device."""
    node = make.make_node(cores=2)
    make.make_device(node)
    jobs = [make.make_job(user, resources={"devices": 1}) for _ in range(10)]
    policy = current_policy()
    state = SnapshotCache().refresh(now_ms=1, whole_every_ms=1)
    waiting = [job for job, _shape in load_pending(RequestCache())]
    decisions = [plan(state, [job], policy.engine, now_ms=1, seed=0).placed[0] for job in waiting]
    shared = context(make.lease(), policy)
    codes = at_once(*[lambda one=one: apply_placed(one, shared) for one in decisions])
    assert [str(code) for code in codes].count("None") == 1
    assert Placement.objects.count() == 1 and CoreBooking.objects.count() == 1
    stale = Decision.objects.filter(outcome=Outcome.STALE)
    assert stale.count() == 9 and set(stale.values_list("stale_code", flat=True)) <= {
        "cores-busy",
        "device-busy",
    }
    assert len(jobs) == 10


def test_cycles_that_run_at_once_place_each_job_once(user, at_once):
    for _ in range(3):
        node = make.make_node(cores=8)
        for index in range(4):
            make.make_device(node, index=index)
    for number in range(40):
        make.make_job(user, resources={"devices": number % 2, "cores": 1 + number % 3})
    at_once(*[make.run_cycle] * 6)
    make.run_cycle()
    assert Placement.objects.count() == Job.objects.filter(status=JobStatus.STARTING).count()
    per_device = Slice.objects.values("device").annotate(total=Sum("compute_milli"))
    assert all(row["total"] <= 1000 for row in per_device)
    assert CoreBooking.objects.count() == sum(len(p.cpus) for p in Placement.objects.all())


def test_a_wake_during_a_cycle_is_not_lost(user, monkeypatch):
    make.make_node(cores=2)
    make.make_job(user)
    late = []

    def submit_meanwhile(*args, **kwargs):
        if not late:
            late.append(make.make_job(user))
            locks.bump_wake(locks.CYCLE_LEASE)
        return apply_placed(*args, **kwargs)

    monkeypatch.setattr(cycle, "apply_placed", submit_meanwhile)
    assert make.run_cycle() == 2
    assert Job.objects.filter(status=JobStatus.STARTING).count() == 2


def test_a_second_delivery_of_the_task_does_nothing(user):
    make.make_node(cores=2)
    make.make_job(user)
    make.run_cycle()
    before = list(Placement.objects.values())
    make.run_cycle()
    assert list(Placement.objects.values()) == before


DYING_WORKER = """
import os, sys
import django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = sys.argv[1]
from scheduling import apply, cycle
book = apply._insert
count = 0
def dying(placed):
    global count
    placement = book(placed)
    count += 1
    if count == 3:
        print("in the middle", flush=True)
        sys.stdin.readline()
    return placement
apply._insert = dying
cycle.run_cycles("dying")
"""


def test_a_worker_killed_while_applying_books_nothing_halfway(user):
    node = make.make_node(cores=8)
    for index in range(6):
        make.make_device(node, index=index)
    for _ in range(6):
        make.make_job(user, resources={"devices": 1})
    worker = subprocess.Popen(
        [sys.executable, "-c", DYING_WORKER, connection.settings_dict["NAME"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "controlplane.settings.test"},
        text=True,
    )
    with worker:
        assert worker.stdout is not None and worker.stdout.readline() == "in the middle\n"
        worker.send_signal(signal.SIGKILL)
    assert Placement.objects.count() == 2 == Job.objects.filter(status=JobStatus.STARTING).count()
    kept = list(Placement.objects.order_by("pk").values("pk", "job", "cpus"))
    # The dead worker's lease runs out by itself; nobody waits for that here.
    Lease.objects.filter(name=locks.CYCLE_LEASE).update(expires_at=None)
    deadline = time.monotonic() + 20
    while Placement.objects.count() < 6 and time.monotonic() < deadline:
        make.run_cycle()
    assert list(Placement.objects.order_by("pk").values("pk", "job", "cpus"))[:2] == kept
    assert Slice.objects.values("device").distinct().count() == Slice.objects.count() == 6
    assert apply.MOST_TRIES >= 1

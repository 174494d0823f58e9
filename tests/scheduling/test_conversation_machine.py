"""Random histories with preemption, suspension, edits of quotas and servers that die in the middle: nothing is held
twice or for ever, and all of it comes to rest once everybody answers.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from itertools import count
from typing import Any
from unittest.mock import patch

import hypothesis
import pytest
from django.db import connection
from django.db.transaction import Atomic
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule, run_state_machine_as_test

from agent.protocol import Checkpoint, ExitReason, TaskPhase, Want
from controlplane.base import clock
from controlplane.base.problems import Problem
from inventory.models import Node, NodeState
from queues.models import Job, JobStatus, Queue
from scheduling import operations
from scheduling.backends.agent import desired_set
from scheduling.evacuation import reconcile
from scheduling.models import LIVE_PHASES, Hold, Phase, Placement
from tests.scheduling import factories as make
from tests.scheduling.test_lifecycle_machine import Cluster

ASKABLE: dict[str, Any] = {"queue": "offline", "checkpoint": {"signal": "USR1", "timeout_s": 30}}
ROUNDS_TO_REST = 40


class Killed(BaseException):
    """The server died."""


class Conversations(Cluster):
    """Agents answer askings in any order, late, twice or with bad news, and people change their minds meanwhile."""

    @initialize(running=st.integers(0, 4))
    def begin(self, running):
        """As many jobs run that would yield."""
        Cluster.begin(self)
        for _ in range(running):
            make.make_job(self.user, **ASKABLE, resources={"devices": 1})
        self.everybody_does_as_told()

    @rule(devices=st.integers(1, 2), replicas=st.sampled_from([1, 1, 2]))
    def submit_what_yields(self, devices, replicas):
        make.make_job(self.user, **ASKABLE, resources={"devices": devices}, replicas=replicas)
        make.run_cycle()

    @rule(devices=st.integers(1, 2), replicas=st.sampled_from([1, 1, 2]))
    def submit_what_is_urgent(self, devices, replicas):
        make.make_job(self.user, queue="inference", resources={"devices": devices}, replicas=replicas)
        make.run_cycle()

    @rule()
    def everybody_does_as_told(self):
        make.run_cycle()
        for placement in Placement.objects.filter(phase__in=LIVE_PHASES).select_related("node"):
            obey(placement)

    @rule(transactions=st.integers(1, 25))
    def schedule_and_die(self, transactions):
        """What was committed stays, the transaction under way does not."""
        begin, begun = Atomic.__enter__, count(1)

        def counted(atomic):
            if next(begun) > transactions:
                raise Killed
            begin(atomic)

        with patch.object(Atomic, "__enter__", counted), suppress(Killed):
            make.run_cycle()

    @rule()
    def look_after_nodes(self):
        reconcile()

    @precondition(lambda self: Placement.objects.filter(phase__in=LIVE_PHASES).exists())
    @rule(data=st.data())
    def agent_obeys(self, data):
        live = Placement.objects.filter(phase__in=LIVE_PHASES).select_related("node").order_by("pk")
        obey(data.draw(st.sampled_from(list(live))))

    @precondition(lambda self: bool(asked()))
    @rule(data=st.data(), problem=st.sampled_from(["", "disk full"]), shift=st.sampled_from([-1, 0, 0, 1]))
    def agent_answers(self, data, problem, shift):
        placement = data.draw(st.sampled_from(asked()))
        number = told(placement).checkpoint_asked + shift
        for _ in range(data.draw(st.sampled_from([1, 2]))):
            answer(placement, number, problem)

    @rule(seconds=st.sampled_from([3, 121, 700]))
    def time_passes(self, seconds):
        by = timedelta(seconds=seconds)
        for one in Placement.objects.exclude(stopping_at=None):
            Placement.objects.filter(pk=one.pk).update(stopping_at=one.stopping_at - by)
        for one in Placement.objects.exclude(spared_until=None):
            Placement.objects.filter(pk=one.pk).update(spared_until=one.spared_until - by)
        for hold in Hold.objects.all():
            Hold.objects.filter(pk=hold.pk).update(until=hold.until - by)

    @precondition(lambda self: Job.objects.exists())
    @rule(
        data=st.data(),
        name=st.sampled_from(["suspend_job", "resume_job", "hold_job", "release_job", "requeue_job"]),
        lose_work=st.booleans(),
    )
    def person_asks(self, data, name, lose_work):
        job = data.draw(st.sampled_from(list(Job.objects.order_by("pk"))))
        more = {"lose_work": lose_work} if name in ("suspend_job", "requeue_job") else {}
        with suppress(Problem):
            getattr(operations, name)(job.pk, actor="ada", **more)

    @rule(quota_ppm=st.sampled_from([0, 250_000, 500_000, None]), borrow=st.booleans())
    def quota_is_edited(self, quota_ppm, borrow):
        Queue.objects.filter(name="offline").update(quota_ppm=quota_ppm, borrow=borrow)

    @rule(data=st.data())
    def node_is_emptied(self, data):
        node = data.draw(st.sampled_from(self.nodes))
        Node.objects.filter(pk=node.pk, state=NodeState.READY).update(
            state=NodeState.DRAINING, drain_deadline=clock.now()
        )

    @invariant()
    def nothing_is_held_twice(self):
        milli: Counter[int] = Counter()
        for hold in Hold.objects.all():
            milli.update({part["device"]: part["compute_milli"] for part in hold.place["slices"]})
        assert all(held <= 1000 for held in milli.values())
        assert not Hold.objects.exclude(beneficiary__status=JobStatus.PENDING).exists() or self._settles()

    def _settles(self) -> bool:
        """A beneficiary that no longer waits keeps nothing beyond the next cycle."""
        make.run_cycle()
        return not Hold.objects.exclude(beneficiary__status=JobStatus.PENDING).exists()

    @invariant()
    def who_is_suspended_has_nothing(self):
        suspended = Placement.objects.filter(job__status=JobStatus.SUSPENDED, phase__in=LIVE_PHASES)
        assert not suspended.exists()

    def teardown(self):
        try:
            self._comes_to_rest()
        finally:
            super().teardown()

    def _comes_to_rest(self):
        if not hasattr(self, "nodes"):
            return
        Node.objects.update(state=NodeState.READY, drain_deadline=None)
        before = None
        for _ in range(ROUNDS_TO_REST):
            self.everybody_does_as_told()
            reconcile()
            now = (
                sorted(Job.objects.values_list("pk", "status", "attempt")),
                sorted(Placement.objects.values_list("pk", "phase")),
                Hold.objects.count(),
            )
            if now == before:
                break
            before = now
        else:
            raise AssertionError(f"not at rest after {ROUNDS_TO_REST} rounds: {before}")
        assert not Hold.objects.exists()
        moving = [JobStatus.STARTING, JobStatus.SUSPENDING, JobStatus.PREEMPTING]
        assert not Job.objects.filter(status__in=moving).exists(), before
        self.the_books_balance()


def told(placement: Placement) -> Any:
    return next(one for one in desired_set(placement.node)[1] if one.placement == placement.pk)


def asked() -> list[Placement]:
    """What was asked for a checkpoint, answered or not."""
    live = Placement.objects.filter(phase__in=LIVE_PHASES).select_related("node").order_by("pk")
    return [one for one in live if told(one).checkpoint_asked is not None]


def answer(placement: Placement, number: int, problem: str = "") -> None:
    path = "" if problem else f"/shared/{placement.attempt}-{placement.replica}"
    made = Checkpoint(path=path, made_at_ms=1, asked=number, problem=problem)
    make.report(placement.node, make.task(placement, TaskPhase.RUNNING, started_at_ms=1000, checkpoint=made))


def obey(placement: Placement) -> None:
    """The agent does what it is told."""
    want = told(placement)
    if want.want is Want.STOP or placement.phase == Phase.STOPPING:
        ended = make.ended(placement, exit_code=None, signal=15, reason=ExitReason.STOPPED)
        make.report(placement.node, ended)
    elif want.checkpoint_asked is not None:
        answer(placement, want.checkpoint_asked)
    elif placement.phase != Phase.RUNNING:
        make.report(placement.node, make.started(placement))


@pytest.mark.django_db
def test_random_conversations_come_to_rest():
    assert connection.in_atomic_block
    run_state_machine_as_test(
        Conversations,
        settings=settings(
            max_examples=15,
            stateful_step_count=30,
            deadline=None,
            phases=(hypothesis.Phase.explicit, hypothesis.Phase.reuse, hypothesis.Phase.generate),
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )

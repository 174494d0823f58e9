"""Random histories on a real database: the books always balance, and nothing comes back to life."""

from __future__ import annotations

import hypothesis
import pytest
from django.db import connection, transaction
from django.db.models import Sum
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agent.protocol import ExitReason, TaskPhase, Want
from inventory.models import Node, NodeContact, NodeState
from queues.models import FINAL_STATUSES, Job, JobEvent, JobStatus
from scheduling.backends.agent import desired_set
from scheduling.losses import declare_lost_nodes
from scheduling.models import LIVE_PHASES, CoreBooking, Phase, Placement, Slice
from scheduling.operations import cancel_job
from tests.scheduling import factories as make

ENDS = st.sampled_from(
    [
        (ExitReason.EXITED, 0),
        (ExitReason.EXITED, 3),
        (ExitReason.SIGNALLED, None),
        (ExitReason.START_FAILED, None),
        (ExitReason.LOST_PROCESS, None),
        (ExitReason.TIME_LIMIT, None),
    ]
)
RESOURCES = st.sampled_from(
    [
        {},
        {"cores": 2},
        {"devices": 1},
        {"devices": 2, "cores": 2},
        {"device_memory": "10Gi", "shareable": True},
    ]
)


# Who is asked for a checkpoint runs until it is told to stop.
PRESENT = (JobStatus.STARTING, JobStatus.RUNNING, JobStatus.SUSPENDING, JobStatus.PREEMPTING)


class Cluster(RuleBasedStateMachine):
    """What may happen to a small cluster, and what always holds."""

    @initialize()
    def begin(self):
        self.savepoint = transaction.savepoint()
        make.make_queues()
        self.user = make.make_user(f"u{make.next_number()}", team=make.make_team())
        self.nodes = [make.make_node(cores=4) for _ in range(2)]
        for node in self.nodes:
            NodeContact.objects.create(node=node)
            for index in range(2):
                make.make_device(node, index=index)
        self.epochs = {node.pk: 0 for node in self.nodes}
        self.finals = {}

    def teardown(self):
        if hasattr(self, "savepoint"):
            transaction.savepoint_rollback(self.savepoint)

    @rule()
    def schedule(self):
        make.run_cycle()

    @precondition(lambda self: Job.objects.exists())
    @rule(data=st.data())
    def cancel(self, data):
        job = data.draw(st.sampled_from(list(Job.objects.order_by("pk"))))
        cancel_job(job.pk, actor="ada")

    @rule(data=st.data())
    def node_is_lost(self, data):
        node = data.draw(st.sampled_from(self.nodes))
        Node.objects.filter(pk=node.pk).update(state=NodeState.LOST, revision=node.revision + 1)
        declare_lost_nodes()
        assert not Placement.objects.filter(node=node, phase__in=LIVE_PHASES).exists()
        assert desired_set(node)[1] == []

    @rule(data=st.data())
    def node_returns(self, data):
        Node.objects.filter(pk=data.draw(st.sampled_from(self.nodes)).pk).update(state=NodeState.READY)

    def _any_placement(self, data) -> Placement:
        return data.draw(st.sampled_from(list(Placement.objects.select_related("node").order_by("pk"))))

    def _other(self, node):
        return next(other for other in self.nodes if other.pk != node.pk)

    @invariant()
    def the_books_balance(self):
        for row in Slice.objects.values("device").annotate(
            milli=Sum("compute_milli"), memory=Sum("memory_mib")
        ):
            assert row["milli"] <= 1000 and row["memory"] <= 40960
        assert not Slice.objects.exclude(placement__phase__in=LIVE_PHASES).exists()
        assert not CoreBooking.objects.exclude(placement__phase__in=LIVE_PHASES).exists()
        for placement in Placement.objects.filter(phase__in=LIVE_PHASES):
            assert sorted(placement.core_bookings.values_list("cpu", flat=True)) == sorted(placement.cpus)

    @invariant()
    def status_follows_placements(self):
        for job in Job.objects.all():
            present = list(Placement.objects.filter(job=job, attempt=job.attempt))
            live = Placement.objects.filter(job=job, phase__in=LIVE_PHASES)
            # All of a gang are placed, or none.
            assert len(present) in (0, job.replicas)
            if job.status == JobStatus.PENDING:
                assert not present and not live.exists()
            if job.status in (JobStatus.STARTING, JobStatus.RUNNING):
                assert any(one.phase in LIVE_PHASES for one in present)
                assert (job.status == JobStatus.RUNNING) == all(one.running_at for one in present)

    @invariant()
    def the_end_is_the_end(self):
        for job in Job.objects.filter(status__in=FINAL_STATUSES):
            facts = (job.status, job.attempt, job.exit_code, job.finished_at)
            assert self.finals.setdefault(job.pk, facts) == facts

    @invariant()
    def events_tell_the_whole_story(self):
        for job in Job.objects.all():
            told = list(JobEvent.objects.filter(job=job).order_by("pk"))
            assert [e.from_status for e in told[1:]] == [e.to_status for e in told[:-1]]
            assert told[-1].to_status == job.status

    @invariant()
    def only_the_present_attempt_runs(self):
        for node in self.nodes:
            epoch, assignments = desired_set(node)
            assert epoch >= self.epochs[node.pk]
            self.epochs[node.pk] = epoch
            for assignment in assignments:
                job = Job.objects.get(pk=assignment.job)
                wanted = job.status in PRESENT
                phase = Placement.objects.get(pk=assignment.placement).phase
                assert (assignment.want is Want.RUN) == (wanted and phase != Phase.STOPPING)


class Histories(Cluster):
    """Agents answer in any order, late, twice, or for others."""

    @rule(resources=RESOURCES, retries=st.integers(0, 2), replicas=st.sampled_from([1, 1, 2]))
    def submit(self, resources, retries, replicas):
        make.make_job(self.user, resources=resources, max_retries=retries, replicas=replicas)

    @precondition(lambda self: Placement.objects.exists())
    @rule(data=st.data(), phase=st.sampled_from([TaskPhase.PREPARING, TaskPhase.RUNNING, TaskPhase.STOPPING]))
    def agent_reports(self, data, phase):
        placement = self._any_placement(data)
        make.report(placement.node, make.task(placement, phase, started_at_ms=5, pid=1, uid=2))

    @precondition(lambda self: Placement.objects.exists())
    @rule(data=st.data(), end=ENDS, twice=st.booleans())
    def agent_ends(self, data, end, twice):
        placement = self._any_placement(data)
        reason, code = end
        state = make.ended(placement, reason=reason, exit_code=code)
        make.report(placement.node, state)
        if twice:
            assert make.report(placement.node, state) == 0

    @precondition(lambda self: Placement.objects.exists())
    @rule(data=st.data(), shift=st.sampled_from([-1, 1]))
    def stranger_answers(self, data, shift):
        placement = self._any_placement(data)
        assert make.report(placement.node, make.ended(placement, fence=placement.fence + shift)) == 0
        assert make.report(self._other(placement.node), make.ended(placement)) == 0


@pytest.mark.django_db
def test_random_histories_keep_the_books():
    assert connection.in_atomic_block
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=15,
            stateful_step_count=20,
            deadline=None,
            # Shrinking a failing history takes minutes on a database; the seed is printed.
            phases=(hypothesis.Phase.explicit, hypothesis.Phase.reuse, hypothesis.Phase.generate),
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )

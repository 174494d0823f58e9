"""Gangs: all replicas get a place or none, they run together and fall together."""

from __future__ import annotations

from typing import Any

import pytest

from agent.protocol import Checkpoint, ExitReason, Pressure, PressureKind, TaskPhase, Want
from controlplane.alerts.models import Alert
from controlplane.base import clock
from controlplane.base.problems import Problem
from inventory.models import Device, DeviceHealth, Node, NodeContact, NodeState
from inventory.operations import change_node_state
from queues.events import event_text
from queues.models import Job, JobEvent, JobStatus
from scheduling import gangs
from scheduling.apply import Applying, StaleCode, apply_placed
from scheduling.backends.agent import desired_set
from scheduling.engine.plan import plan
from scheduling.evacuation import reconcile
from scheduling.losses import declare_lost_nodes
from scheduling.models import CoreBooking, Cycle, Decision, Phase, Placement, ShapeReason, Slice
from scheduling.operations import cancel_job, requeue_job, suspend_job
from scheduling.policy_bridge import current_policy
from scheduling.requests import RequestCache, load_pending
from scheduling.selectors.jobs import job_placements, job_view, with_people
from scheduling.snapshot import SnapshotCache
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
PAIR: dict[str, Any] = {"replicas": 2, "resources": {"devices": 1}}
WAY: dict[str, Any] = {**PAIR, "checkpoint": {"signal": "USR1", "timeout_s": 30}}


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def nodes(user):
    """Two, with one device each, so that a gang of two needs both."""
    found = [make.make_node(name, cores=8) for name in ("n1", "n2")]
    for node in found:
        make.make_device(node)
    return found


def fresh(job: Job) -> Job:
    return Job.objects.get(pk=job.pk)


def placed(user, **changes) -> tuple[Job, list[Placement]]:
    job = make.make_job(user, **{**PAIR, **changes})
    make.run_cycle()
    return fresh(job), replicas(job)


def running(user, **changes) -> tuple[Job, list[Placement]]:
    job, both = placed(user, **changes)
    for one in both:
        make.report(one.node, make.started(one))
    return fresh(job), replicas(job)


def replicas(job: Job) -> list[Placement]:
    """Those of the last attempt."""
    rows = Placement.objects.filter(job=job).select_related("node").order_by("-attempt", "replica")
    return sorted(rows[: job.replicas], key=lambda one: one.replica)


def phases(job: Job) -> list[str]:
    return [one.phase for one in replicas(job)]


def told(placement: Placement):
    return next(one for one in desired_set(placement.node)[1] if one.placement == placement.pk)


def stopped(placement: Placement) -> None:
    make.report(placement.node, make.ended(placement, exit_code=None, signal=15, reason=ExitReason.STOPPED))


def answer(placement: Placement, **said) -> None:
    """The agent says what became of the asking for a checkpoint."""
    path = f"/shared/{placement.attempt}-{placement.replica}"
    said = {"path": path, "made_at_ms": 1, "asked": told(placement).checkpoint_asked, **said}
    state = make.task(placement, TaskPhase.RUNNING, started_at_ms=1000, checkpoint=Checkpoint(**said))
    make.report(placement.node, state)


def last_text(job: Job) -> str:
    return event_text(JobEvent.objects.filter(job=job).latest("pk"))


def test_all_replicas_start_together_and_end_as_one(user, nodes):
    job, both = placed(user)
    assert job.status == JobStatus.STARTING and [one.node for one in both] == nodes
    assert Decision.objects.filter(job=job, placement__in=both).count() == 2
    make.report(nodes[1], make.started(both[1]))
    assert fresh(job).status == JobStatus.STARTING, "one of two runs"
    make.report(nodes[0], make.started(both[0]))
    assert fresh(job).status == JobStatus.RUNNING
    make.report(nodes[0], make.ended(both[0]))
    make.run_cycle()
    assert fresh(job).status == JobStatus.RUNNING and told(both[1]).want is Want.RUN
    make.report(nodes[1], make.ended(both[1]))
    assert (fresh(job).status, fresh(job).exit_code) == (JobStatus.SUCCEEDED, 0)
    assert last_text(job) == "Ended by itself without an error."
    assert not Slice.objects.exists() and not CoreBooking.objects.exists()


def test_a_gang_on_one_node(user):
    node = make.make_node(cores=8)
    for index in range(2):
        make.make_device(node, index=index)
    _job, both = running(user)
    assert [one.node for one in both] == [node, node]
    assert len({one.device_id for one in Slice.objects.all()}) == 2
    assert [one.replica for one in desired_set(node)[1]] == [0, 1]


def test_a_gang_that_does_not_fit_as_a_whole_holds_nothing(user, nodes):
    Device.objects.filter(node=nodes[1]).update(cordoned=True)
    job, both = placed(user)
    assert (job.status, both) == (JobStatus.PENDING, [])
    assert not Slice.objects.exists() and not CoreBooking.objects.exists()
    assert ShapeReason.objects.get().shape == job.shape
    Device.objects.update(cordoned=False)
    Node.objects.filter(pk=nodes[1].pk).update(revision=99)
    make.run_cycle()
    assert fresh(job).status == JobStatus.STARTING and len(replicas(job)) == 2


def test_one_replica_that_the_rows_refuse_keeps_all_from_starting(user, nodes):
    job = make.make_job(user, **PAIR)
    policy, state = current_policy(), SnapshotCache().refresh(now_ms=1, whole_every_ms=1)
    waiting = [one for one, _shape in load_pending(RequestCache())]
    parts = plan(state, waiting, policy.engine, now_ms=1, seed=0).placed
    lease = make.lease("test-gang")
    context = Applying(lease, Cycle.objects.create(fencing_token=lease.token), policy)
    assert [part.replica for part in parts] == [0, 1]
    assert apply_placed(parts[0], context) is StaleCode.JOB_CHANGED, "half a gang"
    Device.objects.filter(node=nodes[1]).update(health=DeviceHealth.QUARANTINED)
    assert apply_placed(parts[0], context, parts[1]) is StaleCode.DEVICE_UNAVAILABLE
    assert not Placement.objects.exists() and not Slice.objects.exists() and not CoreBooking.objects.exists()
    assert fresh(job).status == JobStatus.PENDING


def test_each_replica_learns_its_rank_and_where_the_others_are(user, nodes):
    _job, both = placed(user, env={"SEED": "7"})
    first, second = (told(one).env for one in both)
    meeting = first["HEADRACE_RENDEZVOUS"]
    host, port = meeting.split(":")
    assert host == "n1" and 20_000 <= int(port) < 30_000 and second["HEADRACE_RENDEZVOUS"] == meeting
    assert [env["HEADRACE_RANK"] for env in (first, second)] == ["0", "1"]
    for env in (first, second):
        assert (env["HEADRACE_PEERS"], env["HEADRACE_WORLD_SIZE"], env["SEED"]) == ("n1,n2", "2", "7")
    single = make.make_job(user)
    make.run_cycle()
    alone = told(Placement.objects.get(job=single))
    assert alone.replica is None and "HEADRACE_RANK" not in alone.env


def test_the_first_failure_ends_the_others_and_is_the_cause(user, nodes):
    job, both = running(user)
    make.report(nodes[1], make.ended(both[1], code=3))
    assert fresh(job).status == JobStatus.RUNNING, "the other one still holds its place"
    assert last_text(job) == "Replica 1 on n2: Ended with exit code 3. The other replicas are stopped."
    make.run_cycle()
    assert phases(job) == [Phase.STOPPING, Phase.RELEASED] and told(both[0]).want is Want.STOP
    stopped(both[0])
    assert (fresh(job).status, fresh(job).exit_class, fresh(job).exit_code) == ("failed", "exit-code", 3)
    assert last_text(job) == "Replica 1 on n2: Ended with exit code 3."
    assert replicas(job)[0].stop_reason == gangs.FELL and not Slice.objects.exists()


def test_a_failure_before_all_have_started_ends_the_gang(user, nodes):
    job, both = placed(user, max_retries=1)
    make.report(nodes[0], make.started(both[0]))
    ended = make.ended(
        both[1], exit_code=None, reason=ExitReason.START_FAILED, started_at_ms=None, message="x"
    )
    make.report(nodes[1], ended)
    make.run_cycle()
    stopped(both[0])
    assert (fresh(job).status, fresh(job).attempt, fresh(job).retries_left) == ("pending", 2, 0)
    make.run_cycle()
    assert [one.attempt for one in replicas(job)] == [2, 2]


def test_a_lost_node_costs_no_retry_though_the_others_failed_first(user, nodes):
    """Who waits for a peer that is gone ends with an error, long before the node of that one is given up."""
    job, both = running(user)
    make.report(nodes[0], make.ended(both[0], code=1))
    make.run_cycle()
    assert phases(job) == [Phase.RELEASED, Phase.STOPPING]
    Node.objects.filter(pk=nodes[1].pk).update(state=NodeState.LOST, revision=50)
    declare_lost_nodes()
    assert (fresh(job).status, fresh(job).attempt, fresh(job).requeues_left) == ("pending", 2, 4)
    make.run_cycle()
    assert fresh(job).status == JobStatus.PENDING and not Slice.objects.exists(), "one node is not enough"
    Node.objects.filter(pk=nodes[1].pk).update(state=NodeState.READY, revision=51)
    make.run_cycle()
    assert fresh(job).status == JobStatus.STARTING


def test_a_lost_node_stops_the_others(user, nodes):
    job, both = running(user)
    Node.objects.filter(pk=nodes[0].pk).update(state=NodeState.LOST, revision=50)
    declare_lost_nodes()
    assert fresh(job).status == JobStatus.RUNNING
    make.run_cycle()
    assert phases(job) == [Phase.LOST, Phase.STOPPING]
    stopped(both[1])
    job = fresh(job)
    assert (job.status, job.attempt, job.requeues_left, job.retries_left) == ("pending", 2, 4, 0)
    assert last_text(job).startswith("Replica 0 on n1: Its node stopped reporting")


def test_a_paused_cluster_lets_gangs_fall_all_the_same(user, nodes):
    job, both = running(user)
    make.report(nodes[1], make.ended(both[1], code=3))
    assert gangs.keep_together() == 1 and gangs.keep_together() == 0
    assert phases(job) == [Phase.STOPPING, Phase.RELEASED]


def test_a_failed_device_of_one_is_avoided_by_all(user, nodes):
    job, both = running(user)
    Device.objects.filter(node=nodes[1]).update(health=DeviceHealth.QUARANTINED, fatal=True)
    make.run_cycle()
    assert phases(job) == [Phase.STOPPING, Phase.STOPPING]
    for one in both:
        stopped(one)
    job = fresh(job)
    assert (job.status, job.requeues_left) == ("pending", 4)
    assert job.excluded_devices == list(nodes[1].devices.values_list("pk", flat=True))


def test_a_gang_leaves_an_emptied_node_as_a_whole_and_returns_as_a_whole(user, nodes):
    """C26: a stranger has one of its places by then; nothing of the gang lives until it has all of them."""
    NodeContact.objects.create(node=nodes[1])
    job, both = running(user)
    change_node_state(nodes[1], "drain", reason="fans", drain_deadline=clock.now())
    assert reconcile() == 2
    assert phases(job) == [Phase.STOPPING, Phase.STOPPING]
    for one in both:
        stopped(one)
    stranger = make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    change_node_state(nodes[1], "uncordon", reason="mended")
    make.run_cycle()
    assert (fresh(job).status, fresh(stranger).status) == ("pending", "starting")
    assert Slice.objects.count() == 1, "what the gang cannot use as a whole it does not keep"
    (other,) = Placement.objects.filter(job=stranger)
    make.report(other.node, make.started(other))
    make.report(other.node, make.ended(other))
    make.run_cycle()
    assert fresh(job).status == JobStatus.STARTING
    assert [(one.attempt, one.phase) for one in replicas(job)] == [(2, Phase.ASSIGNED)] * 2


def test_cancelling_stops_all(user, nodes):
    job, both = running(user)
    assert cancel_job(job.pk, actor="ada")
    assert fresh(job).status == JobStatus.CANCELLED
    assert [told(one).want for one in both] == [Want.STOP, Want.STOP]
    for one in both:
        stopped(one)
    assert fresh(job).status == JobStatus.CANCELLED and not Slice.objects.exists()


def test_a_suspended_gang_leaves_when_all_have_saved(user, nodes):
    job, both = running(user, **WAY)
    assert suspend_job(job.pk, actor="ada")
    answer(both[0])
    answer(both[0])
    make.run_cycle()
    assert phases(job) == [Phase.CHECKPOINTING, Phase.CHECKPOINTING], "one is not all"
    answer(both[1])
    make.run_cycle()
    assert phases(job) == [Phase.STOPPING, Phase.STOPPING]
    for one in both:
        stopped(one)
    job = fresh(job)
    assert (job.status, job.attempt, job.requeues_left) == (JobStatus.SUSPENDED, 2, 5)


def test_a_checkpoint_that_one_cannot_make_lets_all_run_on(user, nodes):
    job, both = running(user, **WAY)
    suspend_job(job.pk, actor="ada")
    answer(both[0])
    answer(both[1], path="", problem="disk full")
    make.run_cycle()
    assert phases(job) == [Phase.RUNNING, Phase.RUNNING] and fresh(job).status == JobStatus.RUNNING
    assert replicas(job)[0].saved_at is None and told(both[0]).checkpoint_asked is None


def test_each_replica_goes_on_from_its_own_checkpoint(user, nodes):
    job, both = running(user, **WAY)
    assert requeue_job(job.pk, actor="ada")
    for one in both:
        answer(one)
    make.run_cycle()
    for one in both:
        stopped(one)
    assert (fresh(job).status, fresh(job).attempt, fresh(job).requeues_left) == ("pending", 2, 5)
    make.run_cycle()
    again = replicas(job)
    assert [told(one).resume_from for one in again] == ["/shared/1-0", "/shared/1-1"]


def test_a_gang_that_has_not_wholly_started_is_stopped_without_asking(user, nodes):
    job, both = placed(user, **WAY)
    make.report(nodes[0], make.started(both[0]))
    assert suspend_job(job.pk, actor="ada", lose_work=False)
    assert phases(job) == [Phase.STOPPING, Phase.STOPPING]


def test_a_gang_yields_as_a_whole_to_a_more_urgent_job(user, nodes):
    job, both = running(user, **WAY, queue="offline")
    urgent = make.make_job(user, queue="inference", resources={"devices": 1, "device_memory": "30Gi"})
    make.run_cycle()
    assert (fresh(job).status, phases(job)) == ("preempting", [Phase.CHECKPOINTING, Phase.CHECKPOINTING])
    answer(both[1])
    answer(both[0])
    make.run_cycle()
    for one in both:
        stopped(one)
    make.run_cycle()
    assert (fresh(job).status, fresh(job).attempt, fresh(job).requeues_left) == ("pending", 2, 5)
    assert fresh(urgent).status == JobStatus.STARTING


def test_a_victim_of_which_one_cannot_save_keeps_its_whole_place(user, nodes):
    job, both = running(user, **WAY, queue="offline")
    make.make_job(user, queue="inference", resources={"devices": 1, "device_memory": "30Gi"})
    make.run_cycle()
    answer(both[0])
    answer(both[1], path="", problem="disk full")
    make.run_cycle()
    assert (fresh(job).status, phases(job)) == ("running", [Phase.RUNNING, Phase.RUNNING])
    assert all(one.spared_until is not None and one.yields_to is None for one in replicas(job))


def test_memory_of_one_replica_is_not_cleared_by_another(user, nodes):
    _job, both = running(user)
    near = Pressure(kind=PressureKind.NEAR, used_mib=95, booked_mib=100)
    make.report(nodes[0], make.task(both[0], TaskPhase.RUNNING, started_at_ms=1000, pressures=[near]))
    make.report(nodes[1], make.started(both[1]))
    assert Alert.objects.get().cleared_at is None
    make.report(nodes[0], make.started(both[0]))
    assert Alert.objects.get().cleared_at is not None


def test_the_job_page_finds_every_replica(user, nodes):
    job, _both = running(user)
    found = job_placements(job.pk)
    assert [(one["replica"], one["node"]["name"], len(one["devices"])) for one in found] == [
        (0, "n1", 1),
        (1, "n2", 1),
    ]
    view = job_view(with_people(Job.objects.filter(pk=job.pk)).get())
    assert (view["node"]["name"], view["spec"]["replicas"]) == ("n1", 2)


@pytest.mark.parametrize("wrong", [0, -1, 257, "2", 1.5, True, []])
def test_an_impossible_number_of_replicas_is_refused_by_name(user, wrong):
    with pytest.raises(Problem) as refused:
        make.make_job(user, replicas=wrong)
    assert [error.field for error in refused.value.errors] == ["replicas"]


def test_an_array_of_gangs(user, nodes):
    make.make_job(user, **PAIR, array={"tasks": 2})
    make.run_cycle()
    assert sorted(Job.objects.values_list("status", "replicas")) == [("pending", 2), ("starting", 2)]
    assert Placement.objects.count() == 2

"""Jobs leave devices that failed for good and nodes that are emptied; owners hear of devices that left or shrank."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine

from agent.protocol import Check, CheckResult, ExitReason, TaskPhase, Want
from controlplane.alerts.models import Alert
from controlplane.base import clock
from controlplane.base.problems import Problem
from inventory.device_health import observe_checks
from inventory.health import Thresholds
from inventory.models import Device, DeviceHealth, Node, NodeContact, NodeState
from inventory.operations import change_node_state, forget_device, release_device
from queues.events import event_text
from queues.models import ExitClass, Job, JobEvent, JobStatus
from scheduling import evacuation
from scheduling.backends.agent import desired_set
from scheduling.bookings import locked_live
from scheduling.evacuation import move_off_failed_devices, reconcile, tell_of_missing
from scheduling.losses import declare_lost
from scheduling.models import CoreBooking, Phase, Placement, Slice
from scheduling.operations import cancel_job
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
THRESHOLDS = Thresholds()
STOPPED = {"code": None, "reason": ExitReason.STOPPED}


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def node(user) -> Node:
    node = make.make_node(cores=8)
    NodeContact.objects.create(node=node)
    for index in range(2):
        make.make_device(node, index=index)
    return node


def running(user, node: Node, **changes) -> tuple[Job, Placement, Device]:
    job = make.make_job(user, **{"resources": {"devices": 1}, **changes})
    make.run_cycle()
    placement = Placement.objects.filter(job=job).latest("pk")
    make.report(node, make.started(placement))
    return job, placement, placement.slices.get().device


def check(
    device: Device, result: CheckResult, *, times: int = 1, thresholds: Thresholds = THRESHOLDS
) -> None:
    for _ in range(times):
        device.refresh_from_db()
        observe_checks([device], [Check(device.identity, result, "xid-79", "raw")], thresholds)


def waiting_for_its_failed_device(user, node: Node) -> tuple[Job, Device]:
    """A job that waits since the only device of its node failed under it."""
    Device.objects.filter(index=1).delete()
    job, placement, device = running(user, node)
    check(device, CheckResult.FATAL)
    make.report(node, make.ended(placement, code=1))
    return job, device


def told(job: Job) -> list[str]:
    return list(JobEvent.objects.filter(job=job).order_by("id").values_list("code", flat=True))


def wants(node: Node) -> list[Want]:
    return [one.want for one in desired_set(node)[1]]


def test_a_job_leaves_a_device_that_failed_for_good_and_starts_again_on_another(user, node):
    job, placement, device = running(user, node)
    check(device, CheckResult.FATAL)
    make.run_cycle()
    placement.refresh_from_db()
    assert (placement.phase, placement.stop_reason, wants(node)) == ("stopping", "device-failed", [Want.STOP])
    assert Slice.objects.get().device_id == device.pk
    make.report(node, make.ended(placement, **STOPPED))
    job.refresh_from_db()
    assert (job.status, job.attempt, job.excluded_devices) == (JobStatus.PENDING, 2, [device.pk])
    make.run_cycle()
    assert Slice.objects.get().device_id != device.pk
    event = JobEvent.objects.get(job=job, code="device-failing")
    text = f"Device {device.index} of {node.name} failed for good (xid-79): it is stopped there."
    assert event_text(event) == text
    assert event_text(JobEvent.objects.get(job=job, code="device-failed")).endswith("as a new attempt.")


def test_it_is_told_to_stop_once(user, node):
    job, _placement, device = running(user, node)
    check(device, CheckResult.FATAL)
    assert [move_off_failed_devices() for _ in range(3)] == [1, 0, 0]
    assert told(job).count("device-failing") == 1


def test_failures_that_only_counted_let_running_jobs_finish(user, node):
    job, placement, device = running(user, node)
    check(device, CheckResult.FAILED, times=3)
    device.refresh_from_db()
    assert device.health == DeviceHealth.QUARANTINED and reconcile() == 0
    make.report(node, make.ended(placement))
    job.refresh_from_db()
    assert job.status == JobStatus.SUCCEEDED
    waiting = make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    assert Placement.objects.get(job=waiting).slices.get().device_id != device.pk


def test_missing_readings_do_not_touch_running_jobs(user, node):
    _job, placement, device = running(user, node)
    check(device, CheckResult.UNKNOWN, times=4)
    assert reconcile() == 0
    placement.refresh_from_db()
    assert placement.phase == Phase.RUNNING


def test_a_job_that_ended_well_meanwhile_has_ended_well(user, node):
    job, placement, device = running(user, node)
    check(device, CheckResult.FATAL)
    move_off_failed_devices()
    make.report(node, make.ended(placement, code=0))
    job.refresh_from_db()
    assert job.status == JobStatus.SUCCEEDED


def test_what_crashed_on_a_failed_device_did_nothing_wrong(user, node):
    job, placement, device = running(user, node)
    check(device, CheckResult.FATAL)
    make.report(node, make.ended(placement, code=139))
    job.refresh_from_db()
    assert (job.status, job.attempt, job.excluded_devices) == (JobStatus.PENDING, 2, [device.pk])
    assert job.exit_class is None


def test_a_process_that_its_device_holds_for_ever_does_not_hold_the_job(user, node):
    job, placement, device = running(user, node)
    with time_machine.travel(clock.now(), tick=False) as now:
        check(device, CheckResult.FATAL)
        reconcile()
        now.shift(timedelta(seconds=179))
        reconcile()
        assert Job.objects.get().attempt == 1
        now.shift(timedelta(seconds=1))
        reconcile()
    job.refresh_from_db()
    placement.refresh_from_db()
    assert (placement.phase, job.status, job.attempt) == (Phase.LOST, JobStatus.PENDING, 2)
    assert job.excluded_devices == [device.pk] and not Slice.objects.exists()
    make.report(node, make.ended(placement, code=137))
    assert Job.objects.get().attempt == 2


def test_without_a_requeue_left_it_failed_because_of_the_device(user, node):
    job, placement, device = running(user, node)
    Job.objects.update(requeues_left=0)
    check(device, CheckResult.FATAL)
    move_off_failed_devices()
    make.report(node, make.ended(placement, **STOPPED))
    job.refresh_from_db()
    assert (job.status, job.exit_class) == (JobStatus.FAILED, ExitClass.DEVICE_FAILED)


def test_a_job_whose_node_is_lost_as_well_does_not_go_back_to_that_device(user, node):
    job, _placement, device = running(user, node)
    check(device, CheckResult.FATAL)
    Node.objects.update(state=NodeState.LOST)
    assert declare_lost(node.pk) == 1
    job.refresh_from_db()
    assert job.excluded_devices == [device.pk]


def test_a_person_who_releases_the_device_lets_the_job_have_it_again(user, node):
    job, device = waiting_for_its_failed_device(user, node)
    check(device, CheckResult.OK, times=5)
    reconcile()
    make.run_cycle()
    assert Job.objects.get().status == JobStatus.PENDING
    device.refresh_from_db()
    release_device(device, reason="new cable", actor="op")
    reconcile()
    make.run_cycle()
    job.refresh_from_db()
    assert (job.status, job.excluded_devices) == (JobStatus.STARTING, [])


def test_good_checks_that_release_the_device_let_the_job_have_it_again(user, node):
    job, device = waiting_for_its_failed_device(user, node)
    check(device, CheckResult.OK, times=5, thresholds=Thresholds(auto_release=True))
    reconcile()
    make.run_cycle()
    job.refresh_from_db()
    assert (job.status, job.excluded_devices) == (JobStatus.STARTING, [])


def test_a_slice_is_back_in_service_when_its_whole_device_is(user, node):
    _job, device = waiting_for_its_failed_device(user, node)
    part = make.make_device(node, index=5, parent=device)
    Job.objects.update(excluded_devices=[part.pk])
    reconcile()
    assert Job.objects.get().excluded_devices == [part.pk]
    Device.objects.filter(pk=device.pk).update(health=DeviceHealth.SUSPECT, fatal=False)
    reconcile()
    assert Job.objects.get().excluded_devices == []


def test_a_device_that_is_no_longer_reported_frees_nothing_and_is_told_once(user, node):
    job, placement, device = running(user, node)
    Device.objects.filter(pk=device.pk).update(health=DeviceHealth.MISSING)
    for _ in range(2):
        assert reconcile() == 0
    placement.refresh_from_db()
    assert placement.phase == Phase.RUNNING and Slice.objects.get().device_id == device.pk
    assert told(job).count("device-missing") == 1
    assert "stays booked" in event_text(JobEvent.objects.get(code="device-missing"))


def test_a_device_that_a_job_holds_is_not_removed(user, node):
    _job, _placement, device = running(user, node)
    Device.objects.filter(pk=device.pk).update(health=DeviceHealth.MISSING)
    device.refresh_from_db()
    with pytest.raises(Problem) as refused:
        forget_device(device)
    assert refused.value.code == "device-booked" and Slice.objects.get().device_id == device.pk


def test_a_missing_device_that_its_agent_calls_lost_is_one_that_failed(user, node):
    _job, _placement, device = running(user, node)
    Device.objects.filter(pk=device.pk).update(health=DeviceHealth.MISSING, health_before_missing="healthy")
    check(device, CheckResult.FATAL)
    assert reconcile() == 1


def test_a_device_that_shrank_below_its_bookings_is_told_once_and_takes_no_more(user, node):
    """C37: less capacity than is booked is no negative number, and nothing more is placed."""
    job, _placement, device = running(user, node)
    Device.objects.update(memory_total_mib=1024)
    reconcile()
    reconcile()
    assert told(job).count("device-shrank") == 1
    assert "only 1024 MiB" in event_text(JobEvent.objects.get(code="device-shrank"))
    alert = Alert.objects.get(code="device-overbooked", cleared_at=None)
    assert (alert.subject_id, alert.details["memory_mib"]) == (str(device.pk), 1024)
    make.make_job(user, resources={"device_memory": "2Gi", "shareable": True})
    make.run_cycle()
    assert Slice.objects.count() == 1
    Device.objects.update(memory_total_mib=40960)
    reconcile()
    assert not Alert.objects.filter(code="device-overbooked", cleared_at=None).exists()


def test_an_emptied_node_is_in_maintenance_once_nothing_runs_there(user, node):
    job, placement, _device = running(user, node)
    change_node_state(node, "drain", reason="fans")
    reconcile()
    node.refresh_from_db()
    assert node.state == NodeState.DRAINING
    make.report(node, make.ended(placement))
    reconcile()
    node.refresh_from_db()
    assert (node.state, node.state_reason) == (NodeState.MAINTENANCE, "fans")
    job.refresh_from_db()
    assert job.status == JobStatus.SUCCEEDED


def test_what_still_runs_at_the_deadline_is_moved(user, node):
    job, placement, _device = running(user, node)
    with time_machine.travel(clock.now(), tick=False) as now:
        deadline = clock.now() + timedelta(hours=1)
        change_node_state(node, "drain", reason="fans", drain_deadline=deadline)
        assert reconcile() == 0
        now.shift(timedelta(hours=1))
        assert reconcile() == 1
        make.report(node, make.ended(placement, **STOPPED))
        assert reconcile() == 0
    node.refresh_from_db()
    job.refresh_from_db()
    assert (node.state, node.drain_deadline) == (NodeState.MAINTENANCE, None)
    assert (job.status, job.excluded_devices) == (JobStatus.PENDING, [])
    assert told(job)[-2:] == ["draining", "drained"]
    assert CoreBooking.objects.count() == 0


def test_a_job_that_was_cancelled_is_left_to_its_end(user, node):
    job, placement, device = running(user, node)
    cancel_job(job.pk, actor="ada")
    check(device, CheckResult.FATAL)
    assert reconcile() == 0
    make.report(node, make.task(placement, TaskPhase.STOPPING))
    assert "device-failing" not in told(job)


def test_what_is_left_to_its_end_wakes_no_cycle(user, node, django_capture_on_commit_callbacks):
    """A cycle that wakes the next one without having done anything would run for ever."""
    job, _placement, device = running(user, node)
    cancel_job(job.pk, actor="ada")
    check(device, CheckResult.FATAL)
    with django_capture_on_commit_callbacks() as told_after:
        assert move_off_failed_devices() == 0
    assert told_after == []


@pytest.mark.parametrize("reason", ["", "cancelled"])
def test_what_a_failed_device_holds_for_ever_gives_back_what_it_booked(user, node, reason):
    job, placement, device = running(user, node)
    with time_machine.travel(clock.now(), tick=False) as now:
        if reason:
            cancel_job(job.pk, actor="ada")
        make.report(node, make.task(placement, TaskPhase.STOPPING))
        check(device, CheckResult.FATAL)
        now.shift(timedelta(seconds=179))
        reconcile()
        assert Slice.objects.exists() and CoreBooking.objects.exists()
        now.shift(timedelta(seconds=1))
        reconcile()
    placement.refresh_from_db()
    job.refresh_from_db()
    assert not Slice.objects.exists() and not CoreBooking.objects.exists()
    assert (placement.phase, placement.stop_reason) == (Phase.LOST, reason or "device-failed")
    assert job.status == (JobStatus.CANCELLED if reason else JobStatus.PENDING)


def test_a_cancelled_job_that_stops_slowly_on_a_good_device_keeps_what_it_holds(user, node):
    job, placement, _device = running(user, node)
    with time_machine.travel(clock.now(), tick=False) as now:
        cancel_job(job.pk, actor="ada")
        make.report(node, make.task(placement, TaskPhase.STOPPING))
        now.shift(timedelta(hours=1))
        reconcile()
    assert Slice.objects.count() == 1


def test_an_attempt_that_was_placed_elsewhere_meanwhile_runs_on(user, node, monkeypatch):
    """Between the look and the locks the old attempt ends and the next one gets a place."""
    _job, placement, device = running(user, node)
    check(device, CheckResult.FATAL)

    def late(rows):
        monkeypatch.undo()
        make.report(node, make.ended(placement, code=1))
        make.run_cycle()
        return locked_live(rows)

    monkeypatch.setattr(evacuation, "locked_live", late)
    assert move_off_failed_devices() == 0
    latest = Placement.objects.latest("pk")
    assert (latest.attempt, latest.phase, latest.stop_reason) == (2, Phase.ASSIGNED, "")


def test_owners_are_told_by_a_bounded_number_of_queries(user, node, django_assert_num_queries):
    parts = [running(user, node)[2] for _ in range(2)]
    Device.objects.update(health=DeviceHealth.MISSING)
    reconcile()
    assert JobEvent.objects.filter(code="device-missing").count() == len(parts)
    # Slices, savepoint, jobs, events, savepoint.
    with django_assert_num_queries(5):
        tell_of_missing()

"""Jobs that come near their limits: told once, suspended where that is wanted, and forgotten when it is over."""

from __future__ import annotations

import msgspec
import pytest

from agent.protocol import Pressure, PressureKind, TaskPhase
from controlplane.agentapi.reply import guard_rules
from controlplane.alerts.models import Alert
from controlplane.policy.active import active_policy
from queues.events import event_text
from queues.models import Job, JobEvent, JobStatus
from scheduling.memory_alerts import forget_gone
from scheduling.models import Phase, Placement
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
NEAR = Pressure(PressureKind.NEAR, 920, 1000)
LEAK = Pressure(PressureKind.LEAK, 500, 1000, device="GPU-1", mib_per_hour=700)
BY_SIGNAL = {"signal": "USR1"}


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def node(user):
    return make.make_node()


def running(user, node, **changes) -> tuple[Job, Placement]:
    job = make.make_job(user, **changes)
    make.run_cycle()
    placement = Placement.objects.get(job=job)
    make.report(node, make.started(placement))
    return job, placement


def tell(node, placement, *pressures: Pressure) -> None:
    make.report(node, make.task(placement, TaskPhase.RUNNING, started_at_ms=1000, pressures=list(pressures)))


def opened() -> dict[str, str]:
    return dict(Alert.objects.filter(cleared_at=None).values_list("code", "subject_id"))


def said(job: Job) -> list[str]:
    codes = JobEvent.objects.filter(job=job).order_by("pk").values_list("code", flat=True)
    return [code for code in codes if "memory" in code]


def test_a_pressure_is_an_alert_and_an_event_once_and_is_over_when_nobody_tells_it(user, node):
    job, placement = running(user, node)
    for _ in range(3):
        tell(node, placement, NEAR)
    assert opened() == {"job-memory-near": str(job.pk)} and said(job) == ["job-memory-near"]
    tell(node, placement, NEAR, LEAK)
    assert opened().keys() == {"job-memory-near", "job-device-memory-leak"}
    tell(node, placement)
    assert opened() == {}
    tell(node, placement, NEAR)
    assert said(job) == ["job-memory-near", "job-device-memory-leak", "job-memory-near"]


def test_what_is_told_has_the_figures(user, node):
    job, placement = running(user, node)
    tell(node, placement, LEAK)
    text = event_text(JobEvent.objects.get(job=job, code="job-device-memory-leak"))
    assert all(part in text for part in ("GPU-1", "700 MiB", "500 MiB", "1000 MiB"))


def test_the_end_of_a_job_is_the_end_of_its_alerts(user, node):
    job, placement = running(user, node)
    tell(node, placement, NEAR)
    make.report(node, make.ended(placement))
    assert opened() == {} and Job.objects.get(pk=job.pk).status == JobStatus.SUCCEEDED


def test_alerts_of_a_job_that_nobody_reports_any_more_are_cleared(user, node):
    _job, placement = running(user, node)
    tell(node, placement, NEAR)
    forget_gone()
    assert opened()
    Placement.objects.filter(pk=placement.pk).update(phase=Phase.LOST)
    forget_gone()
    assert opened() == {}


@pytest.mark.parametrize(
    "checkpoint, pressure, suspends",
    [
        ({**BY_SIGNAL, "on_memory_pressure": True}, NEAR, True),
        ({**BY_SIGNAL, "on_memory_pressure": True}, LEAK, False),
        (BY_SIGNAL, NEAR, False),
        (None, NEAR, False),
    ],
)
def test_only_a_job_that_wishes_it_and_can_make_a_checkpoint_is_suspended_and_only_near_its_limit(
    user, node, checkpoint, pressure, suspends
):
    job, placement = running(user, node, checkpoint=checkpoint)
    tell(node, placement, pressure)
    job.refresh_from_db()
    assert (job.status == JobStatus.SUSPENDING) is suspends
    placement.refresh_from_db()
    assert placement.phase == (Phase.CHECKPOINTING if suspends else Phase.RUNNING)


@pytest.mark.parametrize("wish, suspends", [(None, True), (False, False)])
def test_the_policy_may_wish_it_for_all_and_a_job_may_refuse(user, node, monkeypatch, wish, suspends):
    guard = msgspec.structs.replace(active_policy().memory_guard, suspend=True)
    policy = msgspec.structs.replace(active_policy(), memory_guard=guard)
    monkeypatch.setattr("scheduling.memory_guard.active_policy", lambda: policy)
    job, placement = running(user, node, checkpoint={**BY_SIGNAL, "on_memory_pressure": wish})
    tell(node, placement, NEAR)
    job.refresh_from_db()
    assert (job.status == JobStatus.SUSPENDING) is suspends


def test_agents_are_told_the_limits_of_the_policy():
    rules = guard_rules(active_policy().memory_guard)
    assert (rules.shared_percent, rules.whole_percent, rules.host_percent) == (90, 97, 90)

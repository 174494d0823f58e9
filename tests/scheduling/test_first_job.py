"""One job from submission to its end, through the real rows."""

from __future__ import annotations

import pytest

from agent.protocol import Want
from queues.models import JobEvent, JobStatus
from scheduling.backends.agent import desired_set
from scheduling.models import CoreBooking, Decision, Phase, Placement, Slice
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def test_a_job_runs_from_submission_to_its_exit_code(user):
    node = make.make_node(cores=4)
    device = make.make_device(node)
    job = make.make_job(user, resources={"devices": 1, "cores": 2, "memory": "1Gi"})
    assert make.run_cycle() >= 1
    placement = Placement.objects.get(job=job)
    epoch, assignments = desired_set(node)
    assert [(a.placement, a.want, len(a.cpus), a.memory_mib) for a in assignments] == [
        (placement.pk, Want.RUN, 2, 1024)
    ]
    assert assignments[0].devices[0].uuid == device.uuid
    make.report(node, make.started(placement))
    job.refresh_from_db()
    assert job.status == JobStatus.RUNNING
    make.report(node, make.ended(placement, code=7))
    job.refresh_from_db()
    placement.refresh_from_db()
    assert (job.status, job.exit_code, job.exit_class) == (JobStatus.FAILED, 7, "exit-code")
    assert placement.phase == Phase.RELEASED
    assert not Slice.objects.exists() and not CoreBooking.objects.exists()
    later, assignments = desired_set(node)
    assert later > epoch and assignments == []
    assert [e.to_status for e in JobEvent.objects.filter(job=job).order_by("id")] == [
        "pending", "starting", "running", "failed",
    ]  # fmt: skip
    assert Decision.objects.get(job=job).placement == placement


def test_two_jobs_of_one_core_get_different_cores(user):
    node = make.make_node(cores=2)
    jobs = [make.make_job(user) for _ in range(3)]
    make.run_cycle()
    cpus = [tuple(p.cpus) for p in Placement.objects.filter(job__in=jobs)]
    assert sorted(cpus) == [(0,), (1,)]
    assert sorted(a.cpus for a in desired_set(node)[1]) == [[0], [1]]

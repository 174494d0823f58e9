"""What inventory asks of scheduling, through the product's own connections."""

import pytest

from agent.protocol import Check, CheckResult, DeviceSample
from inventory import streams, tasks
from inventory.models import Device
from inventory.wiring import UPWARD
from tests.agentapi.speaking import Agent, enrolled
from tests.inventory.factories import GIB, device_facts, facts
from tests.scheduling.factories import make_job, make_queues, make_team, make_user, run_cycle

pytestmark = pytest.mark.django_db
GPU = "GPU-00000000"


@pytest.fixture
def agent(valkey_url):
    streams.client().delete(streams.STREAM)
    agent = Agent(enrolled().token)
    agent.report(facts=facts(device_facts(0, memory_total_mib=24 * GIB)))
    agent.report(checks=[Check(device=GPU, result=CheckResult.OK)])
    return agent


def measure(agent, used_mib):
    for _ in range(2):
        agent.report(samples=[DeviceSample(device=GPU, memory_used_mib=used_mib)])
        tasks.flush_telemetry()


def test_what_a_job_booked_is_not_foreign(agent):
    make_queues()
    make_job(
        make_user(team=make_team()), resources={"devices": 1, "device_memory": "10Gi", "shareable": True}
    )
    run_cycle()
    device = Device.objects.get()
    assert UPWARD.booked([device.pk])[device.pk].memory_mib == 10 * GIB
    measure(agent, 10 * GIB)
    assert Device.objects.get().foreign_mib == 0


def test_the_probe_task_runs_on_an_empty_cluster():
    assert tasks.probe_cycle() == 0

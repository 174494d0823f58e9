"""Reports at the same moment, on a real database."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from agent import protocol
from agent.protocol import Check, CheckResult, Reply
from controlplane.alerts.models import Alert
from inventory.models import Device, DeviceEvent, DeviceHealth, Node, NodeContact, NodeState
from inventory.operations import change_node_state, release_node
from tests.agentapi.speaking import Agent, enrolled
from tests.inventory.factories import device_facts, facts

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*calls):
    def one(call):
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


@pytest.fixture
def agent():
    agent = Agent(enrolled().token)
    agent.report(facts=facts(device_facts(0)))
    agent.check("GPU-00000000", CheckResult.OK)
    return agent


def test_one_report_sent_ten_times_at_once_counts_once(agent):
    report = agent.make(checks=[Check(device="GPU-00000000", result=CheckResult.FAILED)])
    answers = at_once(*[lambda: agent.send(report).status_code] * 10)
    assert answers == [200] * 10
    assert (Device.objects.get().failed_checks, Device.objects.get().health) == (1, DeviceHealth.SUSPECT)


def test_two_live_boots_reporting_together_end_in_quarantine_and_neither_is_obeyed(agent):
    clone = Agent(agent.token, "boot-2")
    for _ in range(4):
        at_once(lambda: agent.send(agent.make()), lambda: clone.send(clone.make()))
    last = [protocol.decode(one.send(one.make()).content, Reply) for one in (agent, clone)]
    assert [reply.authoritative for reply in last] == [False, False]
    assert Node.objects.get().state == NodeState.QUARANTINED
    assert Alert.objects.filter(code="duplicate-machine", cleared_at=None).count() == 1


def test_reports_and_operators_do_not_stand_in_each_others_way(agent):
    node = Node.objects.get()
    calls = [lambda: agent.send(agent.make(facts=facts(device_facts(0)), facts_digest="d2")).status_code] * 6
    calls += [lambda: change_node_state(node, "cordon", reason="a").state] * 3
    calls += [lambda: change_node_state(node, "uncordon", reason="b").state] * 3
    outcomes = at_once(*calls)
    assert outcomes[:6] == [200] * 6
    assert Node.objects.get().state in (NodeState.CORDONED, NodeState.READY)


def test_a_release_in_the_middle_of_reports_is_kept(agent):
    Node.objects.update(state=NodeState.QUARANTINED, state_reason="duplicate-machine")
    node = Node.objects.get()
    at_once(*[lambda: agent.send(agent.make())] * 4, lambda: release_node(node, reason="gone"))
    assert agent.report().authoritative and Node.objects.get().state == NodeState.READY
    assert NodeContact.objects.get().boot_id == "boot-1"


def test_first_facts_sent_twice_at_once_make_each_device_once():
    other = Agent(enrolled("machine-2", "boot-1").token)
    devices = [device_facts(number) for number in range(8)]
    reports = [other.make(facts=facts(*devices, machine_id="machine-2")) for _ in range(6)]
    assert at_once(*[lambda report=report: other.send(report).status_code for report in reports]) == [200] * 6
    assert Device.objects.count() == 8 and not DeviceEvent.objects.exists()

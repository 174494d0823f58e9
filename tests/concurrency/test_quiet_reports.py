"""Reports that wait for the probe or for an operator, on other connections: they see what was done meanwhile."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agent.protocol import Check, CheckResult
from controlplane.agentapi import quiet
from controlplane.alerts.models import Alert
from controlplane.base import clock
from inventory import operations, probing
from inventory.models import Node, NodeContact, NodeState
from inventory.node_states import mark_silent
from tests.agentapi.speaking import Agent, enrolled
from tests.concurrency.conftest import meanwhile
from tests.inventory.factories import device_facts, facts

pytestmark = pytest.mark.django_db(transaction=True)
OK = [Check(device="GPU-00000000", result=CheckResult.OK)]


@pytest.fixture
def agent(valkey_url: str) -> Agent:
    """A quiet agent."""
    one = Agent(enrolled().token)
    one.report(facts=facts(device_facts(0)))
    for _ in range(8):
        one.report(checks=OK)
    return one


def away_while(agent: Agent, monkeypatch: pytest.MonkeyPatch, verdict: str) -> None:
    """The probe finds the node away, and a report comes between its lock and its verdict."""
    long_ago = clock.now() - timedelta(hours=1)
    NodeContact.objects.update(received_at=long_ago)
    usual = getattr(probing, verdict)
    with meanwhile(lambda: agent.report(checks=OK)) as until_it_waits:

        def mark(node: Node) -> bool:
            until_it_waits()
            return bool(usual(node))

        monkeypatch.setattr(probing, verdict, mark)
        contact = NodeContact.objects.select_related("node").get()
        if verdict == "mark_silent":
            assert probing._silence_node(contact, clock.now())
        else:
            assert probing._lose_node(contact)
    assert NodeContact.objects.get().received_at > long_ago


def test_a_quiet_report_that_waited_for_the_probe_finds_the_node_silent(agent, monkeypatch):
    noted: list[bool] = []
    usual = quiet.note
    monkeypatch.setattr(
        "controlplane.agentapi.report.note",
        lambda *args, **named: [found := usual(*args, **named), noted.append(found is not None)][0],
    )
    away_while(agent, monkeypatch, "mark_silent")
    assert noted == [False]
    assert Node.objects.get().state == NodeState.READY
    assert not Alert.objects.filter(code="node-silent", cleared_at=None).exists()


@pytest.mark.parametrize("verdict", ["mark_silent", "mark_lost"])
def test_a_report_that_went_the_long_way_and_waited_for_the_probe_finds_the_node_away(
    agent, monkeypatch, verdict
):
    NodeContact.objects.update(report_digest="")
    if verdict == "mark_lost":
        assert mark_silent(Node.objects.get())
    away_while(agent, monkeypatch, verdict)
    assert Node.objects.get().state == NodeState.READY
    assert not Alert.objects.filter(subject_type="node", cleared_at=None).exists()


def test_the_labels_of_an_operator_stay_while_a_report_with_facts_waits(agent, monkeypatch):
    usual = operations.node_changed
    new = facts(device_facts(0), labels={"zone": "a", "rack": "7"})
    with meanwhile(lambda: agent.report(facts=new, facts_digest="d2")) as until_it_waits:

        def changed(node_id: int) -> None:
            usual(node_id)
            until_it_waits()

        monkeypatch.setattr(operations, "node_changed", changed)
        operations.label_node(Node.objects.get(), {"zone": "b"})
    assert Node.objects.get().labels == {"zone": "b", "rack": "7"}


def test_each_silence_makes_the_next_report_go_the_long_way(agent):
    for _ in range(2):
        NodeContact.objects.update(received_at=clock.now() - timedelta(hours=1))
        assert probing._silence_node(NodeContact.objects.select_related("node").get(), clock.now())
        assert NodeContact.objects.get().state_digest == ""
        agent.report(checks=OK)
        assert Node.objects.get().state == NodeState.READY

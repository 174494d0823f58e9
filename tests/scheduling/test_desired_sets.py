"""The desired set of a node: built when something changed, kept when nothing did, the same either way."""

from __future__ import annotations

import pytest

from agent.protocol import Want
from inventory.models import Device
from queues.models import Job
from scheduling.backends import agent
from scheduling.backends.agent import bump_epoch, desired_set
from scheduling.models import Placement
from scheduling.operations import cancel_job
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def node():
    make.make_queues()
    user = make.make_user(team=make.make_team())
    node = make.make_node(cores=8)
    for index in range(2):
        make.make_device(node, index=index)
        make.make_job(user, resources={"devices": 1}, env={"A": "b"})
    make.run_cycle()
    return node


def test_a_report_that_changes_nothing_costs_one_query(node, django_assert_num_queries):
    first = desired_set(node)
    with django_assert_num_queries(1):
        again = desired_set(node)
    assert again == first and len(first[1]) == 2 and first[1][0].env == {"A": "b"}


def start(node):
    make.report(node, make.started(Placement.objects.earliest("pk")))


def end(node):
    make.report(node, make.ended(Placement.objects.earliest("pk")))


def cancel(_node):
    cancel_job(Job.objects.earliest("pk").pk, actor="ada")


def renumber(node):
    Device.objects.filter(node=node, index=1).update(index=7)


def another_card(node):
    Device.objects.filter(node=node, index=1).update(uuid="GPU-new", pci_bus_id="0000:41:00.0")


def restore(_node):
    """A restored backup gave the same ids to another assignment."""
    Placement.objects.update(fence=5)


def wake(node):
    bump_epoch([node.pk])


@pytest.mark.parametrize("change", [start, end, cancel, renumber, another_card, restore, wake])
def test_every_change_is_in_the_next_reply(node, change):
    before = desired_set(node)
    change(node)
    found = desired_set(node)
    assert found == agent._built(node.pk, agent.epoch_of(node.pk))
    assert found != before or change is start
    if change is cancel:
        assert [one.want for one in found[1]] == [Want.STOP, Want.RUN]


def test_large_sets_and_many_nodes_are_not_kept(node, monkeypatch):
    monkeypatch.setattr(agent, "_sets", {})
    monkeypatch.setattr(agent, "MOST_KEPT_ASSIGNMENTS", 1)
    assert desired_set(node) == agent._built(node.pk, 1) and not agent._sets
    monkeypatch.setattr(agent, "MOST_KEPT_ASSIGNMENTS", 2)
    monkeypatch.setattr(agent, "MOST_KEPT_NODES", 1)
    for one in (make.make_node(), node):
        desired_set(one)
    assert list(agent._sets) == [node.pk]

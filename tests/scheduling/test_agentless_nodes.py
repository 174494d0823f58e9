"""Nodes that are watched over SSH: shown, counted as nobody's capacity, and given no job."""

from __future__ import annotations

import pytest

from inventory.models import RemoteHost
from scheduling.apply import StaleCode, apply_placed
from scheduling.models import ShapeReason
from scheduling.snapshot import load_nodes
from tests.scheduling import factories as make
from tests.scheduling.test_apply import decide

pytestmark = pytest.mark.django_db


def watch(node):
    RemoteHost.objects.create(address="10.0.0.9", user="watch", key="fleet", host_key="x", node=node)


def test_a_job_says_that_no_agent_is_there_to_run_it():
    make.make_queues()
    make.make_job(make.make_user(team=make.make_team()))
    watch(make.make_node())
    make.run_cycle()
    assert ShapeReason.objects.get().code == "no-agent"


def test_a_node_in_another_state_says_that_first():
    for state, expected in (("ready", "no-agent"), ("silent", "silent")):
        node = make.make_node(state=state)
        watch_at = {"address": f"10.0.0.{node.pk}", "user": "watch", "key": "fleet", "host_key": "x"}
        RemoteHost.objects.create(node=node, **watch_at)
        assert load_nodes([node.pk])[0].not_ready == expected


def test_a_decision_that_did_not_know_it_is_refused():
    make.make_queues()
    node = make.make_node()
    _job, placed, context = decide(make.make_user(team=make.make_team()), cores=1)
    watch(node)
    assert apply_placed(placed, context) is StaleCode.NODE_NOT_READY

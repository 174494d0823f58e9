"""Jobs with an image: where they may run at all, and where they run best."""

from __future__ import annotations

import pytest

from scheduling.models import Decision, Outcome, Placement, ShapeReason
from scheduling.snapshot import load_nodes
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def without_engine(node):
    node.facts["runs_containers"] = False
    node.save(update_fields=["facts"])
    return node


def test_a_job_with_an_image_waits_for_a_node_with_a_container_engine(user):
    without_engine(make.make_node())
    job = make.make_job(user, image="example.com/train:1")
    make.run_cycle()
    assert ShapeReason.objects.get(shape=job.shape).code == "no-container-engine"
    with_engine = make.make_node()
    make.run_cycle()
    assert Placement.objects.get(job=job).node == with_engine


def test_a_job_without_an_image_needs_no_engine(user):
    without_engine(make.make_node())
    make.make_job(user)
    make.run_cycle()
    assert Placement.objects.count() == 1


def test_a_node_whose_agent_never_said_so_runs_no_containers(user):
    node = make.make_node()
    del node.facts["runs_containers"]
    node.save(update_fields=["facts"])
    assert not load_nodes([node.pk])[0].runs_containers


def test_a_decision_that_did_not_know_it_is_refused(user, monkeypatch):
    node = make.make_node()
    make.make_job(user, image="example.com/train:1")
    known = load_nodes()
    without_engine(node)
    monkeypatch.setattr("scheduling.snapshot.load_nodes", lambda *args, **kwargs: known)
    make.run_cycle()
    assert not Placement.objects.exists()
    assert Decision.objects.filter(outcome=Outcome.STALE).exists()

"""What was lent comes back to its owner, and edits of quotas take no running work away."""

from __future__ import annotations

import pytest

from queues.models import Job, Queue
from scheduling.models import Hold, Placement
from tests.scheduling import factories as make
from tests.scheduling.test_preemption import WAY, answer, status, stopped

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    Queue.objects.filter(name__in=("training", "offline")).update(quota_ppm=500_000)
    Queue.objects.filter(name="offline").update(borrow=True)
    return make.make_user(team=make.make_team())


@pytest.fixture
def node(user):
    """Two devices, one for each of the queues."""
    found = make.make_node(cores=8)
    for index in range(2):
        make.make_device(found, index=index)
    return found


def offline(user, node) -> tuple[Job, Placement]:
    job = make.make_job(user, **WAY, resources={"devices": 1})
    make.run_cycle()
    placement = Placement.objects.get(job=job)
    make.report(node, make.started(placement))
    return job, placement


def test_the_owner_gets_back_what_was_lent_and_of_the_borrower_only_that(user, node):
    own, _placed = offline(user, node)
    lent, placed = offline(user, node)
    assert list(Placement.objects.order_by("pk").values_list("borrowed", flat=True)) == [False, True]
    owner = make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    assert status(own, lent, owner) == ["running", "preempting", "pending"]
    answer(node, placed)
    stopped(node, placed)
    make.run_cycle()
    make.run_cycle()
    assert status(own, lent, owner) == ["running", "pending", "starting"] and not Hold.objects.exists()


def test_a_quota_lowered_below_use_takes_nothing_away_and_lets_nothing_new_start(user, node):
    """C28."""
    own, _placed = offline(user, node)
    Queue.objects.filter(name="offline").update(quota_ppm=0, borrow=False)
    later = make.make_job(user, **WAY, resources={"devices": 1})
    make.run_cycle()
    assert status(own, later) == ["running", "pending"]


def test_a_lender_closed_while_its_share_is_lent_leaves_the_borrower_alone(user, node):
    """C28."""
    own, _placed = offline(user, node)
    lent, _placed = offline(user, node)
    Queue.objects.filter(name="training").update(closed=True, quota_ppm=0)
    make.run_cycle()
    assert status(own, lent) == ["running", "running"]
    Queue.objects.filter(name="offline").update(borrow=False)
    later = make.make_job(user, **WAY, resources={"devices": 1})
    make.run_cycle()
    assert status(own, lent, later) == ["running", "running", "pending"]

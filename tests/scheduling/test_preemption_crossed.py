"""What else befalls jobs while a victim writes its checkpoint: nothing that it was promised is lost."""

from __future__ import annotations

import pytest

from controlplane.base import clock
from scheduling.models import Hold, Phase, Placement
from tests.scheduling import factories as make
from tests.scheduling.test_preemption import status, urgent, victim

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def node(user):
    return with_devices(2)


def with_devices(count: int):
    found = make.make_node(cores=8)
    for index in range(count):
        make.make_device(found, index=index)
    return found


def ends(job) -> None:
    placement = Placement.objects.get(job=job)
    make.report(placement.node, make.started(placement), make.ended(placement))


def test_a_beneficiary_that_starts_elsewhere_lets_its_victim_run_on(user, node):
    job, placement = victim(user, node, 2)
    with_devices(2)
    blocker = make.make_job(user, queue="training", resources={"devices": 2})
    make.run_cycle()
    first = urgent(user)
    assert status(job, first) == ["preempting", "pending"]
    ends(blocker)
    make.run_cycle()
    assert status(first) == ["starting"] and Placement.objects.get(job=first).node_id != placement.node_id
    make.run_cycle()
    placement.refresh_from_db()
    assert status(job) == ["running"] and not Hold.objects.exists()
    assert (placement.phase, placement.yields_to) == (Phase.RUNNING, None)
    assert placement.spared_until > clock.now()

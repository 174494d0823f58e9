"""A pause and placements that are just being stored."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, transaction

from controlplane.base import locks
from controlplane.base.models import Lease
from scheduling import apply
from scheduling.apply import StaleCode, apply_placed
from scheduling.models import Placement
from scheduling.pauses import pause_cluster
from tests.concurrency.test_cycles import context, planned
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db(transaction=True)

WAITS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s"


def watch(seen: threading.Event, query: str = "%base_lease%FOR UPDATE%") -> None:
    """Say when somebody waits for the lease; apart, since a transaction sees the activity of its beginning."""
    with connection.cursor() as cursor:
        for _look in range(20_000):
            cursor.execute(WAITS, [query])
            if cursor.fetchone()[0]:
                break
    seen.set()


def test_a_pause_waits_for_the_placement_under_way_and_stops_all_others(at_once, monkeypatch):
    make.make_queues()
    user = make.make_user(team=make.make_team())
    make.make_node(cores=8)
    for _ in range(2):
        make.make_job(user)
    (first, second), policy = planned()
    shared = context(make.lease(), policy)
    storing, waiting, insert = threading.Event(), threading.Event(), apply._insert

    def slowly(placed):
        placement = insert(placed)
        storing.set()
        assert waiting.wait(30)
        return placement

    def pause() -> int:
        assert storing.wait(30)
        pause_cluster("test", reason="now")
        return Placement.objects.count()

    monkeypatch.setattr(apply, "_insert", slowly)
    works = (lambda: apply_placed(first, shared), pause, lambda: watch(waiting))
    assert at_once(*works) == [None, 1, None]
    assert apply_placed(second, shared) is StaleCode.PAUSED
    assert Placement.objects.count() == 1


def test_a_pause_before_the_first_cycle_ever_keeps_it_waiting(at_once):
    """There is no lease yet, and still the first cycle is not let in while the pause is being stored."""
    make.make_queues()
    # Whoever writes queues keeps cycles out, and with that makes the row.
    Lease.objects.all().delete()
    paused, trying = threading.Event(), threading.Event()

    def pause() -> None:
        with transaction.atomic():
            locks.lock_out(locks.CYCLE_LEASE)
            paused.set()
            assert trying.wait(30)
            assert not Lease.objects.exclude(token=0).exists()

    def cycle() -> int:
        assert paused.wait(30)
        return make.lease().token

    def look() -> None:
        assert paused.wait(30)
        watch(trying, "%INTO base_lease%")

    assert at_once(pause, cycle, look) == [None, 1, None]

"""The history under twins and late writers on other connections: nothing is lost, nothing counts twice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from django.db import connection, transaction

from controlplane.base import clock
from controlplane.policy.active import active_policy
from inventory import streams, telemetry
from inventory.history import partitions, rollup
from inventory.history.metrics import TABLES
from inventory.models import Node
from tests.concurrency.conftest import meanwhile
from tests.inventory.factories import make_device, make_node
from tests.inventory.test_telemetry_history import DEVICE_RAW, MINUTES, rows, sample, store

pytestmark = pytest.mark.django_db(transaction=True)
LONG_AFTER = timedelta(days=2)


@pytest.fixture(autouse=True)
def own_history(valkey_url: str) -> Iterator[None]:
    """Empty before and after: Django empties the tables of models only."""
    _empty()
    yield
    _empty()


def _empty() -> None:
    streams.client().delete(streams.STREAM)
    with connection.cursor() as cursor:
        for subject, grain in TABLES:
            for name in partitions._children(subject.table(grain)):
                cursor.execute(f"DROP TABLE {name}")
        cursor.execute("TRUNCATE inventory_historydue, inventory_devicegroup")


@pytest.fixture
def minute() -> datetime:
    """The start of a minute that is over and not too late, far from the end of its hour."""
    return partitions.start_of(clock.now(), 3600) - timedelta(minutes=30)


@pytest.fixture
def node() -> Node:
    node = make_node()
    make_device(node)
    return node


def due() -> int:
    return len(rows("SELECT * FROM inventory_historydue"))


def test_two_flushers_store_each_reading_once(at_once, minute, node):
    for second in range(50):
        at_ms = clock.to_ms(minute) + 1000 * second
        assert streams.push(node.pk, at_ms, None, [sample(power_mw=second)])
    flushed = at_once(*[lambda: telemetry.flush(None).entries] * 3)
    assert all(isinstance(entries, int) for entries in flushed), flushed
    assert [row["power_mw"] for row in rows(DEVICE_RAW)] == list(range(50))
    assert streams.waiting() == 0 and rollup.roll_up(minute + timedelta(minutes=5)) == 1
    assert rows(MINUTES)[0]["power_mw_n"] == 50


def test_makers_of_one_partition_do_not_fail_each_other(at_once, minute):
    made = at_once(*[lambda: partitions.ensure([minute])] * 4)
    assert all(isinstance(count, int) for count in made), made
    assert len(partitions._children("inventory_devicehistory_raw")) == 1


def test_a_minute_is_made_by_one_of_two(at_once, minute, node):
    store(node, minute, sample(power_mw=7))
    assert sorted(at_once(*[lambda: rollup.roll_up(minute + timedelta(minutes=5))] * 2)) == [0, 1]
    assert [row["power_mw_n"] for row in rows(MINUTES)] == [1]


def test_a_roll_up_waits_for_readings_that_are_being_stored(minute, node):
    store(node, minute, sample(power_mw=10))
    later = minute + timedelta(minutes=5)
    with meanwhile(lambda: rollup.roll_up(later)) as until_it_waits, transaction.atomic():
        store(node, minute + timedelta(seconds=10), sample(power_mw=30))
        until_it_waits()
    assert [row["power_mw_sum"] for row in rows(MINUTES)] == [40]


def test_what_is_stored_after_its_minute_was_taken_makes_it_due_again(minute, node, monkeypatch):
    store(node, minute, sample(power_mw=10))
    later = minute + timedelta(minutes=5)
    late = minute + timedelta(seconds=10)
    with meanwhile(lambda: store(node, late, sample(power_mw=30))) as until_it_waits:
        usual = rollup._minute_sql

        def sql(subject):
            monkeypatch.setattr(rollup, "_minute_sql", usual)
            until_it_waits()
            return usual(subject)

        monkeypatch.setattr(rollup, "_minute_sql", sql)
        assert rollup.roll_up(later) == 1
    assert rollup.roll_up(later) == 1
    assert [row["power_mw_sum"] for row in rows(MINUTES)] == [40]


def test_a_roll_up_and_the_dropping_of_its_readings_do_not_break_each_other(at_once, minute, node):
    store(node, minute, sample(power_mw=7))
    retention = active_policy().retention
    made, dropped = at_once(
        lambda: rollup.roll_up(minute + timedelta(minutes=5)),
        lambda: partitions.drop_old(clock.now() + LONG_AFTER, retention),
    )
    assert made == 1 and isinstance(dropped, list)
    assert len(rows(MINUTES)) <= 1 and rows(DEVICE_RAW) == []
    assert partitions.drop_old(clock.now() + LONG_AFTER, retention) == []


def test_a_partition_that_is_read_stays_until_the_next_run(minute, node):
    store(node, minute, sample(power_mw=7))
    retention, later = active_policy().retention, clock.now() + LONG_AFTER
    with meanwhile(lambda: partitions.drop_old(later, retention)) as until_it_waits, transaction.atomic():
        assert len(rows(DEVICE_RAW)) == 1
        until_it_waits()
        assert due() == 1
    assert partitions.drop_old(later, retention) == [] == rows(DEVICE_RAW)


def test_readings_are_stored_while_old_partitions_go(at_once, minute, node):
    retention = active_policy().retention
    partitions.ensure([minute - timedelta(hours=hours) for hours in range(4, 8)])
    stored, dropped = at_once(
        lambda: store(node, minute, sample(power_mw=7)),
        lambda: partitions.drop_old(clock.now(), retention),
    )
    assert stored == 1 and len(dropped) == 8
    assert len(rows(DEVICE_RAW)) == 1 == due()

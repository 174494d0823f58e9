"""Readings over time: raw rows, roll-ups by minute and hour, partitions that come and go."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from agent.protocol import DeviceSample, NodeSample
from controlplane.base import clock
from controlplane.policy.active import active_policy
from inventory import streams, telemetry
from inventory.history import partitions, rollup
from inventory.history.metrics import PARTITION_S, Grain, bin_of, bin_sql, middle_of, percentile
from inventory.models import Node
from inventory.tasks import keep_history, roll_up_history
from inventory.wiring import Booked
from tests.inventory.factories import make_device, make_node

pytestmark = pytest.mark.django_db
DEVICE_RAW = "SELECT * FROM inventory_devicehistory_raw ORDER BY device_id, at"
MINUTES = "SELECT * FROM inventory_devicehistory_minute ORDER BY device_id, at"
HOURS = "SELECT * FROM inventory_devicehistory_hour ORDER BY device_id, at"
GROUPS = "SELECT * FROM inventory_grouphistory_minute ORDER BY group_id, at"


@pytest.fixture(autouse=True)
def empty_stream(valkey_url: str) -> None:
    streams.client().delete(streams.STREAM)


@pytest.fixture
def minute() -> datetime:
    """The start of a minute that is over and not too late, far from the end of its hour."""
    return partitions.start_of(clock.now(), 3600) - timedelta(minutes=30)


def rows(sql: str) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def store(
    node: Node, at: datetime, *samples: DeviceSample, host: NodeSample | None = None, booked=None
) -> int:
    reading = streams.Reading(node.pk, clock.to_ms(at), host, list(samples))
    return telemetry.store([reading], booked)


def sample(device: str = "GPU-00000000", **values: Any) -> DeviceSample:
    return DeviceSample(device=device, **values)


def hits(packed: list[int]) -> dict[int, int]:
    return {entry >> 32: entry & 0xFFFFFFFF for entry in packed}


def test_every_reading_is_kept_with_what_was_booked(minute):
    node = make_node()
    device = make_device(node)
    for second, used in ((0, 100), (10, 300)):
        store(
            node,
            minute + timedelta(seconds=second),
            sample(memory_used_mib=used, utilization_pct=2**40),
            host=NodeSample(cpu_used_milli=used, power_mw=-1),
            booked=lambda ids: dict.fromkeys(ids, Booked(2048, 250)),
        )
    assert [
        (row["device_id"], row["memory_used_mib"], row["utilization_pct"], row["booked_milli"])
        for row in rows(DEVICE_RAW)
    ] == [(device.pk, 100, None, 250), (device.pk, 300, None, 250)]
    hosts = rows("SELECT * FROM inventory_nodehistory_raw ORDER BY at")
    assert [(row["cpu_used_milli"], row["power_mw"]) for row in hosts] == [(100, None), (300, None)]


def test_a_flush_that_is_killed_before_it_forgets_stores_nothing_twice(minute):
    node = make_node()
    make_device(node)
    assert streams.push(node.pk, clock.to_ms(minute), NodeSample(load1_milli=5), [sample(power_mw=7)])
    _ids, readings = streams.take(10)
    telemetry.store(readings, None)
    assert telemetry.flush(None).entries == 1
    assert len(rows(DEVICE_RAW)) == 1 and len(rows("SELECT * FROM inventory_nodehistory_raw")) == 1


def test_a_reading_that_says_nothing_is_a_gap(minute):
    node = make_node()
    make_device(node)
    store(node, minute, sample(), host=NodeSample())
    assert rows(DEVICE_RAW) == [] and rows("SELECT * FROM inventory_nodehistory_raw") == []


def test_a_minute_is_summed_up_when_it_is_over(minute):
    node = make_node()
    make_device(node)
    utils = [0, 100, 50, None, 50, 7]
    for number, util in enumerate(utils):
        store(node, minute + timedelta(seconds=10 * number), sample(utilization_pct=util, temperature_c=40))
    assert rollup.roll_up(minute + timedelta(seconds=64)) == 0
    assert rollup.roll_up(minute + timedelta(seconds=65)) == 1
    (row,) = rows(MINUTES)
    assert row["at"] == minute
    assert [row[f"utilization_pct_{part}"] for part in ("n", "sum", "min", "max")] == [5, 207, 0, 100]
    assert hits(row["utilization_pct_hist"]) == Counter(bin_of(util) for util in utils if util is not None)
    assert [row[f"temperature_c_{part}"] for part in ("n", "min", "max", "hist")] == [6, 40, 40, None]
    assert [row[f"power_mw_{part}"] for part in ("n", "sum", "min", "max", "hist")] == [
        0,
        None,
        None,
        None,
        None,
    ]
    assert rollup.roll_up(minute + timedelta(seconds=65)) == 0


def test_a_late_reading_makes_its_minute_and_hour_anew(minute):
    node = make_node()
    make_device(node)
    later = minute + timedelta(hours=2)
    store(node, minute, sample(power_mw=10))
    assert rollup.roll_up(later) == 2
    store(node, minute + timedelta(seconds=10), sample(power_mw=30))
    store(node, minute + timedelta(seconds=10), sample(power_mw=30))
    assert rollup.roll_up(later) == 2
    for sql in (MINUTES, HOURS):
        (row,) = rows(sql)
        assert [row[f"power_mw_{part}"] for part in ("n", "sum", "min", "max")] == [2, 40, 10, 30]


def test_what_comes_after_the_raw_readings_are_gone_is_not_history(minute):
    node = make_node()
    device = make_device(node)
    oldest = partitions.oldest_kept(clock.now(), active_policy().retention)
    store(node, oldest - timedelta(seconds=1), sample(power_mw=10))
    assert rows(DEVICE_RAW) == [] and rows("SELECT * FROM inventory_historydue") == []
    assert device.reading.power_mw == 10


def test_percentiles_of_an_hour_are_those_of_its_readings():
    hour = partitions.start_of(clock.now(), 3600) - timedelta(hours=1)
    node = make_node()
    make_device(node)
    values = [(number * 7919) % 300_000 for number in range(120)]
    readings = [
        streams.Reading(node.pk, clock.to_ms(hour) + number * 30_000, None, [sample(power_mw=value)])
        for number, value in enumerate(values)
    ]
    telemetry.store(readings, None)
    assert rollup.roll_up(hour + timedelta(hours=2)) == 61
    (row,) = rows(HOURS)
    assert (row["power_mw_n"], row["power_mw_sum"]) == (120, sum(values))
    merged = hits(row["power_mw_hist"])
    for share in (0.5, 0.95, 0.99):
        exact = sorted(values)[int(share * 120 + 0.999999) - 1]
        found = percentile(merged, share, low=min(values), high=max(values))
        assert found == pytest.approx(exact, rel=1 / 62)


def test_groups_are_the_devices_of_a_node_set_and_model(minute):
    first, second = make_node("a"), make_node("b")
    make_device(first), make_device(second), make_device(second, 1, model=None)
    store(first, minute, sample(utilization_pct=10))
    store(second, minute, sample(utilization_pct=90), sample("GPU-00000001", utilization_pct=5))
    rollup.roll_up(minute + timedelta(seconds=65))
    found = {
        (row["utilization_pct_n"], row["utilization_pct_sum"], row["utilization_pct_max"])
        for row in rows(GROUPS)
    }
    assert found == {(2, 100, 90), (1, 5, 5)}
    rollup.roll_up(minute + timedelta(hours=2))
    assert len(rows("SELECT * FROM inventory_grouphistory_hour")) == 2


def test_partitions_are_made_ahead_and_dropped_when_all_in_them_is_old(minute):
    now = clock.now()
    partitions.make_ahead(now)
    assert partitions.make_ahead(now) == 0
    old = now - timedelta(hours=4)
    partitions.ensure([old])
    partitions.ensure([now - timedelta(days=9)], [Grain.MINUTE])
    dropped = partitions.drop_old(now, active_policy().retention)
    assert sorted({name.rsplit("_", 1)[0] for name in dropped}) == [
        "inventory_devicehistory_minute",
        "inventory_devicehistory_raw",
        "inventory_grouphistory_minute",
        "inventory_nodehistory_minute",
        "inventory_nodehistory_raw",
    ]
    assert partitions.drop_old(now, active_policy().retention) == []


def test_what_is_due_is_summed_up_before_its_partition_goes(minute):
    node = make_node()
    make_device(node)
    store(node, minute, sample(power_mw=10))
    assert keep_history() == 0
    assert len(rows(MINUTES)) == 1 and roll_up_history() == 0


def test_a_partition_that_nobody_made_is_made_by_whoever_stores(minute):
    partitions.make_ahead(clock.now() - timedelta(days=3))
    node = make_node()
    make_device(node)
    assert store(node, minute, sample(power_mw=10)) == 1
    assert len(rows(DEVICE_RAW)) == 1


@pytest.mark.parametrize("grain", list(Grain))
def test_partitions_start_at_whole_multiples(grain):
    start = partitions.start_of(clock.now(), PARTITION_S[grain])
    assert int(start.timestamp()) % PARTITION_S[grain] == 0 and start <= clock.now()
    assert partitions.start_of(start, PARTITION_S[grain]) == start


@given(st.integers(min_value=0, max_value=2**31 - 1))
def test_a_bin_is_never_wider_than_a_32nd_of_its_value(value):
    assert abs(middle_of(bin_of(value)) - value) <= value / 62
    assert bin_of(value) <= bin_of(min(value + 1, 2**31 - 1)) <= bin_of(value) + 1


def test_database_and_server_use_the_same_bins():
    values = [*range(200), *(2**n + d for n in range(7, 31) for d in (-1, 0, 1)), 2**31 - 1]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {bin_sql('v')} FROM unnest(%s::int[]) AS v", [values])
        assert [row[0] for row in cursor.fetchall()] == [bin_of(value) for value in values]


def test_nothing_has_no_percentile():
    assert percentile({}, 0.5, low=0, high=0) is None

"""Partitions of the history: made ahead, made at once where the task was late, dropped when all in them is old."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

import structlog
from django.db import OperationalError, connection, transaction

from controlplane.base import clock
from controlplane.policy.document import Retention
from inventory.history.metrics import PARTITION_S, TABLES, Grain

log = structlog.get_logger(__name__)

# PostgreSQL's advisory lock: two makers of one partition would fail on its name.
LOCK = 0x68697374
AHEAD = 2
NAME = "%Y%m%d%H"
# Not to_regclass: this session may remember that there was none, and does not hear of others' while it waits for LOCK.
THERE = """
SELECT FROM pg_class
WHERE relname = %s AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = %s::regclass)
"""
CHILDREN = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass"


def kept(retention: Retention) -> Mapping[Grain, timedelta]:
    """How long each grain is kept."""
    return {
        Grain.RAW: timedelta(hours=retention.raw_readings_hours),
        Grain.MINUTE: timedelta(days=retention.minute_readings_days),
        Grain.HOUR: timedelta(days=retention.hour_readings_days),
    }


def start_of(moment: datetime, seconds: int) -> datetime:
    """The latest whole multiple of `seconds` since 1970 that is not after `moment`."""
    return clock.from_ms(clock.to_ms(moment) // (seconds * 1000) * seconds * 1000)


def make_ahead(now: datetime) -> int:
    """The partitions of now and the next of each table; how many were missing."""
    spans = {grain: timedelta(seconds=PARTITION_S[grain]) for grain in Grain}
    return sum(ensure([now + spans[grain] * ahead for ahead in range(AHEAD)], [grain]) for grain in Grain)


def ensure(moments: Iterable[datetime], grains: Iterable[Grain] = (Grain.RAW,)) -> int:
    """Makes the partitions in which these moments lie; how many were missing. One query when none is."""
    wanted = {
        _name(subject.table(grain), start_of(moment, PARTITION_S[grain])): (
            subject.table(grain),
            grain,
            moment,
        )
        for moment in moments
        for subject, grain in TABLES
        if grain in grains
    }
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NULL", [list(wanted)]
        )
        missing = [row[0] for row in cursor.fetchall()]
    for name in missing:
        table, grain, moment = wanted[name]
        _make(table, name, start_of(moment, PARTITION_S[grain]), seconds=PARTITION_S[grain])
    return len(missing)


def _name(table: str, start: datetime) -> str:
    return f"{table}_{start:{NAME}}"


def _make(table: str, name: str, start: datetime, *, seconds: int) -> None:
    """Attached, not made in place: that would wait for every reader of the whole table."""
    end = start + timedelta(seconds=seconds)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        cursor.execute(THERE, [name, table])
        if cursor.fetchone() is not None:
            return
        cursor.execute(f"CREATE TABLE {name} (LIKE {table} INCLUDING DEFAULTS INCLUDING INDEXES)")
        cursor.execute(
            f"ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM (%s) TO (%s)", [start, end]
        )


def drop_old(now: datetime, retention: Retention) -> list[str]:
    """Drops the partitions in which everything is older than it is kept; their names."""
    dropped = []
    for subject, grain in TABLES:
        table = subject.table(grain)
        for name in _children(table):
            start = datetime.strptime(name.removeprefix(f"{table}_"), NAME).replace(tzinfo=UTC)
            if start + timedelta(seconds=PARTITION_S[grain]) <= now - kept(retention)[grain] and _drop(name):
                dropped.append(name)
    return dropped


def _children(table: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(CHILDREN, [table])
        return sorted(row[0] for row in cursor.fetchall())


def _drop(name: str) -> bool:
    """A drop waits for readers of the whole table, and new readers for it: so it gives up soon, and the next run
    tries again.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '2s'")
            cursor.execute(f"DROP TABLE {name}")
    except OperationalError as error:
        log.warning("partition-not-dropped", partition=name, error=type(error).__name__)
        return False
    return True


def oldest_kept(now: datetime, retention: Retention) -> datetime:
    """The start of the oldest raw partition that is kept; readings from before it are refused as too late."""
    return start_of(now - kept(retention)[Grain.RAW], PARTITION_S[Grain.RAW])

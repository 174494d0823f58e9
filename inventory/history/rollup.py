"""Roll-ups: minutes out of raw readings, hours out of minutes. Always made anew as a whole.

Whoever stores readings marks their minutes as due in the same transaction; late ones make their minute due again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.db import connection, transaction

from inventory.history import partitions
from inventory.history.metrics import (
    DEVICE,
    GROUP,
    NODE,
    STEP_S,
    Grain,
    Subject,
    bin_sql,
    packed_sql,
    unpacked_sql,
)

# A reading may be under way for so long; what comes later makes its minute due again.
PATIENCE: Mapping[Grain, timedelta] = {Grain.MINUTE: timedelta(seconds=5), Grain.HOUR: timedelta(seconds=90)}
MOST_PER_RUN: Mapping[Grain, int] = {Grain.MINUTE: 180, Grain.HOUR: 24}

# DO UPDATE, not DO NOTHING: it locks the mark, so that a roll-up that takes it waits for these readings' commit.
MARK = """
INSERT INTO inventory_historydue (grain, at) SELECT %s, unnest(%s::timestamptz[])
ON CONFLICT (grain, at) DO UPDATE SET at = excluded.at
"""
NEXT_DUE = "SELECT at FROM inventory_historydue WHERE grain = %s AND at <= %s ORDER BY at LIMIT %s"
TAKE = "DELETE FROM inventory_historydue WHERE grain = %s AND at = %s"
MAKE_GROUPS = """
INSERT INTO inventory_devicegroup (node_set_id, model)
SELECT DISTINCT node.node_set_id, device.model
FROM inventory_device AS device JOIN inventory_node AS node ON node.id = device.node_id
WHERE device.parent_id IS NULL
ON CONFLICT (node_set_id, model) DO NOTHING
"""


def mark_due(grain: Grain, moments: Iterable[datetime]) -> None:
    """The roll-ups of `grain` in which these moments lie have to be made; inside the storing transaction."""
    starts = sorted({partitions.start_of(moment, STEP_S[grain]) for moment in moments})
    with connection.cursor() as cursor:
        cursor.execute(MARK, [grain.value, starts])


def roll_up(now: datetime) -> int:
    """Makes the minutes and then the hours that are due and over; how many."""
    return sum(_roll_up(grain, now) for grain in (Grain.MINUTE, Grain.HOUR))


def _roll_up(grain: Grain, now: datetime) -> int:
    before = now - PATIENCE[grain] - timedelta(seconds=STEP_S[grain])
    with connection.cursor() as cursor:
        cursor.execute(NEXT_DUE, [grain.value, before, MOST_PER_RUN[grain]])
        due = [row[0] for row in cursor.fetchall()]
    partitions.ensure(due, [grain])
    return sum(_make(grain, start) for start in due)


def _make(grain: Grain, start: datetime) -> bool:
    """One minute or hour of everybody in one transaction; False when another one just made it."""
    span = {"at": start, "until": start + timedelta(seconds=STEP_S[grain])}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(TAKE, [grain.value, start])
        if not cursor.rowcount:
            return False
        if grain is Grain.MINUTE:
            cursor.execute(MAKE_GROUPS)
            mark_due(Grain.HOUR, [start])
        # A device or node may belong to another group by now: the one that it left must not keep it.
        cursor.execute(f"DELETE FROM {GROUP.table(grain)} WHERE at = %(at)s", span)
        for subject in (DEVICE, NODE, GROUP):
            cursor.execute(_minute_sql(subject) if grain is Grain.MINUTE else _hour_sql(subject), span)
    return True


def _columns(metric: str) -> list[str]:
    return [f"{metric}_{part}" for part in ("n", "sum", "min", "max", "hist")]


def _insert(subject: Subject, grain: Grain, rows: str) -> str:
    names = [name for metric in subject.metrics for name in _columns(metric)]
    updates = ", ".join(f"{name} = excluded.{name}" for name in names)
    return (
        f"INSERT INTO {subject.table(grain)} ({subject.key}, at, {', '.join(names)}) {rows} "
        f"ON CONFLICT ({subject.key}, at) DO UPDATE SET {updates}"
    )


def _minute_sql(subject: Subject) -> str:
    sums = ", ".join(
        f"count({m}) AS {m}_n, sum({m}) AS {m}_sum, min({m}) AS {m}_min, max({m}) AS {m}_max, "
        f"array_agg({bin_sql(m)}) FILTER (WHERE {m} IS NOT NULL) AS {m}_bins"
        for m in subject.metrics
    )
    # A histogram of one value says nothing that count and minimum do not.
    columns = ", ".join(
        f"{m}_n, {m}_sum, {m}_min, {m}_max, CASE WHEN {m}_min < {m}_max THEN ("
        f"SELECT array_agg({packed_sql('bin', 'hits')} ORDER BY bin) "
        f"FROM (SELECT bin, count(*) AS hits FROM unnest({m}_bins) AS bin GROUP BY bin) AS counted) END"
        for m in subject.metrics
    )
    rows = (
        f"SELECT {subject.key}, %(at)s, {columns} FROM (SELECT {subject.key}, {sums} FROM ({subject.raw}) AS raw "
        f"WHERE at >= %(at)s AND at < %(until)s GROUP BY {subject.key}) AS summed"
    )
    return _insert(subject, Grain.MINUTE, rows)


def _hour_sql(subject: Subject) -> str:
    table, key = subject.table(Grain.MINUTE), subject.key
    sums = ", ".join(
        f"sum({m}_n) AS {m}_n, sum({m}_sum) AS {m}_sum, min({m}_min) AS {m}_min, max({m}_max) AS {m}_max"
        for m in subject.metrics
    )
    columns = ", ".join(
        f"{m}_n, {m}_sum, {m}_min, {m}_max, CASE WHEN {m}_min < {m}_max THEN ({_merged(table, key, m)}) END"
        for m in subject.metrics
    )
    rows = (
        f"SELECT {key}, %(at)s, {columns} FROM (SELECT {key}, {sums} FROM {table} "
        f"WHERE at >= %(at)s AND at < %(until)s GROUP BY {key}) AS summed"
    )
    return _insert(subject, Grain.HOUR, rows)


def _merged(table: str, key: str, metric: str) -> str:
    bin_, hits = unpacked_sql("entry")
    return (
        f"SELECT array_agg({packed_sql('bin', 'hits')} ORDER BY bin) "
        f"FROM (SELECT {bin_} AS bin, sum({hits})::bigint AS hits "
        f"FROM {table} AS part, unnest({entries_sql(metric)}) AS entry WHERE part.{key} = summed.{key} "
        f"AND part.at >= %(at)s AND part.at < %(until)s AND {metric}_n > 0 GROUP BY 1) AS counted"
    )


def entries_sql(metric: str) -> str:
    """SQL of the histogram of a roll-up's metric, also where all its readings were one value."""
    return f"coalesce({metric}_hist, ARRAY[{packed_sql(bin_sql(f'{metric}_min'), f'{metric}_n')}])"

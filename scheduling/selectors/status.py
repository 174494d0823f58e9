"""How the control plane itself is: its cycles, what waits for workers, agents, database and broker."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import Count
from redis.exceptions import RedisError

from controlplane.base import clock
from controlplane.base.broker import KEY_PREFIX, QUEUES
from inventory import streams
from inventory.models import Node, NodeState
from inventory.node_states import RESTING
from scheduling.models import Cycle

WINDOW = timedelta(hours=1)
MIB = 1 << 20

CYCLES = """
SELECT count(*), avg(wall_ms), percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY wall_ms),
       sum(placed + refused + stale), sum(wall_ms), sum(cpu_ms), sum(cache_hits), sum(cache_lookups)
FROM scheduling_cycle WHERE finished_at >= %(since)s
"""
# The time between the last look of one minute and the first of the next counts, also when the former is older than
# the window, and the time since the last of all.
PULSES = """
SELECT sum(looks) FILTER (WHERE lately), sum(skipped) FILTER (WHERE lately),
       max(greatest(longest_gap_ms, between_ms, 0)) FILTER (WHERE lately),
       extract(epoch FROM clock_timestamp() - max(last_at)) * 1000
FROM (SELECT *, minute >= %(since)s AS lately,
             extract(epoch FROM first_at - lag(last_at) OVER (ORDER BY minute)) * 1000 AS between_ms
      FROM scheduling_pulse
      WHERE minute >= coalesce((SELECT max(minute) FROM scheduling_pulse WHERE minute < %(since)s), %(since)s)
     ) AS pulses
"""
DATABASE = "SELECT pg_database_size(current_database()), current_setting('server_version')"


def status() -> dict[str, Any]:
    """All of it; what cannot be found out is null."""
    return {
        "at": clock.now(),
        "cycle": cycle_status(),
        "workers": worker_queues(),
        "agents": agents(),
        "database": database(),
        "valkey": valkey(),
    }


def cycle_status() -> dict[str, Any]:
    """The cycles and looks of the last hour; three queries."""
    since = {"since": clock.now() - WINDOW}
    with connection.cursor() as cursor:
        cursor.execute(CYCLES, since)
        count, mean, marks, decided, wall_ms, cpu_ms, hits, lookups = cursor.fetchone()
        cursor.execute(PULSES, since)
        looks, skipped, gap_ms, quiet_ms = cursor.fetchone()
    p50, p95, p99 = (None if mark is None else round(mark, 1) for mark in marks or (None,) * 3)
    gaps = [float(gap) for gap in (gap_ms, quiet_ms) if gap is not None]
    return {
        "last": last_cycle(),
        "looks_1h": looks or 0,
        "count_1h": count,
        "wall_ms": {"count": count, "mean": _rounded(mean), "p50": p50, "p95": p95, "p99": p99},
        "decisions_per_s": _rounded(decided * 1000 / wall_ms) if wall_ms else None,
        "cache_hit_percent": _rounded(hits * 100 / lookups) if lookups else None,
        "cpu_percent": None if cpu_ms is None else round(float(cpu_ms) / WINDOW.total_seconds() / 10, 3),
        "skipped_1h": skipped or 0,
        "longest_gap_s": round(max(gaps) / 1000, 3) if gaps else None,
    }


def _rounded(value: Any) -> float | None:
    return None if value is None else round(float(value), 1)


def last_cycle() -> dict[str, Any] | None:
    """The last finished cycle that looked at jobs."""
    done = Cycle.objects.filter(finished_at__isnull=False).order_by("-id")
    found = done.first()
    if found is None:
        return None
    names = ("wall_ms", "considered", "placed", "waiting")
    return {"at": found.started_at, **{name: getattr(found, name) for name in names}}


def worker_queues() -> list[dict[str, Any]]:
    """Messages that no worker has taken yet, per queue of the broker."""
    try:
        pipe = streams.client().pipeline(transaction=False)
        for name in QUEUES:
            pipe.llen(f"{KEY_PREFIX}{name}")
        waiting: list[int | None] = pipe.execute()
    except (RedisError, OSError):
        waiting = [None] * len(QUEUES)
    return [{"name": name, "waiting": count} for name, count in zip(QUEUES, waiting, strict=True)]


def agents() -> dict[str, Any]:
    """Agents that report, those that fell silent, and the versions that were last seen; nodes of a demo that does not
    run have none.
    """
    expected = Node.objects.exclude(RESTING).order_by()
    states = dict(expected.values_list("state").annotate(n=Count("id")))
    silent = states.get(NodeState.SILENT, 0) + states.get(NodeState.LOST, 0)
    rows = expected.exclude(agent_version="").values_list("agent_version")
    versions = rows.annotate(n=Count("id")).order_by("agent_version")
    return {
        "online": sum(states.values()) - silent - states.get(NodeState.ENROLLED, 0),
        "silent": silent,
        "versions": [{"version": version, "count": count} for version, count in versions],
    }


def database() -> dict[str, Any]:
    """It answers, or this would not be read."""
    with connection.cursor() as cursor:
        cursor.execute(DATABASE)
        size, version = cursor.fetchone()
    return {"ok": True, "size_mib": size // MIB, "version": version.split()[0]}


def valkey() -> dict[str, Any]:
    """The broker and its version; a Valkey says both its own and the Redis version that it is compatible with."""
    try:
        found = streams.client().info("server")
    except (RedisError, OSError):
        return {"ok": False, "version": None}
    return {"ok": True, "version": found.get("valkey_version") or found.get("redis_version")}

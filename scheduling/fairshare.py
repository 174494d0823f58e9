"""Counts what teams have had, from the placements of the time since the last count; under the cycle's lease."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from controlplane.base import clock
from scheduling.engine.fairshare import Usage, Whole, dominant_share_ppm
from scheduling.engine.types import TeamShare
from scheduling.models import TeamUsage, UsageCount

COUNT_EVERY = timedelta(seconds=60)
# What is older than that counts next to nothing when counting begins.
HALF_LIVES_AT_FIRST = 4
DAY_MS = 86_400_000
# Of every queue and team: what its placements held between two moments, as their bookings x the time, decayed as from
# the middle of it.
HELD = """
SELECT job.queue_id, job.team_id,
       round(sum(placement.device_milli * part.left_ms)),
       round(sum(1000 * jsonb_array_length(placement.cpus) * part.left_ms))
FROM scheduling_placement AS placement
JOIN queues_job AS job ON job.id = placement.job_id
CROSS JOIN LATERAL (
    SELECT 1000 * extract(epoch FROM greatest(placement.assigned_at, %(since)s))::float8 AS from_ms,
           1000 * extract(epoch FROM least(coalesce(placement.ended_at, %(now)s), %(now)s))::float8 AS to_ms
) AS held
CROSS JOIN LATERAL (
    SELECT (to_ms - from_ms) * power(0.5::float8, (%(now_ms)s - (from_ms + to_ms) / 2) / %(half_life_ms)s) AS left_ms
) AS part
WHERE placement.assigned_at < %(now)s AND (placement.ended_at IS NULL OR placement.ended_at > %(since)s)
GROUP BY 1, 2
"""
Part = tuple[int, int]


def team_shares() -> dict[int, tuple[TeamShare, ...]]:
    """By queue what its teams have had, as last counted; one query."""
    found: dict[int, list[TeamShare]] = defaultdict(list)
    rows = TeamUsage.objects.filter(share_ppm__gt=0).order_by("queue_id", "team_id")
    for queue, team, share_ppm in rows.values_list("queue_id", "team_id", "share_ppm"):
        found[queue].append(TeamShare(team, share_ppm))
    return {queue: tuple(shares) for queue, shares in found.items()}


def count_usage(whole: Whole, *, half_life_days: float) -> bool:
    """Bring all use up to now, once a minute at most; whether that was due. For one process at a time: it begins where
    the last count ended.
    """
    now, half_life_ms = clock.now(), int(DAY_MS * half_life_days)
    until = UsageCount.objects.values_list("until", flat=True).first()
    since = until or now - HALF_LIVES_AT_FIRST * timedelta(milliseconds=half_life_ms)
    if until is not None and now - until < COUNT_EVERY:
        return False
    elapsed_ms = clock.to_ms(now) - clock.to_ms(since)
    total = {part: used.decayed(elapsed_ms, half_life_ms=half_life_ms) for part, used in _counted().items()}
    for part, used in _held(since, now, half_life_ms).items():
        total[part] = total.get(part, Usage()).plus(used)
    with transaction.atomic():
        _store(total, whole, half_life_ms)
        UsageCount.objects.update_or_create(pk=1, defaults={"until": now})
    return True


def _counted() -> dict[Part, Usage]:
    columns = ("queue_id", "team_id", "device_milli_ms", "core_milli_ms")
    rows = TeamUsage.objects.values_list(*columns)
    return {(queue, team): Usage(int(devices), int(cores)) for queue, team, devices, cores in rows}


def _held(since: datetime, now: datetime, half_life_ms: int) -> dict[Part, Usage]:
    params: dict[str, Any] = {
        "since": since,
        "now": now,
        "now_ms": clock.to_ms(now),
        "half_life_ms": half_life_ms,
    }
    with connection.cursor() as cursor:
        cursor.execute(HELD, params)
        return {(queue, team): Usage(int(d), int(c)) for queue, team, d, c in cursor.fetchall()}


def _store(total: dict[Part, Usage], whole: Whole, half_life_ms: int) -> None:
    TeamUsage.objects.bulk_create(
        (
            TeamUsage(
                queue_id=queue,
                team_id=team,
                device_milli_ms=used.device_milli_ms,
                core_milli_ms=used.core_milli_ms,
                share_ppm=dominant_share_ppm(used, whole, half_life_ms=half_life_ms),
            )
            for (queue, team), used in sorted(total.items())
        ),
        update_conflicts=True,
        unique_fields=["queue", "team"],
        update_fields=["device_milli_ms", "core_milli_ms", "share_ppm"],
    )

"""What images cost the jobs that waited for them: how many starts found theirs, and the share of fetching in waits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection

from controlplane.base import clock
from inventory.images.starts import hits_of_all
from scheduling.selectors.shares import NO_WAITS, in_seconds

_WAITS = """
SELECT count(*), sum(pull_ms), sum(waited_ms),
       avg(pull_ms), percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY pull_ms),
       avg(waited_ms), percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY waited_ms)
FROM (SELECT image_pull_ms AS pull_ms, held_ms + pending_ms + image_pull_ms + start_ms AS waited_ms
      FROM queues_job WHERE started_at >= %s AND spec ->> 'image' IS NOT NULL) AS started
"""


def summary(days: int) -> dict[str, Any]:
    """Of the jobs with an image that started in these days; seconds. The share is null where nobody waited."""
    starts, hits = hits_of_all(days)
    with connection.cursor() as cursor:
        cursor.execute(_WAITS, [clock.now() - timedelta(days=days)])
        count, pulls, waits, pull_mean, pull_marks, wait_mean, wait_marks = cursor.fetchone()
    return {
        "days": days,
        "starts": starts,
        "hits": hits,
        "pull_s": in_seconds(count, pull_mean, pull_marks) if count else NO_WAITS,
        "wait_s": in_seconds(count, wait_mean, wait_marks) if count else NO_WAITS,
        "pull_percent": round(float(100 * pulls / waits), 1) if waits else None,
    }

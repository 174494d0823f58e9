"""Arrays as people see them: one row each, with how many of their tasks stand where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.db.models import Count

from queues.models import LIVE_STATUSES, Job, JobArray, JobStatus


def array_views(arrays: Sequence[JobArray]) -> list[dict[str, Any]]:
    """Views of arrays loaded with queue, team and owner; one query for all counts."""
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    rows = Job.objects.filter(array__in=arrays).order_by().values_list("array_id", "status")
    for array, status, count in rows.annotate(n=Count("id")):
        counts[array][status] = count
    return [_view(array, counts[array.pk]) for array in arrays]


def _view(array: JobArray, counts: dict[str, int]) -> dict[str, Any]:
    return {
        "id": array.pk,
        "name": array.name,
        "queue": array.queue.name,
        "team": array.team.slug,
        "owner": array.owner.username,
        "tasks": array.tasks,
        "at_once": array.at_once,
        "submitted_at": array.submitted_at,
        "counts": {status.value: counts.get(status.value, 0) for status in JobStatus},
        "over": not any(counts.get(status.value) for status in LIVE_STATUSES),
    }

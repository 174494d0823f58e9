"""Capacity, bookings and waits: of the cluster, and of each queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Count, Q, Sum

from controlplane.base import clock
from queues.models import LIVE_STATUSES, Job, JobStatus, Queue
from scheduling.engine.quantities import split_by_largest_remainder
from scheduling.engine.state import ClusterState
from scheduling.engine.types import PPM, WHOLE_MILLI
from scheduling.models import CoreBooking, Slice

WINDOW = timedelta(hours=24)
CORE_MILLI = 1000
NO_WAITS = {"count": 0, "mean": None, "p50": None, "p95": None, "p99": None}

WAITS = """
SELECT queue_id, count(*), avg(waited_ms),
       percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY waited_ms)
FROM (SELECT queue_id, held_ms + pending_ms + image_pull_ms + start_ms AS waited_ms
      FROM queues_job WHERE started_at >= %s) AS started
GROUP BY queue_id
"""


@dataclass(frozen=True)
class Capacity:
    """What takes jobs: devices that are usable and cores that are not reserved, on ready nodes."""

    devices: int
    device_milli: int
    cores: int


def capacity_of(state: ClusterState) -> Capacity:
    """The schedulable capacity of a state."""
    takes = state.node.ready & ~state.node.observe_only
    usable = state.device.usable & takes[state.joins().device_node]
    devices = int(np.count_nonzero(usable))
    return Capacity(devices, devices * WHOLE_MILLI, int(state.node.cores_total[takes].sum()))


def wait_stats(since: datetime | None = None) -> dict[int, dict[str, Any]]:
    """Seconds that jobs started in the last day had waited, by queue id; one query."""
    with connection.cursor() as cursor:
        cursor.execute(WAITS, [since or clock.now() - WINDOW])
        return {queue: in_seconds(count, mean, marks) for queue, count, mean, marks in cursor.fetchall()}


def in_seconds(count: int, mean_ms: Any, marks_ms: list[float]) -> dict[str, Any]:
    """Mean and P50, P95, P99, given in milliseconds."""
    p50, p95, p99 = (round(mark / 1000, 3) for mark in marks_ms)
    return {"count": count, "mean": round(float(mean_ms) / 1000, 3), "p50": p50, "p95": p95, "p99": p99}


def live_counts() -> dict[int, dict[str, int]]:
    """How many jobs of each queue stand in each live status; one query."""
    rows = Job.objects.filter(status__in=LIVE_STATUSES).order_by().values_list("queue_id", "status")
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for queue, status, count in rows.annotate(count=Count("id")):
        found[queue][status] = count
    return found


@dataclass(frozen=True)
class Booked:
    """What a queue books of devices, and of cores for its jobs without devices: what its caps are about; and how much
    of that it borrowed.
    """

    device_milli: int = 0
    core_milli: int = 0
    borrowed_device_milli: int = 0
    borrowed_core_milli: int = 0


def booked_by_queue() -> dict[int, Booked]:
    """By queue; two queries."""
    column, borrowed = "placement__job__queue_id", Q(placement__borrowed=True)
    devices = _by_queue(
        Slice.objects.order_by()
        .values_list(column)
        .annotate(Sum("compute_milli"), part=Sum("compute_milli", filter=borrowed))
    )
    alone = CoreBooking.objects.filter(placement__slices=None).order_by()
    cores = _by_queue(alone.values_list(column).annotate(Count("id"), part=Count("id", filter=borrowed)))
    return {
        queue: Booked(
            device_milli=devices.get(queue, NO_PART)[0],
            core_milli=CORE_MILLI * cores.get(queue, NO_PART)[0],
            borrowed_device_milli=devices.get(queue, NO_PART)[1],
            borrowed_core_milli=CORE_MILLI * cores.get(queue, NO_PART)[1],
        )
        for queue in devices.keys() | cores.keys()
    }


NO_PART = (0, 0)


def _by_queue(rows: Iterable[tuple[int, int, int | None]]) -> dict[int, tuple[int, int]]:
    return {queue: (total, part or 0) for queue, total, part in rows}


def queue_views(capacity: Capacity) -> list[dict[str, Any]]:
    """All queues, most important first; five queries."""
    queues = list(Queue.objects.select_related("pause").order_by("closed", "-priority", "name"))
    counts, booked, waits = live_counts(), booked_by_queue(), wait_stats()
    caps = _caps(queues, capacity)
    return [
        _queue_view(
            queue, capacity, caps[queue.pk], booked.get(queue.pk, Booked()), counts.get(queue.pk, {}), waits
        )
        for queue in queues
    ]


def _caps(queues: list[Queue], capacity: Capacity) -> dict[int, tuple[int | None, int | None]]:
    """Quotas in whole milli; together they never lose one by rounding, in the order in which the engine rounds them."""
    capped = [queue for queue in queues if queue.quota_ppm is not None]
    capped.sort(key=lambda queue: (-queue.priority, queue.name))
    shares = [queue.quota_ppm or 0 for queue in capped]
    devices = split_by_largest_remainder(capacity.device_milli, shares)
    cores = split_by_largest_remainder(capacity.cores * CORE_MILLI, shares)
    found = {queue.pk: (d, c) for queue, d, c in zip(capped, devices, cores, strict=True)}
    return {queue.pk: found.get(queue.pk, (None, None)) for queue in queues}


def _queue_view(
    queue: Queue,
    capacity: Capacity,
    caps: tuple[int | None, int | None],
    booked: Booked,
    counts: dict[str, int],
    waits: dict[int, dict[str, Any]],
) -> dict[str, Any]:
    return {
        "id": queue.pk,
        "name": queue.name,
        "priority": queue.priority,
        "quota_percent": None if queue.quota_ppm is None else queue.quota_ppm * 100 / PPM,
        "model_caps": {model: ppm * 100 / PPM for model, ppm in sorted(queue.model_caps_ppm.items())},
        "preemptable": queue.preemptable,
        "borrow": queue.borrow,
        "closed": queue.closed,
        "paused": hasattr(queue, "pause"),
        "pending": counts.get(JobStatus.PENDING, 0),
        "starting": counts.get(JobStatus.STARTING, 0),
        "running": counts.get(JobStatus.RUNNING, 0),
        "booked_device_milli": booked.device_milli,
        "booked_core_milli": booked.core_milli,
        "borrowed_device_milli": booked.borrowed_device_milli,
        "borrowed_core_milli": booked.borrowed_core_milli,
        "capacity_device_milli": capacity.device_milli,
        "capacity_core_milli": capacity.cores * CORE_MILLI,
        "cap_device_milli": caps[0],
        "cap_core_milli": caps[1],
        "wait_s": waits.get(queue.pk, NO_WAITS),
    }

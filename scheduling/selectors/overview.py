"""The overview: the cluster in one answer, each figure from one aggregate query."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q, Sum

from controlplane.accounts.models import User
from controlplane.accounts.scoping import visible_to
from controlplane.alerts.silences import open_counts
from controlplane.base import clock
from inventory.health import TAKES_JOBS
from inventory.models import Device, DeviceHealth, DeviceReading, Node, NodeReading, NodeState
from queues.models import LIVE_STATUSES, Job, JobStatus, Queue
from scheduling.models import LIVE_PHASES, CoreBooking, Placement, ShapeReason, Slice
from scheduling.selectors.live import live_view
from scheduling.selectors.marks import percent_marks
from scheduling.selectors.shares import NO_WAITS, WINDOW, Capacity, capacity_of, live_counts, wait_stats
from scheduling.selectors.status import last_cycle

SCHEDULABLE = Q(health__in=TAKES_JOBS, cordoned=False, node__state=NodeState.READY)
# Readings older than this say nothing about now.
FRESH = timedelta(minutes=2)


def overview(user: User) -> dict[str, Any]:
    """What a person sees first; jobs are counted as far as this caller may see them, machines wholly."""
    now = clock.now()
    capacity = capacity_of(live_view(pending=False).state)
    return {
        "at": now,
        "nodes": _by_state(),
        "devices": _by_health(),
        "accelerators": _accelerators(capacity),
        "cpu": _cpu(capacity),
        "memory": _memory(),
        "power_w": _power_w(),
        "jobs": _jobs(user),
        "queues": _queues(),
        "waiting": _waiting(user),
        "alerts": open_counts(),
        "cycle": last_cycle(),
    }


def _by_state() -> dict[str, int]:
    counts = dict(Node.objects.order_by().values_list("state").annotate(n=Count("id")))
    return {"total": sum(counts.values())} | {state.value: counts.get(state, 0) for state in NodeState}


def _by_health() -> dict[str, int]:
    wholes = Device.objects.filter(parent=None)
    counts = dict(wholes.order_by().values_list("health").annotate(n=Count("id")))
    schedulable = wholes.filter(SCHEDULABLE).count()
    by_health = {health.value: counts.get(health, 0) for health in DeviceHealth}
    return {"total": sum(counts.values()), "schedulable": schedulable} | by_health


def _percent(part: int | None, whole: int | None) -> float | None:
    """A share in per cent, never above 100 though capacity may have shrunk below what is booked; None
    without a whole.
    """
    if part is None or not whole:
        return None
    return round(min(100.0, part * 100 / whole), 1)


def _accelerators(capacity: Capacity) -> dict[str, Any]:
    booked = Slice.objects.aggregate(total=Sum("compute_milli"))["total"] or 0
    fresh = DeviceReading.objects.filter(at__gte=_fresh_since(), utilization_pct__isnull=False)
    return {
        "booked_percent": _percent(booked, capacity.device_milli),
        "measured_percent": percent_marks(
            value for value in fresh.values_list("utilization_pct", flat=True) if value is not None
        ),
    }


def _fresh_since() -> datetime:
    return clock.now() - FRESH


def _cpu(capacity: Capacity) -> dict[str, Any]:
    booked = CoreBooking.objects.count()
    fresh = NodeReading.objects.filter(at__gte=_fresh_since(), cpu_used_milli__isnull=False)
    measured = fresh.aggregate(used=Sum("cpu_used_milli"), cores=Sum("node__cpu_count"))
    return {
        "booked_percent": _percent(booked, capacity.cores),
        "measured_percent": _percent(measured["used"], (measured["cores"] or 0) * 1000),
        "cores": capacity.cores,
        "booked_cores": booked,
    }


def _memory() -> dict[str, Any]:
    total = Node.objects.filter(state=NodeState.READY).aggregate(total=Sum("memory_mib"))["total"] or 0
    live = Placement.objects.filter(phase__in=LIVE_PHASES)
    booked = live.aggregate(total=Sum("host_memory_mib"))["total"] or 0
    fresh = NodeReading.objects.filter(at__gte=_fresh_since(), memory_used_mib__isnull=False)
    measured = fresh.aggregate(used=Sum("memory_used_mib"), total=Sum("node__memory_mib"))
    return {
        "booked_percent": _percent(booked, total),
        "measured_percent": _percent(measured["used"], measured["total"]),
        "total_mib": total,
        "booked_mib": booked,
        "used_mib": measured["used"],
    }


def _power_w() -> int | None:
    """Measured draw: of whole nodes where known, of their accelerators otherwise; None when nobody measures."""
    since = _fresh_since()
    nodes = NodeReading.objects.filter(at__gte=since, power_mw__isnull=False)
    devices = DeviceReading.objects.filter(at__gte=since, power_mw__isnull=False)
    devices = devices.exclude(
        device__node__reading__at__gte=since, device__node__reading__power_mw__isnull=False
    )
    parts = [rows.aggregate(total=Sum("power_mw"))["total"] for rows in (nodes, devices)]
    known = [part for part in parts if part is not None]
    return sum(known) // 1000 if known else None


def _jobs(user: User) -> dict[str, int]:
    since = clock.now() - WINDOW
    # What is over for longer is in no figure, and most of the table after a while.
    recent = Job.objects.filter(Q(status__in=LIVE_STATUSES) | Q(finished_at__gte=since))
    counted = visible_to(user, recent).aggregate(
        pending=Count("id", filter=Q(status=JobStatus.PENDING)),
        starting=Count("id", filter=Q(status=JobStatus.STARTING)),
        running=Count("id", filter=Q(status=JobStatus.RUNNING)),
        held=Count("id", filter=Q(status=JobStatus.HELD)),
        finished_24h=Count("id", filter=Q(finished_at__gte=since)),
        failed_24h=Count("id", filter=Q(finished_at__gte=since, status=JobStatus.FAILED)),
    )
    return {name: int(count) for name, count in counted.items()}


def _queues() -> list[dict[str, Any]]:
    counts, waits = live_counts(), wait_stats()
    return [
        {
            "name": name,
            "pending": counts.get(queue, {}).get(JobStatus.PENDING, 0),
            "running": counts.get(queue, {}).get(JobStatus.RUNNING, 0),
            "wait_s": waits.get(queue, NO_WAITS),
        }
        for queue, name in Queue.objects.filter(closed=False)
        .order_by("-priority", "name")
        .values_list("id", "name")
    ]


def _waiting(user: User) -> list[dict[str, Any]]:
    """Dominant reasons of the jobs that wait, most frequent first."""
    waiting = visible_to(user, Job.objects.filter(status=JobStatus.PENDING))
    by_shape = dict(waiting.order_by().values_list("shape").annotate(n=Count("id")))
    codes = (
        dict(ShapeReason.objects.filter(shape__in=by_shape).values_list("shape", "code")) if by_shape else {}
    )
    tally: dict[str, int] = {}
    for shape, count in by_shape.items():
        code = codes.get(shape, "not-looked-at")
        tally[code] = tally.get(code, 0) + count
    return [
        {"code": code, "count": n} for code, n in sorted(tally.items(), key=lambda item: (-item[1], item[0]))
    ]

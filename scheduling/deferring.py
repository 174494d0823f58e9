"""Jobs that can wait for a quieter time: kept until the valley window opens, the cluster has been idle for long enough,
or their latest start has come; kept again when the window closes before they got a place.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Count, Q, QuerySet, Sum

from controlplane.base import clock
from controlplane.policy.document import ValleyWindow
from inventory.health import TAKES_JOBS
from inventory.models import Device, Node, NodeState
from queues import lifecycle, waiting
from queues.models import WAITING_STATUSES, Job, JobStatus, Lull
from scheduling.models import CoreBooking, Slice
from scheduling.simulator.windows import Valley

# One look does not keep a cycle for long; what is left is found by the next.
MOST_JOBS = 500
OPENED, QUIET, LATEST = "window-opened", "cluster-quiet", "latest-start"


@dataclass(frozen=True)
class Season:
    """Whether deferrable jobs may start now, and why (`code`); else when the window opens (None: never), or sooner the
    cluster will have been idle for long enough (None: it is not idle).
    """

    code: str | None
    opens_at: datetime | None
    early_at: datetime | None


def valley_of(window: ValleyWindow) -> Valley | None:
    """The policy's window; None when it begins and ends at the same time and so is never open."""
    if window.from_ == window.to:
        return None
    return Valley(time.fromisoformat(window.from_), time.fromisoformat(window.to), ZoneInfo(window.time_zone))


def season(window: ValleyWindow, now: datetime, lull_since: datetime | None) -> Season:
    """How deferrable jobs stand at this moment."""
    early_at = None if lull_since is None else lull_since + timedelta(seconds=window.early_after_s)
    valley, now_ms = valley_of(window), clock.to_ms(now)
    if valley is not None and valley.is_open(now_ms):
        return Season(OPENED, now, early_at)
    opens_at = None if valley is None else clock.from_ms(valley.next_change_ms(now_ms))
    return Season(QUIET if early_at is not None and early_at <= now else None, opens_at, early_at)


def current_season(window: ValleyWindow) -> Season:
    """The same for now; one query."""
    return season(window, clock.now(), Lull.objects.values_list("since", flat=True).first())


def defer_or_let_go(window: ValleyWindow) -> int:
    """Note whether the cluster is idle, and bring deferrable jobs in line with the season; how many changed."""
    _note_lull(window)
    waits = Job.objects.filter(deferrable=True, status__in=WAITING_STATUSES)
    if not waits.exists():
        return 0
    now, found = clock.now(), current_season(window)
    due = Q(latest_start__lte=now)
    if found.code is not None:
        return _each(waits.filter(deferred=True), deferred=False, code=found.code)
    return _each(waits.filter(due, deferred=True), deferred=False, code=LATEST) + _each(
        waits.filter(deferred=False).exclude(due), deferred=True, code=None
    )


def _each(jobs: QuerySet[Job], *, deferred: bool, code: str | None) -> int:
    found = list(jobs.order_by("pk").values_list("pk", flat=True)[:MOST_JOBS])
    changed = 0
    for number in found:
        with transaction.atomic():
            job = lifecycle.lock_jobs([number]).get(number)
            if job is not None and job.status in WAITING_STATUSES and job.deferred != deferred:
                changed += waiting.settle(job, code=code, deferred=deferred)
    return changed


def _note_lull(window: ValleyWindow) -> None:
    others = Job.objects.filter(status=JobStatus.PENDING, deferrable=False)
    quiet = booked_percent() < window.early_below_percent and not others.exists()
    if not quiet:
        Lull.objects.all().delete()
    elif not Lull.objects.exists():
        Lull.objects.create(pk=1, since=clock.now())


def booked_percent() -> float:
    """The share of the schedulable devices that is booked, of the cores where there are no devices; 100 of nothing."""
    usable = Q(health__in=TAKES_JOBS, cordoned=False, node__state=NodeState.READY, parent=None)
    whole_milli = 1000 * Device.objects.filter(usable).count()
    if whole_milli:
        taken = Slice.objects.aggregate(total=Sum("compute_milli"))["total"] or 0
        return 100 * taken / whole_milli
    cores = Node.objects.filter(state=NodeState.READY).aggregate(total=Sum("cpu_count"))["total"]
    taken = CoreBooking.objects.aggregate(total=Count("id"))["total"]
    return 100 * taken / cores if cores else 100.0


def coming_windows(window: ValleyWindow, now: datetime, *, days: int) -> list[tuple[datetime, datetime]]:
    """When the window is open within the next days, the present one with what is left of it."""
    valley = valley_of(window)
    found: list[tuple[datetime, datetime]] = []
    if valley is None:
        return found
    at_ms, until_ms = clock.to_ms(now), clock.to_ms(now + timedelta(days=days))
    while at_ms < until_ms:
        change_ms = valley.next_change_ms(at_ms)
        if valley.is_open(at_ms):
            found.append((clock.from_ms(at_ms), clock.from_ms(change_ms)))
        at_ms = change_ms
    return found

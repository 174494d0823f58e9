"""Which jobs the scheduler expects: the most frequent requests of recent history, kept in one row."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import msgspec
from django.db.models import Count, Max, Min, QuerySet

from controlplane.base import clock
from queues.models import Job
from queues.spec import decode_spec
from scheduling.engine.types import ExpectedShape, Request
from scheduling.imports import count_requests
from scheduling.models import ExpectedJobs
from scheduling.requests import request_of

HISTORY = timedelta(days=14)
# What is looked at of a longer history: the newest jobs.
MOST_JOBS = 50_000
MOST_SHAPES = 200
MOST_CLASSES = 12


def expected_jobs() -> tuple[ExpectedShape, ...]:
    """The classes as last refreshed, most frequent first; empty while there is no history. One query."""
    shapes = ExpectedJobs.objects.values_list("shapes", flat=True).first()
    return msgspec.convert(shapes or [], tuple[ExpectedShape, ...])


def refresh_expected() -> int:
    """Count the requests of the last 14 days anew; the number of classes."""
    classes = [ExpectedShape(request, weight) for request, weight in _counted().most_common(MOST_CLASSES)]
    ExpectedJobs.objects.update_or_create(
        pk=1, defaults={"shapes": msgspec.to_builtins(classes), "computed_at": clock.now()}
    )
    return len(classes)


def _counted() -> Counter[Request]:
    """The cluster's own history and, as much as that lacks of 14 days, what was imported from the time before."""
    recent = Job.objects.filter(submitted_at__gte=clock.now() - HISTORY)
    first = recent.aggregate(at=Min("submitted_at"))["at"]
    lacking = HISTORY if first is None else HISTORY - (clock.now() - first)
    found = _own(recent)
    for request, count in count_requests(HISTORY, most=MOST_SHAPES).items():
        found[_plain(request)] += round(count * (lacking / HISTORY))
    return +found


def _own(recent: QuerySet[Job]) -> Counter[Request]:
    """How often each request was submitted; where a job has been, and what it may not use, is of no interest."""
    newest = Job.objects.order_by("-id").values("pk")[:MOST_JOBS]
    rows = (
        recent.filter(pk__in=newest)
        .order_by()
        .values_list("shape")
        .annotate(count=Count("id"), job=Max("id"))
    )
    frequent = sorted(rows, key=lambda row: (-row[1], row[0]))[:MOST_SHAPES]
    specs = dict(Job.objects.filter(pk__in=[row[2] for row in frequent]).values_list("pk", "spec"))
    found: Counter[Request] = Counter()
    for _shape, count, job in frequent:
        found[_plain(request_of(decode_spec(specs[job])))] += count
    return found


def _plain(request: Request) -> Request:
    """What decides about room; the place of data decides only between rooms."""
    return replace(request, image=None, datasets=(), read_bandwidth_mib_s=None)

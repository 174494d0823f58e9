"""Past jobs of another scheduler: into the database as a named source, and what is expected of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Count, Max, QuerySet

from controlplane.base import clock
from queues.models import Queue
from scheduling.engine.codec import decode, encode
from scheduling.engine.types import Request
from scheduling.models import ImportedJob
from scheduling.simulator.traces.errors import TraceError
from scheduling.simulator.traces.past import PastJob, read_past
from scheduling.simulator.traces.sacct import read_sacct

_CHUNK = 2000
_UPDATED = ("queue", "team", "request", "replicas", "submitted_at", "waited_ms", "duration_ms", "imported_at")


class Format(StrEnum):
    """Of a file with past jobs."""

    CSV = "csv"
    SACCT = "sacct"


_READERS: dict[Format, Callable[[Path, ZoneInfo], Iterator[PastJob]]] = {
    Format.CSV: read_past,
    Format.SACCT: read_sacct,
}


@dataclass(frozen=True, slots=True)
class Queues:
    """Which queue a job of the source belongs to: by what `renamed` says, by the same name, else `other`."""

    known: Mapping[str, Queue]
    renamed: Mapping[str, str]
    other: str | None

    def of(self, job: PastJob) -> Queue:
        """The queue; TraceError where none is named."""
        asked = self.renamed.get(job.queue, job.queue)
        found = self.known.get(asked) or self.known.get(self.other or "")
        if found is None:
            problem = f"job {job.job!r} is of {job.queue!r}, which is no queue here"
            fix = f"say --map {job.queue or 'NAME'}=QUEUE, or --queue QUEUE for all others"
            raise TraceError(job.row.file, problem, fix=fix, line=job.row.line)
        return found


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did; `ran` is how many of the jobs have a run time."""

    new: int
    renewed: int
    ran: int


@transaction.atomic
def import_jobs(path: Path, form: Format, *, source: str, zone: ZoneInfo, queues: Queues) -> Imported:
    """All jobs of the file or, with a TraceError, none; those that the source brought before are renewed."""
    before = ImportedJob.objects.filter(source=source).count()
    total = ran = 0
    now = clock.now()
    jobs = _READERS[form](path, zone)
    while chunk := list(islice(jobs, _CHUNK)):
        rows = [
            ImportedJob(
                source=source,
                name=job.job,
                queue=queues.of(job),
                team=job.team,
                request=json.loads(encode(job.request)),
                replicas=job.replicas,
                submitted_at=clock.from_ms(job.submitted_ms),
                waited_ms=job.waited_ms,
                duration_ms=job.duration_ms,
                imported_at=now,
            )
            for job in chunk
        ]
        ImportedJob.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["source", "name"], update_fields=_UPDATED
        )
        total += len(rows)
        ran += sum(job.duration_ms is not None for job in chunk)
    new = ImportedJob.objects.filter(source=source).count() - before
    return Imported(new=new, renewed=total - new, ran=ran)


def last_jobs(back: timedelta, *, source: str | None = None) -> QuerySet[ImportedJob]:
    """Jobs of one source, or of all, that were submitted at most so long before the newest of them."""
    jobs = ImportedJob.objects.all() if source is None else ImportedJob.objects.filter(source=source)
    last = jobs.aggregate(at=Max("submitted_at"))["at"]
    return jobs.none() if last is None else jobs.filter(submitted_at__gte=last - back)


def count_requests(back: timedelta, *, most: int) -> Counter[Request]:
    """How often each of the most frequent requests was made in that time."""
    rows = last_jobs(back).order_by().values_list("request").annotate(count=Count("id"))
    frequent = sorted(rows, key=lambda row: (-row[1], json.dumps(row[0], sort_keys=True)))[:most]
    found: Counter[Request] = Counter()
    for request, count in frequent:
        found[stored_request(request)] += count
    return found


def stored_request(stored: object) -> Request:
    """The request of a row."""
    return decode(Request, json.dumps(stored))

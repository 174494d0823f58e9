"""`manage.py export_history --days N --out FILE`: the cluster's own past for `python -m scheduling.simulator`."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet

from controlplane.base import clock
from queues.models import Job
from queues.spec import decode_spec
from scheduling.engine.emptying import emptied
from scheduling.imports import last_jobs, stored_request
from scheduling.models import ImportedJob, Placement
from scheduling.policy_bridge import lasting_policy
from scheduling.requests import request_of, sized_requests
from scheduling.simulator.traces.history import HistoryHead, HistoryJob, line
from scheduling.snapshot import load_nodes

_MOST_DAYS = 3650
_CHUNK = 2000


class Command(BaseCommand):
    """Names no people, teams, jobs or commands. Besides numbers and times it holds the names of nodes, node sets,
    device models, labels, images, data sets and queues.
    """

    help = "Write nodes, policy and the jobs submitted in the last N days as JSON lines."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--days", type=int, required=True, help=f"how far back, 1 to {_MOST_DAYS}")
        parser.add_argument(
            "--imported",
            metavar="SOURCE",
            help="the jobs of this import instead, N days back from its last job",
        )
        parser.add_argument("--out", type=Path, required=True, help="the file to write")

    def handle(self, *args: Any, **options: Any) -> None:
        days, out = options["days"], options["out"]
        if not 1 <= days <= _MOST_DAYS:
            raise CommandError(f"--days: must lie between 1 and {_MOST_DAYS}, not {days}")
        jobs = _own(days) if options["imported"] is None else _imported(options["imported"], days)
        try:
            written = _write(out.resolve(), _lines(jobs))
        except OSError as error:
            raise CommandError(f"{out}: {error.strerror or error}") from None
        if options["verbosity"] > 0:
            self.stdout.write(f"{written} lines written to {out}")


def _write(out: Path, lines: Iterator[str]) -> int:
    """How many lines; a file is there whole or as it was, what is no regular file is only written to."""
    if out.exists() and not out.is_file():
        with out.open("w", encoding="utf-8") as stream:
            return _write_all(stream, lines)
    part = out.with_name(out.name + ".part")
    try:
        with part.open("w", encoding="utf-8") as file:
            written = _write_all(file, lines)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return written


def _write_all(stream: TextIO, lines: Iterator[str]) -> int:
    return sum(1 for text in lines if stream.write(text))


@dataclass(frozen=True, slots=True)
class _Past:
    """Jobs of a stretch of time."""

    since: datetime
    until: datetime
    jobs: Iterator[HistoryJob]


def _lines(past: _Past) -> Iterator[str]:
    head = HistoryHead(from_ms=clock.to_ms(past.since), until_ms=clock.to_ms(past.until))
    yield line("head", head)
    yield line("policy", lasting_policy())
    for info in load_nodes():
        yield line("node", emptied(info))
    for job in past.jobs:
        yield line("job", job)


def _own(days: int) -> _Past:
    until = clock.now()
    since = until - timedelta(days=days)
    return _Past(since, until, _own_jobs(since, until))


def _own_jobs(since: datetime, until: datetime) -> Iterator[HistoryJob]:
    jobs = Job.objects.filter(submitted_at__gte=since, submitted_at__lte=until).order_by("submitted_at", "id")
    rows = jobs.iterator(chunk_size=_CHUNK)
    chunks = iter(lambda: list(islice(rows, _CHUNK)), [])
    return chain.from_iterable(_history(chunk, until) for chunk in chunks)


def _imported(source: str, days: int) -> _Past:
    jobs = last_jobs(timedelta(days=days), source=source).order_by("submitted_at", "id")
    last = jobs.last()
    if last is None:
        raise CommandError(f"--imported: {source!r} was not imported; manage.py import_history does that")
    until = last.submitted_at
    return _Past(until - timedelta(days=days), until, _imported_jobs(jobs))


def _imported_jobs(jobs: QuerySet[ImportedJob]) -> Iterator[HistoryJob]:
    """Teams of the source become numbers in order of appearance."""
    teams: dict[str, int] = {}
    for job in jobs.iterator(chunk_size=_CHUNK):
        yield HistoryJob(
            job=job.pk,
            queue=job.queue_id,
            team=teams.setdefault(job.team, len(teams) + 1),
            priority=0,
            submitted_ms=clock.to_ms(job.submitted_at),
            request=stored_request(job.request),
            duration_ms=job.duration_ms,
            waited_ms=job.waited_ms,
            replicas=job.replicas,
        )


def _history(jobs: Sequence[Job], until: datetime) -> Iterator[HistoryJob]:
    ran = _last_runs([job.pk for job in jobs])
    requests = sized_requests({job.pk: request_of(decode_spec(job.spec)) for job in jobs})
    for job in jobs:
        run = ran.get(job.pk)
        yield HistoryJob(
            job=job.pk,
            queue=job.queue_id,
            team=job.team_id,
            priority=job.priority,
            submitted_ms=clock.to_ms(job.submitted_at),
            request=requests[job.pk],
            duration_ms=None if run is None else _ms_between(run[0], run[1] or until),
            waited_ms=None if job.started_at is None else _ms_between(job.submitted_at, job.started_at),
            replicas=job.replicas,
            deferrable=job.deferrable,
            latest_start_ms=None if job.latest_start is None else clock.to_ms(job.latest_start),
        )


def _last_runs(jobs: Sequence[int]) -> dict[int, tuple[datetime, datetime | None]]:
    """Begin and end of the last attempt of each job that ran at all."""
    rows = Placement.objects.filter(job_id__in=jobs, running_at__isnull=False).order_by("attempt", "id")
    times = rows.values_list("job_id", "running_at", "ended_at")
    return {job: (began, ended) for job, began, ended in times if began is not None}


def _ms_between(first: datetime, last: datetime) -> int:
    return max(0, clock.to_ms(last) - clock.to_ms(first))

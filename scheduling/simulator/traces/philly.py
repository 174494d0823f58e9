"""The Philly 2017 job table (CSV, also gzip): timestamp, duration s, num_gpus, cluster (the virtual cluster).

Timestamps carry no zone and are taken as UTC. A job that needs more devices than a node has becomes equal
replicas that start together; a number that does not divide is rounded up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from scheduling.engine.types import Request
from scheduling.simulator.jobs import SimJob
from scheduling.simulator.policy import TRAINING
from scheduling.simulator.traces.files import Row, read_csv
from scheduling.simulator.traces.ranges import SPAN_MS, TIME_MS

COLUMNS = ("timestamp", "duration", "num_gpus", "cluster")
_MOST_DEVICES = 1024


@dataclass(frozen=True, slots=True)
class PhillyJob:
    """One line of the table."""

    submitted_ms: int
    duration_ms: int
    devices: int
    virtual_cluster: str


def read_jobs(path: Path, *, since: datetime | None = None) -> list[PhillyJob]:
    """All jobs submitted at or after `since`, in order of submission (ties: the order of the file)."""
    first_ms = 0 if since is None else _epoch_ms(since)
    jobs = (_job(row) for row in read_csv(path, COLUMNS))
    return sorted((j for j in jobs if j.submitted_ms >= first_ms), key=lambda j: j.submitted_ms)


def sim_jobs(jobs: Iterable[PhillyJob], *, devices_per_node: int) -> list[SimJob]:
    """Jobs of the training queue, whole devices, no demand on cores or memory; a team per virtual cluster."""
    known = list(jobs)
    teams = {name: number for number, name in enumerate(sorted({j.virtual_cluster for j in known}), start=1)}
    requests: dict[int, Request] = {}
    found = []
    for number, job in enumerate(known, start=1):
        replicas = max(1, -(-job.devices // devices_per_node))
        each = -(-job.devices // replicas)
        request = requests.setdefault(each, Request(devices=each, cores=0))
        team = teams[job.virtual_cluster]
        found.append(
            SimJob(number, TRAINING, job.submitted_ms, job.duration_ms, request, team=team, replicas=replicas)
        )
    return found


def _job(row: Row) -> PhillyJob:
    raw = row.named("timestamp")
    try:
        at = datetime.fromisoformat(raw)
    except ValueError:
        row.refuse("timestamp", f"{raw[:40]!r} is no time", fix="write it like 2017-10-09 07:01:55")
    submitted_ms = _epoch_ms(at)
    if not TIME_MS[0] <= submitted_ms <= TIME_MS[1]:
        row.refuse("timestamp", f"{raw[:40]!r} lies not between 1970 and 2200", fix="correct the year")
    return PhillyJob(
        submitted_ms=submitted_ms,
        duration_ms=int(row.number("duration", most=SPAN_MS[1] // 1000) * 1000),
        devices=row.whole("num_gpus", most=_MOST_DEVICES),
        virtual_cluster=row.named("cluster"),
    )


def _epoch_ms(at: datetime) -> int:
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)

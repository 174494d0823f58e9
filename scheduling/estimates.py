"""When waiting jobs could start: the expected ends of the placements that run, and what they would make room for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import F

from controlplane.base import clock
from queues.models import Job
from scheduling.engine.ends import Release
from scheduling.engine.holders import Holder
from scheduling.engine.line import MOST_AHEAD, Ahead, estimate_in_line
from scheduling.engine.ordering import in_service_order
from scheduling.engine.state import ClusterState
from scheduling.engine.types import EnginePolicy, PendingJob, SliceChoice
from scheduling.models import LIVE_PHASES, Placement

HISTORY = timedelta(days=14)
# What an end is made of: a job's whole row has its environment and command, which nobody asks for here.
COLUMNS = ("job", "node", "running_at", "assigned_at", "cpus", "host_memory_mib", "read_bandwidth_mib_s")
OF_THE_JOB = {
    "time_limit_s": F("job__spec__time_limit_s"),
    "team": F("job__team_id"),
    "queue": F("job__queue_id"),
    "owner": F("job__owner_id"),
    "name": F("job__name"),
    "template": F("job__template"),
}
# The middle one of how long jobs of one kind ran until they succeeded: of this team, queue and name, and better, where
# they were made from a template, of this team, queue and template.
RUN_TIMES = """
SELECT wanted.place, {by_template},
       percentile_disc(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM job.finished_at - job.started_at))
FROM unnest(%(places)s::int[], %(teams)s::bigint[], %(queues)s::bigint[], %(names)s::text[], %(templates)s::text[])
  AS wanted (place, team_id, queue_id, name, template)
JOIN queues_job AS job USING (team_id, queue_id, {key})
WHERE job.status = 'succeeded' AND job.finished_at >= %(since)s AND job.started_at IS NOT NULL {only}
GROUP BY 1, 2
"""
BY_NAME = RUN_TIMES.format(by_template="false", key="name", only="")
# The index of template names has none that are empty.
BY_TEMPLATE = RUN_TIMES.format(by_template="true", key="template", only="AND job.template <> ''")


class Kind(NamedTuple):
    """Jobs of one kind usually run as long. Without a template the name alone tells the kind."""

    team: int
    queue: int
    name: str
    template: str = ""


class Basis(StrEnum):
    """Where an expected end is from."""

    TIME_LIMIT = "time-limit"
    HISTORY = "history"
    MIXED = "mixed"


@dataclass(frozen=True)
class ExpectedEnd:
    """The end of one running placement."""

    job: int
    basis: Basis
    release: Release


@dataclass(frozen=True)
class ExpectedRun:
    """How long a job should run that waits; None when nobody knows."""

    job: int
    basis: Basis
    runs_ms: int | None


def estimate_view(
    state: ClusterState,
    job: PendingJob,
    policy: EnginePolicy,
    *,
    now_ms: int,
    pending: Sequence[PendingJob],
    ends: Sequence[ExpectedEnd] | None = None,
) -> dict[str, Any] | None:
    """When the job could start, where, and after which jobs, behind those of `pending` that are served before it; None
    when no known end would start it. Two queries, and those of `expected_ends` where `ends` is not given.
    """
    ends = expected_ends() if ends is None else ends
    releases = [end.release for end in ends]
    ahead = _ahead(job, pending, policy)
    runs = expected_runs([one.job for one in ahead[:MOST_AHEAD]])
    line = [Ahead(one, runs[one.job].runs_ms if one.job in runs else None) for one in ahead]
    found = estimate_in_line(state, job, policy, releases, now_ms=now_ms, ahead=line)
    if found is None or not (found.releases or found.started):
        return None
    after: list[ExpectedEnd | ExpectedRun] = [ends[place] for place in found.releases]
    after += [runs[ahead[place].job] for place in found.started]
    bases = {one.basis for one in after}
    return {
        "at": clock.from_ms(found.at_ms),
        "is_earliest": found.is_earliest,
        "basis": bases.pop() if len(bases) == 1 else Basis.MIXED,
        "node": found.node,
        "node_name": state.info(found.node).name,
        "after_jobs": [one.job for one in after],
    }


def _ahead(job: PendingJob, pending: Sequence[PendingJob], policy: EnginePolicy) -> Sequence[PendingJob]:
    """Those that are served before it, in order."""
    mine = next((one for one in pending if one.job == job.job), job)
    line = in_service_order([*(one for one in pending if one is not mine), mine], policy)
    return line[: line.index(mine)]


def expected_runs(jobs: Sequence[int]) -> Mapping[int, ExpectedRun]:
    """By job how long it should run, as in `expected_ends`. Two queries, none without jobs."""
    if not jobs:
        return {}
    columns = ("pk", "spec__time_limit_s", "team_id", "queue_id", "name", "template")
    rows = [
        (pk, Kind(*kind), limit) for pk, limit, *kind in Job.objects.filter(pk__in=jobs).values_list(*columns)
    ]
    unlimited = {kind for _, kind, limit_s in rows if limit_s is None}
    usual = usual_run_times(unlimited) if unlimited else {}
    return {pk: _run(pk, limit_s, usual.get(kind)) for pk, kind, limit_s in rows}


def expected_run_ms(kind: Kind, limit_s: int | None) -> int | None:
    """How long a job of this kind should run that is not stored; one query, none with a time limit."""
    usual = usual_run_times({kind}) if limit_s is None else {}
    return _run(0, limit_s, usual.get(kind)).runs_ms


def _run(job: int, limit_s: int | None, usually: timedelta | None) -> ExpectedRun:
    if limit_s is not None:
        return ExpectedRun(job, Basis.TIME_LIMIT, 1000 * limit_s)
    runs_ms = None if usually is None else int(usually.total_seconds() * 1000)
    return ExpectedRun(job, Basis.HISTORY, runs_ms)


def expected_ends() -> list[ExpectedEnd]:
    """The placements whose end is known, in order of id: its time limit, else how long such jobs usually run. One that
    runs longer than they do is not known.
    """
    live = Placement.objects.filter(phase__in=LIVE_PHASES).only(*COLUMNS).order_by("pk")
    placements: list[Any] = list(live.annotate(**OF_THE_JOB).prefetch_related("slices"))
    unlimited = {_kind(one) for one in placements if one.time_limit_s is None}
    usual = usual_run_times(unlimited) if unlimited else {}
    found = (_end(one, usual, clock.now()) for one in placements)
    return [end for end in found if end is not None]


def _kind(placement: Any) -> Kind:
    return Kind(placement.team, placement.queue, placement.name, placement.template)


def usual_run_times(kinds: Iterable[Kind]) -> Mapping[Kind, timedelta]:
    """How long jobs of these kinds usually run, as far as they have run of late: as those of their template did, else
    as those of their name; one query.
    """
    listed = sorted(kinds)
    params: dict[str, Any] = {
        "places": list(range(len(listed))),
        "teams": [kind.team for kind in listed],
        "queues": [kind.queue for kind in listed],
        "names": [kind.name for kind in listed],
        "templates": [kind.template for kind in listed],
        "since": clock.now() - HISTORY,
    }
    has_templates = any(kind.template for kind in listed)
    with connection.cursor() as cursor:
        cursor.execute(f"{BY_NAME} UNION ALL {BY_TEMPLATE} ORDER BY 2" if has_templates else BY_NAME, params)
        # What its template says stands last and so wins.
        return {listed[place]: timedelta(seconds=float(ran)) for place, _by, ran in cursor.fetchall()}


def _end(placement: Any, usual: Mapping[Kind, timedelta], now: datetime) -> ExpectedEnd | None:
    started = placement.running_at or placement.assigned_at
    limit_s, usually = placement.time_limit_s, usual.get(_kind(placement))
    if limit_s is not None:
        return _expected(placement, started + timedelta(seconds=limit_s), Basis.TIME_LIMIT)
    if usually is not None and started + usually > now:
        return _expected(placement, started + usually, Basis.HISTORY)
    return None


def _expected(placement: Any, at: datetime, basis: Basis) -> ExpectedEnd:
    slices: Sequence[SliceChoice] = [
        SliceChoice(part.device_id, part.memory_mib, part.compute_milli) for part in placement.slices.all()
    ]
    release = Release(
        at_ms=clock.to_ms(at),
        node=placement.node_id,
        slices=tuple(slices),
        cpus=tuple(placement.cpus),
        host_memory_mib=placement.host_memory_mib,
        read_bandwidth_mib_s=placement.read_bandwidth_mib_s,
        holder=Holder(placement.queue, placement.team, placement.owner),
    )
    return ExpectedEnd(placement.job_id, basis, release)

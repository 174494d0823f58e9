"""A cluster's own history: JSON lines that `manage.py export_history` writes and the simulator reads.

First `{"head": ...}`, then one `{"policy": ...}`, then `{"node": ...}` and `{"job": ...}` lines, in the
engine's codec. Nodes carry no bookings: they are the cluster as it would be empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from scheduling.engine.codec import CodecError, decode, encode
from scheduling.engine.types import PPM, EnginePolicy, NodeInfo, Request
from scheduling.simulator.jobs import SimJob
from scheduling.simulator.traces import ranges
from scheduling.simulator.traces.errors import TraceError
from scheduling.simulator.traces.files import open_text

FORMAT = "headrace-history"
VERSION = 1
_FIX_LINE = "correct the field or remove the line"
_FIX_EXPORT = "write it with `manage.py export_history`"
# Line number, key, value.
_Line = tuple[int, str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HistoryHead:
    """What the file is, and the time it covers (Unix ms)."""

    from_ms: int
    until_ms: int
    format: str = FORMAT
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class HistoryJob:
    """One job that was submitted in that time. `duration_ms` is how long its last attempt ran, None
    when it never ran; `waited_ms` is how long it really waited. Measured facts are None when nobody measured them.
    """

    job: int
    queue: int
    team: int
    priority: int
    submitted_ms: int
    request: Request
    duration_ms: int | None = None
    waited_ms: int | None = None
    cpu_need_milli: int | None = None
    duty_ppm: int | None = None
    replicas: int = 1
    deferrable: bool = False
    latest_start_ms: int | None = None


RANGES = ranges.RANGES | {
    HistoryHead: {"from_ms": ranges.TIME_MS, "until_ms": ranges.TIME_MS},
    HistoryJob: {
        "job": ranges.ID,
        "queue": ranges.ID,
        "team": ranges.ID,
        "priority": ranges.PRIORITY,
        "submitted_ms": ranges.TIME_MS,
        "duration_ms": ranges.SPAN_MS,
        "waited_ms": ranges.SPAN_MS,
        "cpu_need_milli": (0, 1000 * ranges.MOST_CPUS),
        "duty_ppm": (0, PPM),
        "replicas": (1, ranges.MOST_REPLICAS),
        "latest_start_ms": ranges.TIME_MS,
    },
}


@dataclass(slots=True)
class History:
    """A whole file."""

    head: HistoryHead
    policy: EnginePolicy
    nodes: list[NodeInfo] = field(default_factory=list)
    jobs: list[HistoryJob] = field(default_factory=list)

    def sim_jobs(self) -> list[SimJob]:
        """Jobs with a known run time, in order of submission; the others cannot be replayed."""
        known = [job for job in self.jobs if job.duration_ms is not None]
        return [_sim_job(job) for job in sorted(known, key=lambda j: (j.submitted_ms, j.job))]

    def waited_ms(self) -> dict[int, int]:
        """How long the jobs really waited, as far as it is known."""
        return {job.job: job.waited_ms for job in self.jobs if job.waited_ms is not None}


def line(key: str, value: object) -> str:
    """One line of the file."""
    return f'{{"{key}":{encode(value)}}}\n'


def read_history(path: Path) -> History:
    """The whole file; TraceError with its line, field and the fix where it is wrong."""
    lines = _lines(path)
    found = _opening(path, next(lines, None), next(lines, None))
    nodes: set[int] = set()
    devices: set[int] = set()
    jobs: set[int] = set()
    for each in lines:
        match each[1]:
            case "node":
                node = _read(path, each, NodeInfo)
                _once(path, each, node.node, nodes)
                for device in node.devices:
                    _once(path, each, device.device, devices, column="NodeInfo.devices")
                found.nodes.append(node)
            case "job":
                job = _read(path, each, HistoryJob)
                _once(path, each, job.job, jobs)
                found.jobs.append(job)
            case other:
                problem, fix = f"{other[:40]!r} is no kind of line", "use node or job"
                raise TraceError(str(path), problem, fix=fix, line=each[0])
    return found


def _opening(path: Path, first: _Line | None, second: _Line | None) -> History:
    if first is None or first[1] != "head":
        raise TraceError(str(path), "does not start with a head", fix=_FIX_EXPORT, line=1)
    head = _read(path, first, HistoryHead)
    if (head.format, head.version) != (FORMAT, VERSION):
        problem = f"is {head.format[:40]!r} version {head.version}, not {FORMAT} version {VERSION}"
        raise TraceError(str(path), problem, fix=_FIX_EXPORT, line=1)
    if head.from_ms > head.until_ms:
        where, fix = "HistoryHead.from_ms", "swap from_ms and until_ms"
        raise TraceError(str(path), "lies after until_ms", fix=fix, line=1, column=where)
    if second is None or second[1] != "policy":
        raise TraceError(str(path), "has no policy in its second line", fix=_FIX_EXPORT, line=2)
    return History(head, _read(path, second, EnginePolicy))


def _once(path: Path, each: _Line, number: int, seen: set[int], *, column: str | None = None) -> None:
    if number in seen:
        where = column or each[1]
        raise TraceError(str(path), f"{number} stands twice", fix=_FIX_LINE, line=each[0], column=where)
    seen.add(number)


def _lines(path: Path) -> Iterator[_Line]:
    with open_text(path) as text:
        for number, raw in enumerate(text, start=1):
            if not raw.strip():
                continue
            try:
                found = json.loads(raw, parse_constant=_refuse_constant, object_pairs_hook=_object)
            except (ValueError, RecursionError) as error:
                raise TraceError(str(path), f"is no JSON ({error})", fix=_FIX_EXPORT, line=number) from error
            if not isinstance(found, dict) or len(found) != 1:
                problem = "is no object with one key"
                raise TraceError(str(path), problem, fix=_FIX_EXPORT, line=number)
            yield (number, *next(iter(found.items())))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("one object names a field twice")
    return found


def _read(path: Path, each: _Line, kind: type[T]) -> T:
    """The object of a line, checked by itself."""
    try:
        found = decode(kind, json.dumps(each[2]))
        ranges.check_document(found, RANGES)
    except CodecError as error:
        where, _, problem = str(error).partition(": ")
        raise TraceError(str(path), problem, fix=_FIX_LINE, line=each[0], column=where) from error
    except RecursionError as error:
        raise TraceError(str(path), "is nested too deeply", fix=_FIX_EXPORT, line=each[0]) from error
    except ranges.OutOfRange as error:
        raise TraceError(str(path), error.problem, fix=error.fix, line=each[0], column=error.where) from error
    return found


def _sim_job(job: HistoryJob) -> SimJob:
    return SimJob(
        job=job.job,
        queue=job.queue,
        submitted_ms=job.submitted_ms,
        duration_ms=job.duration_ms or 0,
        request=job.request,
        team=job.team,
        priority=job.priority,
        cpu_need_milli=job.cpu_need_milli,
        duty_ppm=PPM if job.duty_ppm is None else job.duty_ppm,
        replicas=job.replicas,
        deferrable=job.deferrable,
        latest_start_ms=job.latest_start_ms,
    )

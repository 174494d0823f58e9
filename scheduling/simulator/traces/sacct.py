"""What Slurm's `sacct --parsable2` (or `--parsable`) writes about past jobs; columns are found by their names.

Steps (12.batch, 12.extern, 12.0) and the still unsplit rest of an array (12_[4-9]) are no jobs and are passed over.
Amounts are those of `AllocTRES`, else of `ReqTRES`, else of the older columns, divided by the number of nodes: each
node's part is one replica. A job that runs has run for `Elapsed` so far.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from scheduling.engine.types import Request
from scheduling.simulator.traces.errors import TraceError
from scheduling.simulator.traces.files import Row, read_bars
from scheduling.simulator.traces.past import MOST_REPLICAS, PastJob, moment_ms, name_once, request, short
from scheduling.simulator.traces.ranges import SPAN_MS

COLUMNS = ("JobID", "State", "Submit")
_ELAPSED = ("Elapsed", "ElapsedRaw")
_AMOUNTS = ("AllocTRES", "ReqTRES", "AllocCPUS", "NCPUS", "ReqCPUS")
# Generic resources that are accelerators; all others (gpumem, shard, licences ...) say nothing about devices.
_DEVICES = ("gpu", "npu", "mlu", "dcu")
_NOT_STARTED = frozenset({"", "None", "Unknown", "N/A"})
_SPAN = re.compile(r"(?:(\d{1,5})-)?(?:(\d{1,3}):)?(\d{1,2}):(\d{2})(?:\.\d+)?", re.ASCII)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)(?:i?B?)([cn]?)", re.ASCII)
_MIB = {"K": 1 / 1024, "": 1, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}
# "CANCELLED by 1000"; a "+" ends a name that was cut.
_STATES = (
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "COMPLETING",
    "CONFIGURING",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PENDING",
    "PREEMPTED",
    "REQUEUED",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "RESIZING",
    "RESV_DEL_HOLD",
    "REVOKED",
    "RUNNING",
    "SIGNALING",
    "SPECIAL_EXIT",
    "STAGE_OUT",
    "STOPPED",
    "SUSPENDED",
    "TIMEOUT",
)


@dataclass(frozen=True, slots=True)
class _Amounts:
    """Of all nodes together; `where` is the column that says it."""

    where: str
    nodes: int
    cpus: int
    memory_mib: int | None
    devices: int
    models: tuple[str, ...]


def read_sacct(path: Path, zone: ZoneInfo) -> Iterator[PastJob]:
    """All jobs, one at a time; TraceError where it is wrong. Times without a zone are of `zone`."""
    seen: set[str] = set()
    first = True
    for row in read_bars(path, COLUMNS):
        if first:
            _check_columns(path, row)
            first = False
        if not _is_part(row.named("JobID")):
            yield _job(row, zone, name_once(row, "JobID", seen))


def _check_columns(path: Path, row: Row) -> None:
    for wanted in (_ELAPSED, _AMOUNTS):
        if not any(name in row.cells for name in wanted):
            problem = f"has none of the columns {', '.join(wanted)}"
            fix = f"write it with sacct --parsable2 --format=JobID,State,Submit,Start,Elapsed,{wanted[0]},..."
            raise TraceError(str(path), problem, fix=fix, line=1, column=wanted[0])


def _is_part(job: str) -> bool:
    return "." in job or "[" in job


def _job(row: Row, zone: ZoneInfo, name: str) -> PastJob:
    _check_state(row)
    submitted_ms = moment_ms(row, "Submit", zone)
    started_ms = None if row.text("Start") in _NOT_STARTED else moment_ms(row, "Start", zone)
    duration_ms = _elapsed_ms(row)
    if started_ms is None and "Start" in row.cells:
        duration_ms = None
    if started_ms is not None and started_ms < submitted_ms:
        # Submit moves on when a job is queued again, Start does not always.
        started_ms = None
    amounts = _of_tres(row) or _of_columns(row)
    return PastJob(
        row=row,
        job=name,
        submitted_ms=submitted_ms,
        started_ms=started_ms,
        duration_ms=duration_ms,
        queue=short(row, "Partition", row.text("Partition").partition(",")[0]),
        team=short(row, "Account", row.text("Account")),
        request=_request(row, amounts),
        replicas=amounts.nodes,
    )


def _check_state(row: Row) -> None:
    state = row.named("State").split()[0]
    cut = state.endswith("+")
    if not any(known.startswith(state[:-1]) if cut else known == state for known in _STATES):
        row.refuse(
            "State", f"{state[:40]!r} is no state of a job", fix="write the file with sacct --parsable2"
        )


def _elapsed_ms(row: Row) -> int | None:
    if row.text("ElapsedRaw"):
        return 1000 * row.whole("ElapsedRaw", most=SPAN_MS[1] // 1000)
    raw = row.text("Elapsed")
    if raw in _NOT_STARTED:
        return None
    found = _SPAN.fullmatch(raw)
    if found is None or int(found[4]) > 59 or (found[2] and int(found[3]) > 59):
        row.refuse("Elapsed", f"{raw[:40]!r} is no time span", fix="write it like 3-08:24:04 or 00:01:14")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    span_ms = 1000 * (((24 * days + hours) * 60 + minutes) * 60 + seconds)
    if span_ms > SPAN_MS[1]:
        row.refuse("Elapsed", f"{raw[:40]!r} is more than a hundred years", fix="correct it")
    return span_ms


def _of_tres(row: Row) -> _Amounts | None:
    """From the trackable resources, like `billing=16,cpu=16,gres/gpu:a100=4,gres/gpu=4,mem=64G,node=1`."""
    where = next((name for name in ("AllocTRES", "ReqTRES") if row.text(name)), None)
    if where is None:
        return None
    pairs: dict[str, str] = {}
    for part in row.text(where).split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not name or not equals or name in pairs:
            row.refuse(
                where,
                f"{part[:40]!r} is no name=amount, or stands twice",
                fix="copy the row from sacct again",
            )
        pairs[name] = value
    devices, models = _devices(row, where, {n[5:]: v for n, v in pairs.items() if n.startswith("gres/")})
    return _Amounts(
        where=where,
        nodes=_count(row, where, pairs.get("node", "1"), least=1, most=MOST_REPLICAS),
        cpus=_count(row, where, pairs.get("cpu", "0")),
        memory_mib=_mib(row, where, pairs["mem"], nodes=1, cpus=1) if "mem" in pairs else None,
        devices=devices,
        models=models,
    )


def _of_columns(row: Row) -> _Amounts:
    """From the columns of older versions: `gpu:a100:4` of each node, memory per CPU (c) or per node (n)."""
    where = next((name for name in _AMOUNTS if row.text(name)), None)
    cpus = 0 if where is None else _count(row, where, row.text(where))
    nodes = 1
    if row.text("NNodes") or row.text("AllocNodes"):
        column = "NNodes" if row.text("NNodes") else "AllocNodes"
        nodes = max(1, _count(row, column, row.text(column), most=MOST_REPLICAS))
    asked: dict[str, str] = {}
    column = next((name for name in ("AllocGRES", "ReqGRES") if row.text(name)), "ReqGRES")
    for part in filter(None, row.text(column).removeprefix("gres:").split(",")):
        kind, _, rest = part.strip().partition("(")[0].partition(":")
        model, _, number = rest.rpartition(":")
        asked[f"{kind}:{model}" if model else kind] = number or "1"
    devices, models = _devices(row, column, asked)
    memory = row.text("ReqMem")
    return _Amounts(
        where=where or column,
        nodes=nodes,
        cpus=cpus,
        memory_mib=_mib(row, "ReqMem", memory, nodes=nodes, cpus=cpus) if memory else None,
        devices=nodes * devices,
        models=models,
    )


def _devices(row: Row, where: str, gres: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    """How many accelerators, and their model where all are of one; a kind may stand with its model and without."""
    total = 0
    models: set[str] = set()
    for kind in _DEVICES:
        typed = {
            name.partition(":")[2]: _count(row, where, value)
            for name, value in gres.items()
            if name.startswith(f"{kind}:")
        }
        plain = _count(row, where, gres.get(kind, "0"))
        total += max(plain, sum(typed.values()))
        models |= {model for model, number in typed.items() if number}
        if plain > sum(typed.values()):
            models.add("")
    return total, tuple(models) if len(models) == 1 and "" not in models else ()


def _count(row: Row, where: str, raw: str, *, least: int = 0, most: int = 1 << 30) -> int:
    """A whole number, also one that sacct shortened, like 1K."""
    found = re.fullmatch(r"(\d{1,12})(?:\.0+)?([KM]?)", raw, re.ASCII)
    number = -1 if found is None else int(found[1]) * {"": 1, "K": 1000, "M": 1_000_000}[found[2]]
    if not least <= number <= most:
        row.refuse(where, f"{raw[:40]!r} is no whole number from {least} to {most}", fix="correct it")
    return number


def _mib(row: Row, where: str, raw: str, *, nodes: int, cpus: int) -> int | None:
    """MiB over all nodes, None for 0, which means all of a node's."""
    found = _SIZE.fullmatch(raw)
    if found is None or len(raw) > 30:
        row.refuse(where, f"{raw[:40]!r} is no amount of memory", fix="write it like 62.50G or 4000Mc")
    times = {"c": max(1, cpus), "n": nodes, "": 1}[found[3]]
    mib = round(float(found[1]) * _MIB[found[2]] * times)
    if mib >= 1 << 40:
        row.refuse(where, f"{raw[:40]!r} is more than a node has", fix="correct the unit")
    return mib or None


def _request(row: Row, amounts: _Amounts) -> Request:
    """The part of one node, rounded up."""
    nodes = amounts.nodes
    return request(
        row,
        amounts.where,
        devices=-(-amounts.devices // nodes),
        models=amounts.models if amounts.devices else (),
        cores=-(-amounts.cpus // nodes),
        host_memory_mib=None if amounts.memory_mib is None else -(-amounts.memory_mib // nodes),
    )

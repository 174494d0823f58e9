"""B9: waits on the Philly trace, first in first out beside whatever fits and beside short jobs first, through plan() in
virtual time.

Nobody knows how long a job will run: `patience` foresees it from jobs of the same virtual cluster and size.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from statistics import median
from typing import Any

from bench.data import PHILLY, add_data_option, at_least, data_file, show_progress
from bench.openb import seeds_of
from bench.plots import Mark, Panel, Scale, Series
from scheduling.engine.types import Patience
from scheduling.simulator.cluster import Cluster, Hardware, uniform_nodes
from scheduling.simulator.foresight import Knows
from scheduling.simulator.jobs import SIZE_CLASSES, SimJob
from scheduling.simulator.metrics import percentiles
from scheduling.simulator.policy import PRESETS, preset
from scheduling.simulator.replay import Replay
from scheduling.simulator.report import report_of
from scheduling.simulator.settings import Order, Settings
from scheduling.simulator.sources import expected_of
from scheduling.simulator.traces.errors import TraceError
from scheduling.simulator.traces.philly import PhillyJob, read_jobs, sim_jobs

_SINCE = datetime(2017, 10, 3, tzinfo=UTC)
_DEVICES_PER_NODE = 8
_ALL, _LARGE = "all", "8 and more"
_MOVED_MS = 600_000
_HOUR_MS = 3_600_000
# Seconds; medians over eight seeds.
TARGET = {"p95_s": {_ALL: 25_000, _LARGE: 300_000}}
ORDERS = {
    "patience": (Order.PLAN, Patience(times=10, most_ms=48 * _HOUR_MS, unknown_ms=_HOUR_MS)),
    "plan": (Order.PLAN, None),
    "fifo": (Order.FIFO, None),
}
_SHARES = 100
Curve = list[tuple[float, float]]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--nodes", type=at_least(1), default=64, help="nodes of 8 devices (default 64)")
    parser.add_argument(
        "--jobs", type=at_least(0), default=2000, help="only the first so many; 0: all 74966 (default 2000)"
    )
    parser.add_argument(
        "--cycle-s", type=at_least(0), default=30, help="least time between two plans (default 30)"
    )
    parser.add_argument(
        "--preset", choices=sorted(PRESETS), default="packing", help="weights (default packing)"
    )
    parser.add_argument(
        "--orders", nargs="+", choices=sorted(ORDERS), default=list(ORDERS), help="default: all of them"
    )
    parser.add_argument(
        "--seeds",
        type=seeds_of,
        default=range(1),
        help="A-B or one number; 0 is the trace, others move each arrival by up to 10 min (default 0)",
    )
    add_data_option(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Waits in seconds by order and size class, and how fast the replay went; over several seeds also their medians and
    ranges. A part of the trace starts on an empty cluster and is no measure of the whole.
    """
    try:
        found = read_jobs(data_file(options.data, PHILLY, "philly_jobs.csv.gz"), since=_SINCE)
    except TraceError as error:
        raise SystemExit(str(error)) from error
    part = found[: options.jobs or None]
    orders: dict[str, Any] = {}
    curves: dict[str, dict[str, Curve]] = {}
    for name in options.orders:
        seeds = []
        for seed in options.seeds:
            jobs = sim_jobs(moved(part, seed), devices_per_node=_DEVICES_PER_NODE)
            replay, figures = _one(options, jobs, name)
            seeds.append({"seed": seed, **figures})
            if seed == options.seeds[0]:
                for size, waits in _by_class(replay).items():
                    curves.setdefault(size, {})[name] = cumulative(waits)
        orders[name] = {"over_seeds": over_seeds([one["p95_s"] for one in seeds]), "seeds": seeds}
    return {
        "target": TARGET,
        "jobs": len(part),
        "of": len(found),
        "days": round((part[-1].submitted_ms - part[0].submitted_ms) / 86_400_000, 2),
        "devices": options.nodes * _DEVICES_PER_NODE,
        "preset": options.preset,
        "cycle_s": options.cycle_s,
        "orders": orders,
        "curves": curves,
    }


def moved(jobs: Sequence[PhillyJob], seed: int) -> list[PhillyJob]:
    """The jobs in order of submission, each submitted up to 10 minutes earlier or later; of seed 0 as they are."""
    if not seed:
        return list(jobs)
    rng = Random(seed)
    found = [replace(job, submitted_ms=job.submitted_ms + rng.randint(-_MOVED_MS, _MOVED_MS)) for job in jobs]
    return sorted(found, key=lambda job: job.submitted_ms)


def over_seeds(figures: Sequence[Mapping[str, float | None]]) -> dict[str, dict[str, float | None]]:
    """Median and range of each."""
    found: dict[str, dict[str, float | None]] = {}
    for name in figures[0]:
        values = [value for one in figures if (value := one.get(name)) is not None]
        found[name] = {
            "median": median(values) if values else None,
            "least": min(values, default=None),
            "most": max(values, default=None),
        }
    return found


def panels(figures: dict[str, Any], curves: dict[str, dict[str, Curve]]) -> list[Panel]:
    """For all jobs and for each size class, which share of them waited how long at most, a line per order."""
    return [
        Panel(
            f"{size} ({figures['jobs']} jobs on {figures['devices']} devices)"
            if size == _ALL
            else f"{size} devices",
            "wait (s)",
            "jobs that started by then (%)",
            [Series(order, curve, Mark.STEP) for order, curve in by_order.items()],
            x_scale=Scale.SYMLOG,
        )
        for size, by_order in curves.items()
    ]


def _p95_s(replay: Replay) -> dict[str, float | None]:
    """Of all jobs, by size class, and of all jobs of a whole node or more."""
    by_class = _by_class(replay)
    by_class[_LARGE] = [*by_class.get("8", ()), *by_class.get(">8", ())]
    found: dict[str, float | None] = {size: percentiles(waits)["p95_s"] for size, waits in by_class.items()}
    return found


def _by_class(replay: Replay) -> dict[str, list[int]]:
    waits = replay.waits.by_size
    everything = [wait for found in waits.values() for wait in found]
    return {_ALL: everything} | {size: list(waits[size]) for size in SIZE_CLASSES if size in waits}


def cumulative(waits_ms: Sequence[int]) -> Curve:
    """Waits in s and the share of jobs in % that waited no longer, at a hundred shares and at the ends."""
    ordered = sorted(waits_ms)
    ranks = sorted({max(1, len(ordered) * share // _SHARES) for share in range(_SHARES + 1)})
    return [(ordered[rank - 1] / 1000, round(100 * rank / len(ordered), 3)) for rank in ranks]


def _one(options: argparse.Namespace, jobs: Sequence[SimJob], name: str) -> tuple[Replay, dict[str, Any]]:
    nodes = uniform_nodes(
        options.nodes, devices=_DEVICES_PER_NODE, cores=0, memory_mib=1, model="accelerator"
    )
    order, patience = ORDERS[name]
    settings = Settings(
        policy=replace(preset(options.preset), patience=patience),
        order=order,
        cycle_ms=1000 * options.cycle_s,
        expected=expected_of(jobs),
        knows=Knows.HISTORY,
    )
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    replay = Replay(Cluster(nodes, Hardware()), jobs, settings)
    replay.run(lambda done: show_progress(done, len(jobs), f"jobs, {name}"))
    wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    report = report_of(replay, trace="philly")
    return replay, {
        "p95_s": _p95_s(replay),
        "waits": report["waits"],
        "utilisation": report["utilisation"],
        "fragmentation": report["fragmentation"],
        "plans": replay.plans,
        "wall_s": round(wall_s, 1),
        "jobs_per_cpu_s": round(len(jobs) / cpu_s, 1),
    }

"""B9: waits on the Philly trace, first in first out beside whatever fits, through plan() in virtual time."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from bench.data import PHILLY, add_data_option, at_least, data_file, show_progress
from bench.plots import Mark, Panel, Scale, Series
from scheduling.simulator.cluster import Cluster, Hardware, uniform_nodes
from scheduling.simulator.jobs import SIZE_CLASSES, SimJob
from scheduling.simulator.policy import PRESETS, preset
from scheduling.simulator.replay import Replay
from scheduling.simulator.report import report_of
from scheduling.simulator.settings import Order, Settings
from scheduling.simulator.sources import expected_of
from scheduling.simulator.traces.errors import TraceError
from scheduling.simulator.traces.philly import read_jobs, sim_jobs

_SINCE = datetime(2017, 10, 3, tzinfo=UTC)
_DEVICES_PER_NODE = 8
_ALL = "all"
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
    add_data_option(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Waits in seconds by order and size class, and how fast the replay went. A part of the trace starts on an empty
    cluster and is no measure of the whole.
    """
    try:
        found = read_jobs(data_file(options.data, PHILLY, "philly_jobs.csv.gz"), since=_SINCE)
    except TraceError as error:
        raise SystemExit(str(error)) from error
    jobs = sim_jobs(found[: options.jobs or None], devices_per_node=_DEVICES_PER_NODE)
    orders: dict[str, Any] = {}
    curves: dict[str, dict[str, Curve]] = {}
    for order in Order:
        replay, figures = _one(options, jobs, order)
        orders[order.value] = figures
        for size, waits in _by_class(replay).items():
            curves.setdefault(size, {})[order.value] = cumulative(waits)
    return {
        "jobs": len(jobs),
        "of": len(found),
        "days": round((jobs[-1].submitted_ms - jobs[0].submitted_ms) / 86_400_000, 2),
        "devices": options.nodes * _DEVICES_PER_NODE,
        "preset": options.preset,
        "cycle_s": options.cycle_s,
        "orders": orders,
        "curves": curves,
    }


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


def _by_class(replay: Replay) -> dict[str, list[int]]:
    waits = replay.waits.by_size
    everything = [wait for found in waits.values() for wait in found]
    return {_ALL: everything} | {size: list(waits[size]) for size in SIZE_CLASSES if size in waits}


def cumulative(waits_ms: Sequence[int]) -> Curve:
    """Waits in s and the share of jobs in % that waited no longer, at a hundred shares and at the ends."""
    ordered = sorted(waits_ms)
    ranks = sorted({max(1, len(ordered) * share // _SHARES) for share in range(_SHARES + 1)})
    return [(ordered[rank - 1] / 1000, round(100 * rank / len(ordered), 3)) for rank in ranks]


def _one(options: argparse.Namespace, jobs: Sequence[SimJob], order: Order) -> tuple[Replay, dict[str, Any]]:
    nodes = uniform_nodes(
        options.nodes, devices=_DEVICES_PER_NODE, cores=0, memory_mib=1, model="accelerator"
    )
    settings = Settings(
        policy=preset(options.preset),
        order=order,
        cycle_ms=1000 * options.cycle_s,
        expected=expected_of(jobs),
    )
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    replay = Replay(Cluster(nodes, Hardware()), jobs, settings)
    replay.run(lambda done: show_progress(done, len(jobs), f"jobs, {order}"))
    wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    report = report_of(replay, trace="philly")
    return replay, {
        "waits": report["waits"],
        "utilisation": report["utilisation"],
        "fragmentation": report["fragmentation"],
        "plans": replay.plans,
        "wall_s": round(wall_s, 1),
        "jobs_per_cpu_s": round(len(jobs) / cpu_s, 1),
    }

"""B9: waits on the Philly trace, first in first out beside whatever fits, through plan() in virtual time."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from bench.data import PHILLY, add_data_option, at_least, data_file, show_progress
from scheduling.simulator.cluster import Cluster, Hardware, uniform_nodes
from scheduling.simulator.jobs import SimJob
from scheduling.simulator.policy import PRESETS, preset
from scheduling.simulator.replay import Replay
from scheduling.simulator.report import report_of
from scheduling.simulator.settings import Order, Settings
from scheduling.simulator.sources import expected_of
from scheduling.simulator.traces.errors import TraceError
from scheduling.simulator.traces.philly import read_jobs, sim_jobs

_SINCE = datetime(2017, 10, 3, tzinfo=UTC)
_DEVICES_PER_NODE = 8


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
    orders = {order.value: _one(options, jobs, order) for order in Order}
    return {
        "jobs": len(jobs),
        "of": len(found),
        "days": round((jobs[-1].submitted_ms - jobs[0].submitted_ms) / 86_400_000, 2),
        "devices": options.nodes * _DEVICES_PER_NODE,
        "preset": options.preset,
        "cycle_s": options.cycle_s,
        "orders": orders,
    }


def _one(options: argparse.Namespace, jobs: Sequence[SimJob], order: Order) -> dict[str, Any]:
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
    return {
        "waits": report["waits"],
        "utilisation": report["utilisation"],
        "fragmentation": report["fragmentation"],
        "plans": replay.plans,
        "wall_s": round(wall_s, 1),
        "jobs_per_cpu_s": round(len(jobs) / cpu_s, 1),
    }

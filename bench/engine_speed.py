"""B2: decisions per second of the engine on one core: the openb stream, and clusters of growing size."""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from bench.data import add_data_option, at_least, show_progress
from bench.machine import peak_mib
from bench.openb_lists import arrivals, load
from bench.plots import Panel, Scale, Series
from bench.statistics import summary
from scheduling.engine.ordering import expected_shapes
from scheduling.engine.plan import Planner
from scheduling.engine.state import ClusterState
from scheduling.engine.types import EnginePolicy, ExpectedShape, NodeInfo, PendingJob, Request
from scheduling.simulator.cluster import uniform_nodes
from scheduling.simulator.policy import PRESETS, TRAINING, preset, without_precheck
from scheduling.simulator.traces.openb import node_infos, request_of

SIZES = (1000, 3000, 10_000, 30_000)
_SEED = 42
_BATCH = 100
_SINGLE = 1000
_STREAM = "openb"
_DEVICES = 8
_COSTS = ("decision_cpu_us", "cold_cpu_ms", "build_cpu_s", "peak_memory_mib")
# What a mixed cluster is asked for: shares, single devices, half and whole nodes, CPU work.
SHAPES = (
    (30, Request(devices=1, device_compute_milli=250, shareable=True, cores=2, host_memory_mib=8_192)),
    (15, Request(devices=1, device_compute_milli=500, shareable=True, cores=4, host_memory_mib=16_384)),
    (30, Request(devices=1, cores=8, host_memory_mib=32_768)),
    (10, Request(devices=2, cores=16, host_memory_mib=65_536)),
    (6, Request(devices=4, cores=32, host_memory_mib=131_072)),
    (4, Request(devices=8, cores=64, host_memory_mib=262_144)),
    (5, Request(cores=16, host_memory_mib=32_768)),
)
# A kind of request that no list has.
NEW_SHAPE = Request(devices=1, device_compute_milli=333, shareable=True, cores=3, host_memory_mib=12_000)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--nodes", type=_sizes, default=SIZES, help="sizes (default 1000,3000,10000,30000)")
    parser.add_argument("--jobs", type=at_least(1), default=2000, help="decisions per size (default 2000)")
    parser.add_argument(
        "--preset", choices=sorted(PRESETS), default="packing", help="weights (default packing)"
    )
    parser.add_argument("--list", default="default", dest="pods", help="openb list, 'synthetic', or 'none'")
    add_data_option(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Each size is measured in a process of its own, so that peak memory is its own."""
    cases = ([] if options.pods == "none" else [_STREAM]) + [str(nodes) for nodes in options.nodes]
    found = {}
    for done, case in enumerate(cases, start=1):
        command = [sys.executable, "-m", "bench.engine_speed", case, "--jobs", str(options.jobs)]
        command += ["--preset", options.preset, "--list", options.pods]
        command += ["--data", str(options.data)] if options.data else []
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found[case if case == _STREAM else _name(int(case))] = json.loads(answer.stdout)
        show_progress(done, len(cases), "cases")
    return {
        "preset": options.preset,
        "cases": found,
        "growth": growth([found[_name(n)] for n in options.nodes]),
    }


def _name(nodes: int) -> str:
    return f"{nodes} nodes"


def growth(cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cost per size, beside that of the first; `exponent` e says that it grew as nodes^e since the size before: 0 is no
    growth, 1 growth in proportion.
    """
    found: list[dict[str, Any]] = []
    for case in cases:
        line = {
            "nodes": case["nodes"],
            "decision_cpu_us": round(1e6 / case["decisions_per_cpu_s"], 1),
            "cold_cpu_ms": case["cold_cpu_ms"]["mean"],
            "build_cpu_s": case["build_cpu_s"],
            "peak_memory_mib": case["peak_memory_mib"],
        }
        before, first = found[-1] if found else line, found[0] if found else line
        line["times_first"] = {key: _ratio(line[key], first[key]) for key in _COSTS}
        line["exponent"] = {key: _exponent(line, before, key) for key in _COSTS}
        found.append(line)
    return found


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 2) if whole else None


def _exponent(line: dict[str, Any], before: dict[str, Any], key: str) -> float | None:
    if line["nodes"] == before["nodes"] or not line[key] or not before[key]:
        return None
    return round(math.log(line[key] / before[key]) / math.log(line["nodes"] / before["nodes"]), 2)


def panels(figures: dict[str, Any], _curves: object) -> list[Panel]:
    """Cost against the number of nodes."""
    lines = figures["growth"]

    def curve(key: str, name: str) -> Series:
        return Series(name, [(line["nodes"], line[key]) for line in lines])

    cost = [curve("decision_cpu_us", "mean")]
    for name in ("p50", "p95", "p99"):
        cases = (figures["cases"][_name(line["nodes"])] for line in lines)
        cost.append(
            Series(f"{name} (one by one)", [(c["nodes"], c["decision_us"]["cpu"][name]) for c in cases])
        )
    return [
        Panel("Warm decision", "nodes of 8 devices", "CPU time (us)", cost, Scale.LOG, Scale.LOG),
        Panel(
            "First scoring of a new shape",
            "nodes of 8 devices",
            "CPU time (ms)",
            [curve("cold_cpu_ms", "mean of 5 shapes")],
            Scale.LOG,
            Scale.LOG,
        ),
        Panel(
            "Memory",
            "nodes of 8 devices",
            "peak of the process (MiB)",
            [curve("peak_memory_mib", "peak")],
            Scale.LOG,
            Scale.LOG,
        ),
    ]


def main() -> None:
    """One case, as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.engine_speed")
    parser.add_argument("case")
    add_options(parser)
    options = parser.parse_args()
    policy = without_precheck(preset(options.preset))
    if options.case == _STREAM:
        figures = _stream(options, policy)
    else:
        figures = _grown(int(options.case), options.jobs, policy)
    json.dump(figures, sys.stdout)


def _stream(options: argparse.Namespace, policy: EnginePolicy) -> dict[str, Any]:
    lists = load(options.pods, options.data)
    requests = [request_of(pod) for pod in lists.pods]
    order = arrivals(lists, seed=_SEED, load_percent=130)
    figures = measure(node_infos(lists.nodes), [requests[at] for at in order], policy)
    return {"list": options.pods, **figures}


def _grown(nodes: int, jobs: int, policy: EnginePolicy) -> dict[str, Any]:
    infos = uniform_nodes(
        nodes, devices=_DEVICES, cores=96, memory_mib=786_432, model="accelerator", device_memory_mib=81_920
    )
    dice = Random(_SEED)
    drawn = dice.choices([shape for _, shape in SHAPES], [weight for weight, _ in SHAPES], k=jobs)
    return measure(infos, drawn, policy)


def measure(infos: Sequence[NodeInfo], requests: Sequence[Request], policy: EnginePolicy) -> dict[str, Any]:
    """Rates over batches, per second of wall and of CPU time (which a busy machine does not move); the first
    decisions once more one by one; and the first full scoring of shapes that were not seen before, in ms.
    """
    build_s = time.process_time()
    state = ClusterState.build(infos)
    build_s = time.process_time() - build_s
    expected = [ExpectedShape(shape, count) for shape, count in Counter(requests).items()]
    shapes = expected_shapes(expected, (), policy)
    planner = Planner(state, policy, shapes)
    jobs = [PendingJob(n, 1, TRAINING, 1, 0, n, shape) for n, shape in enumerate(requests, start=1)]
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    for first in range(0, len(jobs), _BATCH):
        planner.run(jobs[first : first + _BATCH], None)
    wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    single = _single_us(Planner(state, policy, shapes), jobs[:_SINGLE])
    return {
        "nodes": len(infos),
        "devices": sum(len(info.devices) for info in infos),
        "decisions": len(jobs),
        "shapes": len(expected),
        "decisions_per_s": round(len(jobs) / wall_s),
        "decisions_per_cpu_s": round(len(jobs) / cpu_s),
        "decision_us": single,
        "cold_cpu_ms": _cold_ms(planner),
        "build_cpu_s": round(build_s, 3),
        "peak_memory_mib": peak_mib(),
    }


def _single_us(planner: Planner, jobs: Sequence[PendingJob]) -> dict[str, Any]:
    """Wall and CPU microseconds of plans of one job each."""
    wall: list[float] = []
    cpu: list[float] = []
    for job in jobs:
        wall_ns, cpu_ns = time.perf_counter_ns(), time.process_time_ns()
        planner.run([job], None)
        wall.append((time.perf_counter_ns() - wall_ns) / 1000)
        cpu.append((time.process_time_ns() - cpu_ns) / 1000)
    return {"wall": summary(wall), "cpu": summary(cpu)}


def _cold_ms(planner: Planner) -> dict[str, Any]:
    """CPU time. Several shapes, each new, so that one slow moment of the machine does not stand for all."""
    spent_ms = []
    for cores in range(3, 8):
        shape = replace(NEW_SHAPE, cores=cores)
        before_ns = time.process_time_ns()
        planner.run([PendingJob(1_000_000 + cores, 1, TRAINING, 1, 0, 0, shape)], None)
        spent_ms.append((time.process_time_ns() - before_ns) / 1e6)
    return summary(spent_ms)


def _sizes(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isdigit() and int(part) for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers like 1000,3000")
    return tuple(int(part) for part in parts)


if __name__ == "__main__":
    main()

"""B1: quality of packing on the openb cluster: pods one at a time, no departures, through the product's planner."""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.data import add_data_option, at_least, between, show_progress
from bench.openb_check import check
from bench.openb_lists import Lists, arrivals, arrived_at, load
from bench.plots import Mark, Panel, Series
from bench.statistics import summary
from scheduling.engine.ordering import expected_shapes
from scheduling.engine.plan import Planner
from scheduling.engine.state import ClusterState
from scheduling.engine.types import ExpectedShape, PendingJob, Request
from scheduling.simulator.policy import PRESETS, TRAINING, preset, without_precheck
from scheduling.simulator.traces.errors import TraceError
from scheduling.simulator.traces.openb import CORE_MILLI, node_infos, request_of

Curve = list[tuple[float, float]]
COLUMNS = ("seed", "order", "pod", "node", "devices", "milli")
_BATCH = 250
# Ten to a core: rounding up loses little, and a node still has a number of CPUs that is quick to choose from.
CPU_UNIT_MILLI = 100
# Allocated % at 100 and 130 % arrived load on the default list, published with the trace (means over seeds 42-51).
PUBLISHED = {
    "Random": (86.30, 87.47),
    "DotProd": (90.62, 90.85),
    "Clustering": (91.65, 91.88),
    "Packing": (91.78, 92.00),
    "BestFit": (92.86, 93.08),
    "FGD": (95.23, 95.39),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One pod's fate: a line of the output file; `node` is empty when it was refused, `devices` are places in it."""

    seed: int
    order: int
    pod: str
    node: str
    devices: tuple[int, ...]
    milli: int


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument(
        "--list", default="default", dest="pods", help="pod list, a file, or synthetic (default: default)"
    )
    parser.add_argument(
        "--seeds", type=seeds_of, default=range(42, 52), help="A-B or one number (default 42-51)"
    )
    parser.add_argument(
        "--load", type=between(1, 1000), default=130, help="arrived load, %% of capacity (default 130)"
    )
    parser.add_argument("--out", type=Path, help="write every pod's fate here (CSV)")
    parser.add_argument(
        "--preset",
        choices=sorted(PRESETS),
        default="packing",
        help="weights of the figures (default packing)",
    )
    parser.add_argument(
        "--sample-seeds", type=at_least(0), default=1, help="seeds for the sample policy beside (default 1)"
    )
    parser.add_argument(
        "--cpu-unit",
        type=between(10, CORE_MILLI),
        default=CPU_UNIT_MILLI,
        help=f"CPU-milli per logical CPU, 10 to {CORE_MILLI} (default 100)",
    )
    add_data_option(parser)


def seeds_of(text: str) -> range:
    """`42-51` or `42`."""
    first, dash, last = text.partition("-")
    try:
        found = range(int(first), int(last if dash else first) + 1)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not A-B with whole numbers") from error
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} names no seed")
    return found


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Allocated device-milli in % of capacity at 100 % and at the full arrived load, per seed and as mean."""
    out, pods = options.out, Path(options.pods)
    if out and out.exists() and pods.is_file() and out.samefile(pods):
        raise SystemExit(f"--out: {out} is the list that is read; name another file")
    try:
        lists = load(options.pods, options.data)
    except TraceError as error:
        raise SystemExit(str(error)) from error
    if options.out:
        write(options.out, [])
    track = Track(lists, cpu_unit_milli=options.cpu_unit)
    lines, scores, seconds = track.run(options.preset, options.seeds, options.load)
    sample = track.run("sample", options.seeds[: options.sample_seeds], options.load)[1]
    curves = {f"seed {score['seed']}": score.pop("curve") for score in scores}
    curves |= {f"seed {score['seed']}, sample policy": score.pop("curve") for score in sample}
    if options.out:
        write(options.out, lines)
    return {
        "list": options.pods,
        "pods": len(lists.pods),
        "nodes": len(lists.nodes),
        "capacity_milli": lists.capacity_milli,
        "load_percent": options.load,
        "cpu_unit_milli": options.cpu_unit,
        "preset": options.preset,
        **figures(scores),
        "sample_policy": figures(sample),
        "decisions_per_cpu_s": round(len(lines) / seconds),
        "check": check(lines, lists.nodes, lists.pods),
        "curves": curves,
    }


def panels(figures: dict[str, Any], curves: dict[str, Curve]) -> list[Panel]:
    """Allocated against arrived load, a line per seed; on the default list beside what others published."""
    series = [Series(name, curve) for name, curve in curves.items()]
    if figures["list"] == "default":
        series += [
            Series(f"{name} (published)", list(zip((100, 130), percents, strict=True)), Mark.POINTS)
            for name, percents in PUBLISHED.items()
        ]
    title = f"{figures['list']} list, {figures['nodes']} nodes, preset {figures['preset']}"
    x, y = "arrived load (% of device-milli)", "allocated (% of device-milli)"
    end = Panel(f"{title}, from 80 %", x, y, [_from(each, 80) for each in series])
    return [Panel(title, x, y, series), end]


def _from(series: Series, least: float) -> Series:
    return replace(series, points=[(x, y) for x, y in series.points if float(x) >= least])


class Track:
    """One cluster and its pods in the engine's terms, ready to be run with any weights and seeds."""

    def __init__(self, lists: Lists, *, cpu_unit_milli: int) -> None:
        self.lists = lists
        infos = node_infos(lists.nodes, cpu_unit_milli=cpu_unit_milli)
        self._state = ClusterState.build(infos)
        self._place = {d.device: (n.name, d.index) for n in infos for d in n.devices}
        self._requests = [request_of(pod, cpu_unit_milli=cpu_unit_milli) for pod in lists.pods]
        self._expected = [ExpectedShape(shape, count) for shape, count in Counter(self._requests).items()]
        self._names = {info.node: info.name for info in infos}

    def run(
        self, name: str, seeds: Sequence[int], load_percent: int
    ) -> tuple[list[Line], list[dict[str, Any]], float]:
        """Every pod's fate, figures per seed, and the CPU seconds that planning took."""
        lines: list[Line] = []
        scores = []
        started_s = time.process_time()
        for seed in seeds:
            order = arrivals(self.lists, seed=seed, load_percent=load_percent)
            fates = list(self._one(name, seed, order))
            scores.append(self._score(seed, order, fates))
            lines += fates
        return lines, scores, time.process_time() - started_s

    def _one(self, name: str, seed: int, order: Sequence[int]) -> Iterator[Line]:
        policy = without_precheck(preset(name))
        jobs = [self._job(number, self._requests[position]) for number, position in enumerate(order, start=1)]
        planner = Planner(self._state, policy, expected_shapes(self._expected, jobs, policy))
        for first in range(0, len(jobs), _BATCH):
            placed = {p.job: p for p in planner.run(jobs[first : first + _BATCH], None).placed}
            for number in range(first, min(first + _BATCH, len(jobs))):
                pod, decision = self.lists.pods[order[number]], placed.get(number + 1)
                devices = tuple(self._place[s.device][1] for s in decision.slices) if decision else ()
                node = self._names[decision.node] if decision else ""
                yield Line(seed, number, pod.name, node, devices, pod.milli)
            show_progress(min(first + _BATCH, len(jobs)), len(jobs), f"pods, {name}, seed {seed}")

    def _job(self, number: int, request: Request) -> PendingJob:
        return PendingJob(number, 1, TRAINING, 1, 0, number, request)

    def _score(self, seed: int, order: Sequence[int], fates: Sequence[Line]) -> dict[str, Any]:
        pods, capacity = self.lists.pods, self.lists.capacity_milli
        full = arrived_at(pods, order, capacity)
        refused = [line for line in fates if not line.node and pods[order[line.order]].devices]
        before = sum(pods[p].total_milli for p in order[: refused[0].order]) if refused else None
        return {
            "seed": seed,
            "percent_at_100": allocated_percent(fates[:full], capacity),
            "percent_at_load": allocated_percent(fates, capacity),
            "first_device_refusal_at_percent": None if before is None else round(100 * before / capacity, 2),
            "refused_8_device_pods": sum(pods[order[line.order]].devices == 8 for line in refused),
            "refused_pods": sum(not line.node for line in fates),
            "curve": self._curve(order, fates),
        }

    def _curve(self, order: Sequence[int], fates: Sequence[Line]) -> Curve:
        """Arrived and allocated device-milli in % of capacity, at every whole % that arrived."""
        pods, capacity = self.lists.pods, self.lists.capacity_milli
        arrived = allocated = 0
        found: Curve = [(0.0, 0.0)]
        for position, line in zip(order, fates, strict=True):
            arrived += pods[position].total_milli
            allocated += line.milli * len(line.devices)
            if arrived * 100 // capacity > found[-1][0]:
                found.append((round(100 * arrived / capacity, 3), round(100 * allocated / capacity, 3)))
        return found


def allocated_percent(fates: Sequence[Line], capacity_milli: int) -> float:
    """Device-milli of these placements in % of capacity."""
    return round(100 * sum(line.milli * len(line.devices) for line in fates) / capacity_milli, 3)


def figures(scores: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Mean, percentiles and every seed."""
    return {
        "percent_at_100": summary([score["percent_at_100"] for score in scores]),
        "percent_at_load": summary([score["percent_at_load"] for score in scores]),
        "seeds": list(scores),
    }


def write(path: Path, lines: Sequence[Line]) -> None:
    """The output file; SystemExit when it cannot be written."""
    try:
        file = path.open("w", newline="", encoding="utf-8")
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror or error}") from error
    with file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for line in lines:
            devices = "|".join(map(str, line.devices))
            writer.writerow((line.seed, line.order, line.pod, line.node, devices, line.milli))

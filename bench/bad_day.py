"""B4: a bad day: a full cluster and a long queue of jobs that cannot start, with a few behind them that can."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from bench.bad_day_cycle import measure
from bench.data import at_least, show_progress
from bench.engine_speed import SHAPES
from bench.machine import peak_mib
from bench.statistics import summary
from scheduling.engine.ordering import in_service_order
from scheduling.engine.session import PlanningSession
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    WHOLE_MILLI,
    DeviceInfo,
    EnginePolicy,
    ExpectedShape,
    NodeInfo,
    PendingJob,
    Request,
)
from scheduling.simulator.cluster import uniform_nodes
from scheduling.simulator.policy import OFFLINE, PRESETS, TRAINING, preset

_SEED = 42
_DEVICES = 8
_CORES = 96
_DEVICE_MIB = 81_920
_HOST_MIB = 786_432
_MODELS = ("H100", "A100", "L40S")
# As many jobs as a cycle of the server plans at once; what was refused is not offered again in it.
_BATCH = 250
# What the history says: a mixed cluster.
_EXPECTED = tuple(ExpectedShape(request, weight) for weight, request in SHAPES)
_RUNNABLE = Request(devices=1, cores=4, host_memory_mib=8_192)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--nodes", type=at_least(1), default=5000, help="nodes of 8 devices (default 5000)")
    parser.add_argument("--jobs", type=at_least(1), default=50_000, help="pending jobs (default 50000)")
    parser.add_argument("--runnable", type=at_least(0), default=100, help="of them can start (default 100)")
    parser.add_argument(
        "--shapes", type=at_least(1), default=500, help="different requests that cannot start (default 500)"
    )
    parser.add_argument(
        "--cycle", action="store_true", help="through a real cycle and PostgreSQL, too (minutes to set up)"
    )
    parser.add_argument(
        "--preset", choices=sorted(PRESETS), default="sample", help="weights (default sample)"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """One look at all jobs in batches, as a cycle of the server makes it, with a session that knows nothing yet; and
    one more right after, with the same jobs but those that were placed.
    """
    state = ClusterState.build(full_nodes(options.nodes, free=options.runnable))
    jobs = pending(options.jobs, options.runnable, options.shapes)
    session, policy = PlanningSession(), preset(options.preset)
    numbers: dict[Request, int] = {}
    shapes = {job.job: numbers.setdefault(job.request, len(numbers)) for job in jobs}
    first = Look(session, state, policy, shapes)
    first.over(jobs)
    again = Look(session, state, policy, shapes)
    again.over([job for job in jobs if job.job not in first.placed])
    return {
        "nodes": options.nodes,
        "devices": options.nodes * _DEVICES,
        "jobs": len(jobs),
        "runnable": options.runnable,
        "shapes": len(numbers),
        "preset": options.preset,
        "first_look": first.figures(),
        "second_look": again.figures(),
        "peak_memory_mib": peak_mib(),
        "cycles": _cycles(options) if options.cycle else None,
    }


def _cycles(options: argparse.Namespace) -> dict[str, Any]:
    return measure(nodes=options.nodes, jobs=options.jobs, runnable=options.runnable, shapes=options.shapes)


class Look:
    """One look at all waiting jobs: what it cost, and when the last job that could start had been placed."""

    def __init__(
        self, session: PlanningSession, state: ClusterState, policy: EnginePolicy, shapes: Mapping[int, int]
    ) -> None:
        self._session, self._state, self._policy, self._shapes = session, state, policy, shapes
        self.placed: set[int] = set()
        self._refused = 0
        self._wall_s: list[float] = []
        self._plan_cpu_s: list[float] = []
        self._last_placed_s = self._last_placed_cpu_s = 0.0

    def over(self, jobs: Sequence[PendingJob]) -> None:
        """Plan in batches, in order of service; a request once refused is not tried again."""
        total, started_s, started_cpu_s = len(jobs), time.perf_counter(), time.process_time()
        left = in_service_order(jobs, self._policy)
        while left:
            before_s, before_cpu_s = time.perf_counter(), time.process_time()
            batch, left = left[:_BATCH], left[_BATCH:]
            found = self._session.plan(
                self._state, batch, self._policy, now_ms=0, seed=1, expected=_EXPECTED, limit=_BATCH
            )
            gone = {self._shapes[refusal.job] for refusal in found.refused}
            self._refused += len(left) + len(found.refused)
            left = [job for job in left if self._shapes[job.job] not in gone]
            self._refused -= len(left)
            self._wall_s.append(time.perf_counter() - before_s)
            self._plan_cpu_s.append(time.process_time() - before_cpu_s)
            if found.placed:
                self._last_placed_s = time.perf_counter() - started_s
                self._last_placed_cpu_s = time.process_time() - started_cpu_s
            self.placed |= {placed.job for placed in found.placed}
            show_progress(total - len(left), total, "jobs")

    def figures(self) -> dict[str, Any]:
        """Seconds of wall time, and of CPU time, which other work on the machine moves less."""
        return {
            "placed": len(self.placed),
            "refused": self._refused,
            "last_runnable_placed_s": round(self._last_placed_s, 3) if self.placed else None,
            "last_runnable_placed_cpu_s": round(self._last_placed_cpu_s, 3) if self.placed else None,
            "plans": len(self._wall_s),
            "plan_s": summary(self._wall_s),
            "plan_cpu_s": summary(self._plan_cpu_s),
            "whole_look_s": round(sum(self._wall_s), 3),
            "whole_look_cpu_s": round(sum(self._plan_cpu_s), 3),
        }


def full_nodes(count: int, *, free: int) -> list[NodeInfo]:
    """Equal nodes of several models, every device booked but `free` of them, one per node, spread evenly."""
    every = max(1, count // max(1, free))
    return [
        _full(info, model=_MODELS[number % len(_MODELS)], free=number % every == 0 and number // every < free)
        for number, info in enumerate(
            uniform_nodes(
                count,
                devices=_DEVICES,
                cores=_CORES,
                memory_mib=_HOST_MIB,
                model="",
                device_memory_mib=_DEVICE_MIB,
            )
        )
    ]


def _full(info: NodeInfo, *, model: str, free: bool) -> NodeInfo:
    devices = tuple(_taken(replace(device, model=model)) for device in info.devices)
    if free:
        devices = (replace(info.devices[0], model=model), *devices[1:])
    cpus = tuple(replace(cpu, booked=cpu.cpu < _CORES - 8) for cpu in info.cpus)
    return replace(info, devices=devices, cpus=cpus, memory_booked_mib=_HOST_MIB // 2)


def _taken(device: DeviceInfo) -> DeviceInfo:
    return replace(device, memory_booked_mib=_DEVICE_MIB, compute_booked_milli=WHOLE_MILLI)


def pending(count: int, runnable: int, shapes: int) -> list[PendingJob]:
    """Jobs in random order; those that can start are in the queue that is served last."""
    dice = Random(_SEED)
    impossible = list(_impossible(shapes, dice))
    places = set(dice.sample(range(count), min(runnable, count)))
    return [
        PendingJob(n, 1, OFFLINE, 1, 0, n, _RUNNABLE)
        if n in places
        else PendingJob(n, 1, TRAINING, 1, 0, n, dice.choice(impossible))
        for n in range(count)
    ]


def _impossible(count: int, dice: Random) -> Iterator[Request]:
    """Different requests: too large for every node, for nodes that are not there, or without room now."""
    for number in range(count):
        cores, host = 1 + number % 64, 1024 + number
        yield dice.choice(
            (
                Request(devices=8, cores=cores, host_memory_mib=host),
                Request(devices=2, models=(dice.choice(_MODELS),), cores=cores, host_memory_mib=host),
                Request(devices=1, models=("B200",), cores=cores, host_memory_mib=host),
                Request(devices=1, device_memory_mib=90_000 + number, cores=cores),
                Request(devices=16, cores=cores, host_memory_mib=host),
                Request(devices=1, node_sets=("night",), cores=cores, host_memory_mib=host),
                Request(devices=1, cores=16 + cores, host_memory_mib=host),
                Request(cores=200 + number),
                Request(
                    devices=1,
                    shareable=True,
                    device_memory_mib=72_000 + number,
                    device_compute_milli=0,
                    cores=90,
                ),
            )
        )

"""What a run measures: integrals over time, and waits by class. All sums are integers."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from scheduling.engine.types import PPM
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.jobs import SimJob
from scheduling.simulator.timeline import Step, Timeline


@dataclass(slots=True)
class Integrals:
    """Amounts times ms. `busy` is milli x PPM x ms, all else milli, cores or nothing times ms."""

    span_ms: int = 0
    capacity: int = 0
    booked: int = 0
    busy: int = 0
    partial: int = 0
    cores: int = 0
    booked_cores: int = 0
    false_shortage_ms: int = 0
    waiting_ms: int = 0


@dataclass(slots=True)
class Meter:
    """Adds up the time between events; `arriving` stops with the last submission."""

    whole: Integrals = field(default_factory=Integrals)
    arriving: Integrals = field(default_factory=Integrals)
    timeline: Timeline = field(default_factory=Timeline)
    busy: int = 0
    still_arriving: bool = True

    def pass_time(self, cluster: Cluster, span_ms: int, *, waiting: int, false_shortage: bool) -> None:
        """The cluster stood like this for so long, and so many jobs waited."""
        now = cluster.totals
        self.timeline.pass_time(span_ms, Step(1, now.capacity_milli, now.booked_milli, self.busy, waiting))
        for sums in (self.whole, self.arriving) if self.still_arriving else (self.whole,):
            totals = cluster.totals
            sums.span_ms += span_ms
            sums.capacity += totals.capacity_milli * span_ms
            sums.booked += totals.booked_milli * span_ms
            sums.busy += self.busy * span_ms
            sums.partial += totals.partial_milli * span_ms
            sums.cores += totals.cores * span_ms
            sums.booked_cores += totals.booked_cores * span_ms
            sums.waiting_ms += span_ms * (waiting > 0)
            sums.false_shortage_ms += span_ms * false_shortage


@dataclass(slots=True)
class Waits:
    """Waits in ms from submission to the first placement, 8 bytes each, by size class and by queue."""

    by_size: dict[str, array[int]] = field(default_factory=dict)
    by_queue: dict[int, array[int]] = field(default_factory=dict)
    pulls: array[int] = field(default_factory=lambda: array("q"))
    requeued: array[int] = field(default_factory=lambda: array("q"))

    def started(self, job: SimJob, wait_ms: int) -> None:
        """The first placement of a job."""
        self.by_size.setdefault(job.size_class, array("q")).append(wait_ms)
        self.by_queue.setdefault(job.queue, array("q")).append(wait_ms)


@dataclass(slots=True)
class Work:
    """Finished and lost work in milli x ms at full speed, and what became of the jobs."""

    submitted: int = 0
    completed: int = 0
    requeued: int = 0
    given_up: int = 0
    done: int = 0
    lost: int = 0


def percentiles(values: Sequence[int]) -> dict[str, float | int | None]:
    """Count, mean, P50, P95, P99 and maximum in seconds (nearest rank); nulls when there is nothing."""
    ordered = sorted(values)
    if not ordered:
        return {"count": 0, "mean_s": None, "p50_s": None, "p95_s": None, "p99_s": None, "max_s": None}

    def rank(percent: int) -> float:
        return ordered[max(0, -(-percent * len(ordered) // 100) - 1)] / 1000

    mean = round(math.fsum(ordered) / len(ordered) / 1000, 3)
    figures = {f"p{percent}_s": rank(percent) for percent in (50, 95, 99)}
    return {"count": len(ordered), "mean_s": mean, **figures, "max_s": ordered[-1] / 1000}


def energy_kwh(cluster: Cluster, sums: Integrals) -> float:
    """Energy over the span by the cluster's power assumptions."""
    hardware = cluster.hardware
    idle_w = cluster.nodes * hardware.node_idle_w + cluster.devices * hardware.device_idle_w
    rise_w = hardware.device_busy_w - hardware.device_idle_w
    watt_ms = idle_w * sums.span_ms + hardware.core_w * sums.booked_cores + rise_w * sums.busy / (1000 * PPM)
    return round(watt_ms / 3.6e9, 3)

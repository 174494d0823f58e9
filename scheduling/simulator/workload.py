"""A seeded workload: classes of jobs, Poisson arrivals, log-normal run times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine.types import PPM, Request
from scheduling.simulator.jobs import SimJob
from scheduling.simulator.policy import INFERENCE, OFFLINE, TRAINING

_TEAMS = 4


@dataclass(frozen=True, slots=True)
class JobClass:
    """One kind of job; `weight` is its share of the arrivals, `median_s` and `sigma` shape its run time."""

    name: str
    weight: int
    queue: int
    request: Request
    median_s: int
    sigma: float = 1.0
    cpu_need_milli: int | None = None
    duty_ppm: int = PPM
    checkpoint_ms: int = 0
    deferrable: bool = False


# Assumptions of ours, to have something to run without any trace.
CLASSES = (
    JobClass(
        "inference",
        30,
        INFERENCE,
        Request(
            devices=1, device_compute_milli=250, shareable=True, cores=2, image="serve:1", image_mib=8_000
        ),
        7_200,
        duty_ppm=350_000,
    ),
    JobClass(
        "ablation",
        30,
        TRAINING,
        Request(devices=1, cores=8, image="train:1", image_mib=12_000),
        3_600,
        1.2,
    ),
    JobClass(
        "starved-loader",
        10,
        TRAINING,
        Request(devices=1, cores=4, read_bandwidth_mib_s=2_000, image="train:1", image_mib=12_000),
        5_400,
        cpu_need_milli=8_000,
    ),
    JobClass(
        "training",
        8,
        TRAINING,
        Request(devices=4, cores=32, image="train:1", image_mib=12_000),
        14_400,
        1.2,
        checkpoint_ms=1_800_000,
    ),
    JobClass(
        "large-training",
        2,
        TRAINING,
        Request(devices=8, cores=64, image="train:1", image_mib=12_000),
        28_800,
        checkpoint_ms=1_800_000,
    ),
    JobClass(
        "offline",
        15,
        OFFLINE,
        Request(devices=1, cores=4),
        5_400,
        1.2,
        checkpoint_ms=600_000,
        deferrable=True,
    ),
    JobClass("cpu", 5, OFFLINE, Request(cores=16), 1_800),
)


def mean_milli_ms(classes: Sequence[JobClass]) -> float:
    """Mean device-milli x ms that one arrival asks for."""
    total = sum(c.weight for c in classes)
    work = (
        c.weight * SimJob(0, 0, 0, 0, c.request).milli * c.median_s * 1000 * float(np.exp(c.sigma**2 / 2))
        for c in classes
    )
    return sum(work) / total


def generate(
    count: int, *, capacity_milli: int, load_percent: int, seed: int, classes: Sequence[JobClass] = CLASSES
) -> Iterator[SimJob]:
    """`count` jobs whose offered load is this share of the capacity; the same seed gives the same jobs."""
    if count < 0 or capacity_milli <= 0 or load_percent <= 0:
        raise ValueError("count, capacity and load must be positive")
    dice = np.random.default_rng(seed)
    shares = np.array([c.weight for c in classes]) / sum(c.weight for c in classes)
    gap_ms = mean_milli_ms(classes) * 100 / (capacity_milli * load_percent)
    at_ms = 0.0
    for number in range(1, count + 1):
        at_ms += float(dice.exponential(gap_ms))
        kind = classes[int(dice.choice(len(classes), p=shares))]
        run_s = kind.median_s * float(np.exp(dice.normal(0.0, kind.sigma)))
        yield SimJob(
            job=number,
            queue=kind.queue,
            submitted_ms=int(at_ms),
            duration_ms=max(1000, int(run_s * 1000)),
            request=kind.request,
            team=1 + int(dice.integers(_TEAMS)),
            cpu_need_milli=kind.cpu_need_milli,
            duty_ppm=kind.duty_ppm,
            checkpoint_ms=kind.checkpoint_ms,
            deferrable=kind.deferrable,
        )

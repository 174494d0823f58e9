"""The kinds of jobs of the demo, and which of them comes next. Pure: the same history gives the same job."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from scheduling.engine.types import SIMULATED

WHOLE = 1000
# Of so many jobs all are short. Afterwards they grow with their number, so that a demo which is left running
# for weeks stays as busy and still fills no disk.
SHORT_JOBS = 4000
FAILING = 0.03


class Pool(StrEnum):
    """Machines that compete for the same jobs."""

    A100 = "a100"
    V100 = "v100"
    T4 = "t4"
    ASCEND = "ascend"
    MLU = "mlu"
    CPU = "cpu"
    NOWHERE = "nowhere"


@dataclass(frozen=True)
class Aim:
    """How busy a pool is kept: booked or wanted thousandths of a device (or of a core), and how many may wait."""

    load_milli: int
    waiting: int


# In all about 70 % of the accelerators. More A100 are wanted than there are, so that a queue can always be seen.
AIMS: Mapping[Pool, Aim] = {
    Pool.A100: Aim(load_milli=76 * WHOLE, waiting=4),
    Pool.V100: Aim(load_milli=42 * WHOLE, waiting=2),
    Pool.T4: Aim(load_milli=44 * WHOLE, waiting=3),
    Pool.ASCEND: Aim(load_milli=40 * WHOLE, waiting=2),
    Pool.MLU: Aim(load_milli=22 * WHOLE, waiting=2),
    Pool.CPU: Aim(load_milli=1000 * WHOLE, waiting=2),
    Pool.NOWHERE: Aim(load_milli=1, waiting=1),
}


@dataclass(frozen=True)
class Kind:
    """One kind of job; its name finds it again among the stored ones. `often` is its weight within the pool."""

    name: str
    pool: Pool
    queue: str
    owner: str
    team: str
    load_milli: int
    seconds: tuple[int, int]
    resources: Mapping[str, Any]
    often: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict)


def _devices(count: int, model: str, **more: Any) -> dict[str, Any]:
    return {"devices": count, "device_models": [model], **more}


KINDS: Sequence[Kind] = (
    # Four of eight A100 are joined as well as all eight, so what waits for eight waits for a whole node.
    Kind("llm-pretrain", Pool.A100, "training", "lin.wei", "language", 8 * WHOLE, (180, 300),
         _devices(8, "A100", cores=64, memory="512Gi"), often=2, extra={"cpu_class": "compute"}),
    Kind("llm-finetune", Pool.A100, "training", "ana.sousa", "language", 4 * WHOLE, (90, 240),
         _devices(4, "A100", cores=32, memory="256Gi"), often=2),
    Kind("chat-serving", Pool.A100, "inference", "lin.wei", "language", 600, (150, 300),
         {"device_memory": "40Gi", "device_models": ["A100"], "splittable": False, "cores": 8}),
    Kind("rlhf-probe", Pool.A100, "training", "ana.sousa", "language", 2 * WHOLE, (60, 180),
         _devices(2, "A100", cores=16), extra={"priority": 10}),
    Kind("vit-train", Pool.V100, "training", "chen.yu", "vision", 8 * WHOLE, (180, 300),
         _devices(8, "V100", cores=48), often=2),
    Kind("detector-train", Pool.V100, "training", "tom.berg", "vision", 4 * WHOLE, (120, 300),
         _devices(4, "V100", cores=24), often=2),
    Kind("augment-search", Pool.V100, "training", "chen.yu", "vision", WHOLE, (60, 180),
         _devices(1, "V100", cores=8), extra={"cpu_class": "data", "max_retries": 1}),
    Kind("ranker-serving", Pool.V100, "inference", "mia.novak", "platform", 2 * WHOLE, (120, 300),
         {"device_memory": "48Gi", "device_models": ["V100"], "splittable": True, "cores": 8}),
    Kind("ocr-serving", Pool.T4, "inference", "tom.berg", "vision", 420, (180, 300),
         {"device_memory": "6Gi", "device_models": ["T4"], "splittable": False, "cores": 4}),
    Kind("caption-serving", Pool.T4, "inference", "chen.yu", "vision", 700, (120, 300),
         {"device_memory": "10Gi", "device_models": ["T4"], "splittable": False, "cores": 4}),
    Kind("nightly-eval", Pool.T4, "offline", "mia.novak", "platform", 4 * WHOLE, (120, 240),
         _devices(4, "T4", cores=16, shareable=False), often=2),
    Kind("speech-pretrain", Pool.ASCEND, "training", "ana.sousa", "language", 8 * WHOLE, (180, 300),
         _devices(8, "910B3", cores=96), often=2),
    Kind("speech-tune", Pool.ASCEND, "training", "lin.wei", "language", 4 * WHOLE, (120, 240),
         _devices(4, "910B3", cores=48), often=2),
    Kind("translate-serving", Pool.ASCEND, "inference", "ana.sousa", "language", 500, (180, 300),
         {"device_memory": "30Gi", "device_models": ["910B3"], "splittable": False, "cores": 8}),
    Kind("mlu-scoring", Pool.MLU, "offline", "mia.novak", "platform", 2 * WHOLE, (90, 300),
         _devices(2, "MLU370-X8", cores=8, shareable=False)),
    # One of them leaves too little in one piece for another, however much is free in all.
    Kind("embed-serving", Pool.MLU, "inference", "mia.novak", "platform", 530, (200, 300),
         {"device_memory": "12Gi", "device_models": ["MLU370-X8"], "splittable": False, "cores": 4}, often=2),
    Kind("feature-join", Pool.CPU, "offline", "mia.novak", "platform", 96 * WHOLE, (120, 300),
         {"cores": 96, "memory": "128Gi"}, often=2, extra={"cpu_class": "data", "node_sets": ["batch"]}),
    Kind("video-decode", Pool.CPU, "offline", "tom.berg", "vision", 64 * WHOLE, (60, 240),
         {"cores": 64, "memory": "64Gi"}, often=2, extra={"node_sets": ["batch"]}),
    Kind("report-build", Pool.CPU, "training", "mia.novak", "platform", 16 * WHOLE, (30, 90),
         {"cores": 16, "memory": "16Gi"}, extra={"node_sets": ["batch"]}),
    # More than any node has: the one that waits for ever, and the console says why.
    Kind("llm-giant", Pool.NOWHERE, "training", "ana.sousa", "language", 1, (300, 300),
         _devices(16, "A100", cores=64)),
)  # fmt: skip
BY_NAME: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}


@dataclass(frozen=True)
class Live:
    """What a pool's jobs book and want now, and how many of them wait."""

    load_milli: int = 0
    waiting: int = 0


def next_kind(pool: Pool, live: Live, *, dice: random.Random) -> Kind | None:
    """A job for this pool, or None while it has enough to do."""
    aim = AIMS[pool]
    if live.waiting >= aim.waiting:
        return None
    kinds = [kind for kind in KINDS if kind.pool is pool]
    kind = dice.choices(kinds, weights=[kind.often for kind in kinds])[0]
    return kind if live.load_milli + kind.load_milli <= aim.load_milli else None


def request_for(kind: Kind, *, number: int, dice: random.Random) -> dict[str, Any]:
    """The request of the demo's `number`-th job, as a person would send it. It names the label of simulated nodes."""
    seconds = dice.randint(*kind.seconds) * max(SHORT_JOBS, number) // SHORT_JOBS
    ending = f"; exit {dice.choice((1, 2, 137))}" if dice.random() < FAILING else ""
    return {
        "name": kind.name,
        "team": kind.team,
        "queue": kind.queue,
        "command": ["/bin/sh", "-c", f"echo {kind.name}; sleep {seconds}{ending}"],
        "resources": dict(kind.resources),
        "node_labels": dict([SIMULATED]),
        **kind.extra,
    }

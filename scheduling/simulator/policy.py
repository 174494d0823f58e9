"""Policies of simulations: named presets, and files with the weights or with a whole policy of the engine."""

from __future__ import annotations

from dataclasses import replace

from scheduling.engine.types import PPM, EnginePolicy, QueueInfo, Term

INFERENCE, TRAINING, OFFLINE = 1, 2, 3
QUEUES = (
    QueueInfo(INFERENCE, "inference", 100, 300_000, preemptable=False),
    QueueInfo(TRAINING, "training", 70, 500_000, preemptable=False),
    QueueInfo(OFFLINE, "offline", 30, 200_000, preemptable=True),
)
# `sample` are the weights of the sample policy document; `packing` lets the fragmentation term decide.
PRESETS: dict[str, dict[Term, int]] = {
    "sample": {
        Term.RESOURCE_FIT: 350_000,
        Term.AFFINITY: 250_000,
        Term.TOPOLOGY: 200_000,
        Term.BALANCE: 120_000,
        Term.FRAGMENTATION: 80_000,
    },
    "packing": {Term.FRAGMENTATION: PPM},
}


def preset(name: str) -> EnginePolicy:
    """A preset with the three default queues and the default pre-check."""
    return EnginePolicy(weights_ppm=dict(PRESETS[name]), queues=QUEUES)


def without_precheck(policy: EnginePolicy) -> EnginePolicy:
    """The same policy with a memory pre-check of factor 1.0."""
    return replace(policy, precheck_num=1, precheck_den=1)

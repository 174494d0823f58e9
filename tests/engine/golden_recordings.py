"""Recordings whose bytes are kept; `python -m tests.engine.golden_recordings` writes them anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from scheduling.engine.codec import Recording, encode_pretty
from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    CpuClass,
    DeviceHealth,
    DeviceInfo,
    ExpectedShape,
    Hold,
    LinkInfo,
    NodeInfo,
    PendingJob,
    Request,
    SliceChoice,
)
from tests.engine.build import GIB, POLICY, all_linked, cpus, device, job, node, shared
from tests.engine.random_clusters import random_jobs, random_nodes

FOLDER = Path(__file__).parent / "golden"


def recordings() -> dict[str, Recording]:
    """By file name."""
    return {
        "mixed.json": _decided(_mixed_nodes(), _mixed_jobs()),
        "expected.json": _decided(
            _mixed_nodes(), _mixed_jobs()[:4], (ExpectedShape(Request(devices=4, cores=8), 3),)
        ),
        "crooked.json": _decided(random_nodes(2024), random_jobs(2024)),
        "s7-fragments.json": _decided(
            _two_halves_and_one_idle(), [job(n, shared(35 * GIB), queue=1) for n in (1, 2)]
        ),
        "s8-precheck.json": _decided(
            [node(1, [device(1, 24 * GIB, **_BOOKED_AND_FOREIGN)])],
            [job(n, shared(mib), queue=1) for n, mib in ((1, 5 * GIB + 1), (2, 5 * GIB), (3, 854))],
        ),
        "s9-splittable.json": _decided(
            [node(7, _four_with_twenty_free())],
            [
                job(1, shared(40 * GIB, devices=0, splittable=True), queue=1),
                job(2, shared(40 * GIB), queue=1),
                job(3, Request(devices=1), queue=2),
            ],
        ),
        "s16-why.json": _decided(
            [node(7, _four_with_twenty_free()), node(8, [device(80, 32 * GIB)]), node(9)],
            [job(1, shared(40 * GIB), queue=1), job(2, shared(40 * GIB), queue=1, priority=-1)],
        ),
        "gang-hold-power.json": _decided(_held_and_capped(), _gang_jobs()),
    }


_BOOKED_AND_FOREIGN = {
    "memory_booked_mib": 10 * GIB,
    "compute_booked_milli": 420,
    "memory_used_mib": 10 * GIB,
    "foreign_mib": 8 * GIB,
}


def _two_halves_and_one_idle() -> list[NodeInfo]:
    half = {"memory_booked_mib": 20 * GIB, "compute_booked_milli": 500}
    return [node(1, [device(n, 40 * GIB, **half) for n in (11, 12)]), node(2, [device(21, 40 * GIB)])]


def _four_with_twenty_free() -> list[DeviceInfo]:
    return [device(n, 80 * GIB, memory_booked_mib=60 * GIB, compute_booked_milli=100) for n in (1, 2, 3, 4)]


def _held_and_capped() -> list[NodeInfo]:
    cards = [[device(10 * n + i, power_limit_mw=400_000) for i in range(3)] for n in (1, 2)]
    whole = (SliceChoice(10, 80 * GIB, 1000),)
    return [
        node(1, cards[0], holds=(Hold(3, whole, (0, 1)),), idle_mw=150_000, node_set="a"),
        node(2, cards[1], idle_mw=150_000, power_cap_mw=1_000_000, node_set="a"),
    ]


def _gang_jobs() -> list[PendingJob]:
    one = Request(devices=1, cores=2)
    return [job(1, one, replicas=2), job(2, one, replicas=3), job(3, one), job(4, one, replicas=9)]


def decide_again(recording: Recording) -> Recording:
    """The recording with what `plan()` answers today."""
    decided = plan(
        ClusterState.build(recording.nodes),
        recording.jobs,
        recording.policy,
        now_ms=recording.now_ms,
        seed=recording.seed,
        expected=recording.expected,
        limit=recording.limit,
    )
    return replace(recording, plan=decided)


def _decided(
    nodes: list[NodeInfo], jobs: list[PendingJob], expected: tuple[ExpectedShape, ...] = ()
) -> Recording:
    return decide_again(Recording(tuple(nodes), tuple(jobs), POLICY, 1_700_000_000_000, 7, expected))


def _mixed_nodes() -> list[NodeInfo]:
    a100 = [device(100 + n, numa=n // 2, memory_reserved_mib=869) for n in range(4)]
    a100[0] = replace(a100[0], memory_booked_mib=60 * GIB, compute_booked_milli=750)
    v100 = [device(200 + n, 32 * GIB, model="Tesla V100-SXM2-32GB", numa=n) for n in range(2)]
    npu = [device(300 + n, 64 * GIB, model="Ascend 910B3", numa=0) for n in range(4)]
    npu[3] = replace(npu[3], health=DeviceHealth.SUSPECT, foreign_mib=512)
    return [
        node(
            1,
            a100,
            cpus=cpus(32, numas=2, smt=True),
            links=all_linked(a100),
            images=("train:1",),
            node_set="a",
        ),
        node(2, v100, cpus=cpus(16, numas=2), links=(LinkInfo(200, 201, "PHB"),), datasets=("images",)),
        node(3, npu, cpus=cpus(16, numas=2), links=all_linked(npu, "HCCS", None), labels=(("disk", "nvme"),)),
        node(4, cpus=cpus(8), read_bandwidth_booked_mib_s=2000),
        node(5, not_ready="silent"),
    ]


def _mixed_jobs() -> list[PendingJob]:
    return [
        job(
            1,
            Request(devices=2, models=("nvidia-a100",), cores=8, cpu_class=CpuClass.COMPUTE, image="train:1"),
        ),
        job(2, shared(8 * GIB, cores=2), queue=1),
        job(3, Request(devices=4, models=("huawei-ascend",), cores=4), queue=3),
        job(4, Request(cores=4, host_memory_mib=32 * GIB, read_bandwidth_mib_s=800), queue=3),
        job(5, shared(40 * GIB, devices=0, splittable=True, cores=2), queue=1, priority=5),
        job(6, Request(devices=1, models=("nvidia-h100",)), priority=-3),
        job(
            7,
            Request(
                devices=1, device_memory_mib=24 * GIB, cores=4, datasets=("images",), previous_nodes=(2,)
            ),
        ),
        job(8, Request(devices=1, models=("nvidia-h100",))),
    ]


if __name__ == "__main__":
    for name, recording in recordings().items():
        (FOLDER / name).write_text(encode_pretty(recording), encoding="ascii")

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
    ExpectedShape,
    LinkInfo,
    NodeInfo,
    PendingJob,
    Request,
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
    }


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

"""Small clusters and jobs for engine tests, with every relevant field in sight of the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    CpuInfo,
    DeviceHealth,
    DeviceInfo,
    EnginePolicy,
    LinkInfo,
    NodeInfo,
    PendingJob,
    Plan,
    QueueInfo,
    Request,
    Term,
)

A100 = "NVIDIA A100-SXM4-80GB"
GIB = 1024

SAMPLE_WEIGHTS = {
    Term.RESOURCE_FIT: 350_000,
    Term.AFFINITY: 250_000,
    Term.TOPOLOGY: 200_000,
    Term.BALANCE: 120_000,
    Term.FRAGMENTATION: 80_000,
}
QUEUES = (
    QueueInfo(queue=1, name="inference", priority=100, quota_ppm=300_000, preemptable=False),
    QueueInfo(queue=2, name="training", priority=70, quota_ppm=500_000, preemptable=False),
    QueueInfo(queue=3, name="offline", priority=30, quota_ppm=200_000, preemptable=True),
)
POLICY = EnginePolicy(weights_ppm=SAMPLE_WEIGHTS, queues=QUEUES)
NO_PRECHECK = replace(POLICY, precheck_num=1, precheck_den=1)


def cpus(count: int, *, numas: int = 1, smt: bool = False, mhz: int = 3000) -> tuple[CpuInfo, ...]:
    """CPUs spread over NUMA nodes in equal runs; with SMT, CPU n and n + count/2 are siblings."""
    cores = count // 2 if smt else count
    return tuple(
        CpuInfo(cpu=n, core=n % cores, socket=0, numa=(n % cores) * numas // cores, max_mhz=mhz)
        for n in range(count)
    )


def device(number: int, total_mib: int | None = 80 * GIB, **fields: object) -> DeviceInfo:
    """A healthy A100 unless told otherwise."""
    given: dict[str, object] = {"model": A100, "health": DeviceHealth.HEALTHY, "index": number, **fields}
    return DeviceInfo(device=number, memory_total_mib=total_mib, **given)  # type: ignore[arg-type]


def node(number: int, devices: Sequence[DeviceInfo] = (), **fields: object) -> NodeInfo:
    """A ready node with 16 cores and 256 GiB unless told otherwise."""
    given: dict[str, object] = {
        "name": f"n{number}",
        "node_set": None,
        "not_ready": None,
        "observe_only": False,
        "labels": (),
        "memory_mib": 256 * GIB,
        "memory_booked_mib": 0,
        "cpus": cpus(16),
        **fields,
    }
    return NodeInfo(node=number, devices=tuple(devices), **given)  # type: ignore[arg-type]


def all_linked(
    devices: Sequence[DeviceInfo], kind: str = "NV", lanes: int | None = 12
) -> tuple[LinkInfo, ...]:
    """A link of one kind between every two devices."""
    numbers = [d.device for d in devices]
    return tuple(LinkInfo(a, b, kind, lanes) for i, a in enumerate(numbers) for b in numbers[i + 1 :])


def job(number: int, request: Request, **fields: object) -> PendingJob:
    """A pending training job, submitted in order of its number."""
    given: dict[str, object] = {
        "attempt": 1,
        "queue": 2,
        "team": 1,
        "priority": 0,
        "submitted_at_ms": number,
        **fields,
    }
    return PendingJob(job=number, request=request, **given)  # type: ignore[arg-type]


def shared(memory_mib: int | None, **fields: object) -> Request:
    """One shared slice; without other word its compute follows its memory."""
    given: dict[str, object] = {"devices": 1, "shareable": True, "device_compute_milli": 0, **fields}
    return Request(device_memory_mib=memory_mib, **given)  # type: ignore[arg-type]


def decide(nodes: Sequence[NodeInfo], requests: Sequence[Request], policy: EnginePolicy = POLICY) -> Plan:
    """Plan one job per request, in their order."""
    jobs = [job(number, request) for number, request in enumerate(requests, start=1)]
    return plan(ClusterState.build(nodes), jobs, policy, now_ms=0, seed=0)

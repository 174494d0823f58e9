"""Random clusters and jobs from a seed: small, crooked, full of unknowns."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from scheduling.engine.types import (
    CpuClass,
    CpuInfo,
    DeviceHealth,
    DeviceInfo,
    EnginePolicy,
    Hold,
    LinkInfo,
    NodeInfo,
    Patience,
    PendingJob,
    Request,
    SliceChoice,
    TeamCap,
    Term,
)
from tests.engine.build import NO_PRECHECK, POLICY

MODELS = ("NVIDIA A100-SXM4-80GB", "Tesla T4", "Ascend 910B3", None)
NAMES = ("nvidia-a100", "nvidia-t4", "huawei-ascend", "a10")
HEALTH = (
    (DeviceHealth.HEALTHY,) * 12
    + (DeviceHealth.SUSPECT,) * 2
    + (DeviceHealth.UNKNOWN, DeviceHealth.QUARANTINED)
)


def random_nodes(seed: int) -> list[NodeInfo]:
    rng = Random(seed)
    nodes = [_node(rng, number) for number in rng.sample(range(1, 50), rng.randint(1, 6))]
    return [_crowded(Random(seed + node.node), node) for node in nodes]


def random_policy(seed: int) -> EnginePolicy:
    """The sample policy: with the default pre-check or none, sometimes with power in it, a cap or patience."""
    rng = Random(seed)
    policy = rng.choice((POLICY, POLICY, POLICY, NO_PRECHECK))
    weights = {**policy.weights_ppm, Term.POWER: rng.choice((0, 0, 100_000))}
    cap_mw, patience = rng.choice((None, None, 1200)), rng.choice((None, None, Patience(10, 40_000, 1000)))
    return replace(policy, weights_ppm=weights, power_cap_mw=cap_mw, patience=patience)


def random_caps(rng: Random, policy: EnginePolicy) -> EnginePolicy:
    """The policy, often with caps of queues, teams and one model."""
    if rng.random() < 0.3:
        return policy
    queues = [
        replace(
            one,
            quota_ppm=rng.choice((None, 100_000, 300_000)),
            team_caps=rng.choice(((), (TeamCap(1, None, 1500),), (TeamCap(1, MODELS[0], 300),))),
            borrow=rng.random() < 0.5,
        )
        for one in policy.queues
    ]
    return replace(policy, queues=tuple(queues), capped=True, lending=rng.random() < 0.5)


def random_jobs(seed: int, *, most: int = 10) -> list[PendingJob]:
    rng = Random(seed + 1)
    shapes = [_request(rng) for _ in range(rng.randint(1, 5))]
    return [
        PendingJob(
            job=number,
            attempt=1,
            queue=rng.choice((1, 2, 3, 9)),
            team=1,
            priority=rng.choice((0, 0, 1, 257)),
            submitted_at_ms=rng.randint(0, 3),
            request=rng.choice(shapes),
            replicas=rng.choice((1, 1, 1, 1, 2, 3)),
            runs_ms=rng.choice((None, 0, 1000, 3000)),
        )
        for number in rng.sample(range(1, 100), rng.randint(1, most))
    ]


def _node(rng: Random, number: int) -> NodeInfo:
    cpus = _cpus(rng)
    devices = [_device(rng, number * 100 + i, i) for i in range(rng.choice((0, 1, 2, 4, 4, 8)))]
    if rng.random() < 0.6 and devices:
        model, total = devices[0].model, devices[0].memory_total_mib
        devices = [_device(rng, d.device, d.index, model=model, total=total) for d in devices]
    ids = [d.device for d in devices]
    links = [
        LinkInfo(a, b, rng.choice(("NV", "NV12", "PIX", "SYS", "HCCS", "odd")), rng.choice((None, 2, 12)))
        for i, a in enumerate(ids)
        for b in ids[i + 1 :]
        if rng.random() < 0.7
    ]
    return NodeInfo(
        node=number,
        name=f"n{number}",
        node_set=rng.choice((None, "a", "b")),
        not_ready=rng.choice((None,) * 8 + ("silent",)),
        observe_only=rng.random() < 0.08,
        labels=tuple((k, rng.choice("xy")) for k in ("disk", "zone") if rng.random() < 0.5),
        memory_mib=rng.choice((1000, 4000)),
        memory_booked_mib=rng.choice((0, 0, 0, 500, 2000)),
        cpus=cpus,
        devices=tuple(devices),
        links=tuple(links),
        images=tuple(name for name in ("img:1", "img:2") if rng.random() < 0.4),
        datasets=tuple(name for name in ("d1", "d2") if rng.random() < 0.4),
        read_bandwidth_booked_mib_s=rng.choice((0, 0, 900)),
        runs_containers=number % 5 != 0,
    )


def _crowded(rng: Random, node: NodeInfo) -> NodeInfo:
    """The node with partitions, holds, bandwidth and power, each now and then."""
    devices = node.devices
    if devices and rng.random() < 0.25:
        group = rng.choice((None, 0))
        devices = tuple(
            replace(d, parent=rng.choice((devices[0].device, 7)), memory_group=group) if i else d
            for i, d in enumerate(devices)
        )
    return replace(
        node,
        devices=tuple(replace(d, power_limit_mw=rng.choice((None, 100, 300))) for d in devices),
        holds=tuple(_hold(rng, node) for _ in range(rng.choice((0, 0, 0, 1, 2)))),
        read_bandwidth_total_mib_s=rng.choice((None, None, 1500)),
        idle_mw=rng.choice((None, 200)),
        core_mw=rng.choice((None, 5)),
        measured_mw=rng.choice((None, None, 250)),
        power_cap_mw=rng.choice((None, None, None, 600)),
    )


def _hold(rng: Random, node: NodeInfo) -> Hold:
    cards = rng.sample(node.devices, rng.randint(0, min(2, len(node.devices))))
    return Hold(
        job=rng.randint(1, 100),
        slices=tuple(SliceChoice(d.device, rng.choice((0, 90, 800)), rng.choice((100, 1000))) for d in cards),
        cpus=tuple(rng.sample(range(16), rng.randint(0, 3))),
        host_memory_mib=rng.choice((0, 300)),
        read_bandwidth_mib_s=rng.choice((0, 100)),
    )


def _cpus(rng: Random) -> tuple[CpuInfo, ...]:
    count = rng.choice((0, 4, 8, 8, 16, 16))
    cores = max(1, count // rng.choice((1, 2)))
    numas = rng.choice((1, 2))
    return tuple(
        CpuInfo(
            cpu=n,
            core=n % cores,
            socket=0,
            numa=rng.choice((None, 0)) if numas == 1 else (n % cores) * 2 // cores,
            max_mhz=rng.choice((None, 2000, 3000)),
            online=rng.random() > 0.05,
            reserved=rng.random() < 0.05,
            booked=rng.random() < 0.15,
        )
        for n in range(count)
    )


def _device(
    rng: Random, number: int, index: int, *, model: str | None = "?", total: int | None = None
) -> DeviceInfo:
    if model == "?":
        model, total = rng.choice(MODELS), rng.choice((None, 400, 800))
    return DeviceInfo(
        device=number,
        index=index,
        model=model,
        memory_total_mib=total,
        memory_reserved_mib=rng.choice((0, 0, 13)),
        memory_booked_mib=rng.choice((0,) * 6 + (100, 500)),
        memory_used_mib=rng.choice((None, 0, 150)),
        compute_booked_milli=rng.choice((0,) * 6 + (250, 1000)),
        foreign_mib=rng.choice((0,) * 14 + (90,)),
        numa=rng.choice((None, -1, 0, 1)),
        cpu_affinity=rng.choice(((), (0, 1))),
        health=rng.choice(HEALTH),
        cordoned=rng.random() < 0.05,
    )


def _request(rng: Random) -> Request:
    memory = rng.choice((None, 40, 100, 150, 300, 350, 600, 790))
    shareable = rng.random() < 0.6
    milli = rng.choice((0, 250, 500, 1000)) if shareable and memory is not None else rng.choice((300, 1000))
    return Request(
        devices=rng.choice((0, 0, 1, 1, 2, 2, 3)),
        device_memory_mib=memory,
        device_compute_milli=milli,
        models=(rng.choice(NAMES),) if rng.random() < 0.2 else (),
        splittable=rng.random() < 0.4,
        shareable=shareable,
        cores=rng.choice((0, 1, 1, 2, 3, 5)),
        cpu_class=rng.choice(tuple(CpuClass)),
        host_memory_mib=rng.choice((None, None, None, 300, 3000)),
        read_bandwidth_mib_s=rng.choice((None, None, 700)),
        node_labels=(("disk", "x"),) if rng.random() < 0.08 else (),
        node_sets=("a",) if rng.random() < 0.08 else (),
        image=rng.choice((None, "img:1")),
        datasets=("d1",) if rng.random() < 0.3 else (),
        previous_nodes=(rng.randint(1, 50),) if rng.random() < 0.2 else (),
        excluded_nodes=(rng.randint(1, 50),) if rng.random() < 0.2 else (),
        excluded_devices=(rng.randint(100, 5000),) if rng.random() < 0.2 else (),
    )

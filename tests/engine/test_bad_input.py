"""Crooked clusters and jobs: the right answer or a typed reason, never an exception, never negative free capacity."""

from dataclasses import replace

import pytest

from scheduling.engine.codec import Recording, decode, encode
from scheduling.engine.explain import explain, what_fits
from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    CpuInfo,
    DeviceHealth,
    EnginePolicy,
    NodeInfo,
    PendingJob,
    Plan,
    ReasonCode,
    Request,
)
from tests.engine.build import GIB, NO_PRECHECK, POLICY, cpus, decide, device, job, node, shared

ONE = Request(devices=1)


def code(plan_: Plan) -> ReasonCode:
    return plan_.refused[0].code


def test_devices_without_any_fact_take_only_jobs_that_ask_for_none() -> None:
    bare = node(1, [device(1, None, model=None)])
    assert decide([bare], [ONE]).placed[0].slices[0].memory_mib == 0
    assert code(decide([bare], [Request(devices=1, device_memory_mib=1)])) is ReasonCode.DEVICE_TOO_SMALL
    assert code(decide([bare], [Request(models=("a100",))])) is ReasonCode.DEVICE_MODEL


@pytest.mark.parametrize("total", [None, 0])
def test_zero_or_unknown_memory_is_never_free_memory(total: int | None) -> None:
    info = node(1, [device(1, total, memory_reserved_mib=500, memory_booked_mib=9, memory_used_mib=70)])
    state = ClusterState.build([info])
    assert state.device.free.min() == 0
    assert code(decide([info], [shared(1)])) is ReasonCode.DEVICE_TOO_SMALL
    assert what_fits(state, 1).node == 1


def test_reserved_booked_used_and_foreign_beyond_the_device_leave_zero() -> None:
    over = device(
        1,
        1000,
        memory_reserved_mib=100,
        memory_booked_mib=5000,
        memory_used_mib=9000,
        foreign_mib=70_000,
        compute_booked_milli=2500,
    )
    state = ClusterState.build([node(1, [over], memory_mib=10, memory_booked_mib=99)])
    assert (state.device.free[0], state.device.compute_free[0], state.node.host_free[0]) == (0, 0, 0)
    assert decide(state.infos, [shared(1), ONE, Request(host_memory_mib=1)]).placed == ()


def test_sparse_and_memory_only_numa_nodes() -> None:
    """CPUs lie in NUMA nodes 0 and 8; devices name 8, 3 (memory only) and 255 (nowhere)."""
    layout = tuple(replace(c, numa=8 * (c.cpu // 8)) for c in cpus(16))
    info = node(1, [device(n, numa=numa) for n, numa in ((1, 8), (2, 3), (3, 255))], cpus=layout)
    found = decide([info], [Request(devices=1, cores=4)] * 3)
    assert {s.device for p in found.placed for s in p.slices} == {1, 2, 3}
    beside = next(p for p in found.placed if p.slices[0].device == 1)
    assert set(beside.cpus) <= set(range(8, 16))


@pytest.mark.parametrize("numa", [-1, None])
def test_numa_minus_one_is_no_preference(numa: int | None) -> None:
    info = node(1, [device(1, numa=numa)], cpus=cpus(16, numas=2))
    assert decide([info], [Request(devices=1, cores=12)]).placed


def test_no_cpus_no_devices_no_nodes() -> None:
    assert code(decide([node(1, cpus=())], [Request()])) is ReasonCode.CORES_TOTAL
    assert code(decide([node(1)], [ONE])) is ReasonCode.NO_DEVICES
    assert code(decide([], [ONE])) is ReasonCode.NODE_NOT_READY
    assert decide([node(1, [device(1)], cpus=())], [Request(devices=1, cores=0)]).placed


def test_no_healthy_device() -> None:
    ill = [device(n, health=h) for n, h in enumerate(DeviceHealth, start=1) if h is not DeviceHealth.HEALTHY]
    ill = [d for d in ill if d.health is not DeviceHealth.SUSPECT]
    found = decide([node(1, ill)], [ONE, Request(cores=1)])
    assert code(found) is ReasonCode.DEVICE_HEALTH
    assert [p.job for p in found.placed] == [2]


def test_thousands_of_identical_impossible_jobs_get_one_reason() -> None:
    impossible = [job(n, Request(devices=64)) for n in range(1, 5001)]
    found = plan(
        ClusterState.build([node(n, [device(n)]) for n in (1, 2)]),
        [*impossible, job(9999, ONE)],
        POLICY,
        now_ms=0,
        seed=0,
    )
    assert [p.job for p in found.placed] == [9999]
    assert len({(r.code, r.counts, r.near) for r in found.refused}) == 1
    assert len(found.refused) == 5000


def test_a_job_larger_than_any_node() -> None:
    nodes = [node(1, [device(n) for n in range(1, 9)])]
    huge = {
        ReasonCode.DEVICE_COUNT: Request(devices=1024),
        ReasonCode.DEVICE_TOO_SMALL: Request(devices=1, device_memory_mib=1 << 40),
        ReasonCode.CORES_TOTAL: Request(cores=65_536),
        ReasonCode.HOST_MEMORY_TOTAL: Request(host_memory_mib=1 << 40),
    }
    for expected, request in huge.items():
        assert code(decide(nodes, [request])) is expected
    spread = decide(nodes, [shared(1 << 40, devices=0, splittable=True)])
    near = spread.refused[0].near[0]
    assert near.available is not None and near.needed > near.available


@pytest.mark.parametrize(
    ("asked", "policy", "milli"),
    [
        (20 * GIB, POLICY, 834),
        (20 * GIB + 1, POLICY, 1000),
        (24 * GIB, POLICY, 1000),
        (24 * GIB - 1, NO_PRECHECK, 1000),
        (24 * GIB, NO_PRECHECK, 1000),
    ],
)
def test_requests_at_the_exact_limit_of_a_card(asked: int, policy: EnginePolicy, milli: int) -> None:
    """1.2 x 20 GiB is all of 24 GiB: up to there a slice, above it the device alone."""
    placed = decide([node(1, [device(1, 24 * GIB)])], [shared(asked)], policy).placed[0]
    assert placed.slices[0].compute_milli == milli
    above = decide([node(1, [device(1, 24 * GIB)])], [shared(24 * GIB + 1)], policy)
    assert code(above) is ReasonCode.DEVICE_TOO_SMALL


def test_foreign_use_beside_a_booking_that_is_hardly_used() -> None:
    card = device(
        1,
        24 * GIB,
        memory_booked_mib=10 * GIB,
        compute_booked_milli=400,
        memory_used_mib=(2 + 8) * GIB,
        foreign_mib=8 * GIB,
    )
    assert ClusterState.build([node(1, [card])]).device.free[0] == 6 * GIB
    assert decide([node(1, [card])], [shared(5 * GIB)]).placed
    assert code(decide([node(1, [card])], [shared(5 * GIB + 1)])) is ReasonCode.FOREIGN_USE
    assert decide([node(1, [card])], [shared(6 * GIB)], NO_PRECHECK).placed


def test_priorities_that_differ_only_above_one_byte() -> None:
    one_card = ClusterState.build([node(1, [device(1)])])
    jobs = [job(n, ONE, priority=p) for n, p in ((1, 1), (2, 257), (3, 65_793), (4, 1 + (1 << 40)))]
    found = plan(one_card, jobs, POLICY, now_ms=0, seed=0)
    assert [p.job for p in found.placed] == [4]


NAMES = ("quo\"te's`", "emoji-\U0001f680\U0001f9ea", "训练-模型", "a\\b\n\t\x00", "'; DROP TABLE", "")


@pytest.mark.parametrize("name", NAMES)
def test_names_are_only_names(name: str) -> None:
    info: NodeInfo = node(
        1,
        [device(1, model=name or None)],
        name=name,
        node_set=name,
        labels=((name, name),),
        images=(name,),
        datasets=(name,),
    )
    request = Request(
        devices=1, node_sets=(name,), node_labels=((name, name),), image=name, datasets=(name, name)
    )
    jobs: list[PendingJob] = [job(1, request), job(2, replace(request, node_labels=((name, "other"),)))]
    found = plan(ClusterState.build([info]), jobs, POLICY, now_ms=0, seed=0)
    assert [p.job for p in found.placed] == [1]
    assert code(found) is ReasonCode.LABELS
    recording = Recording((info,), tuple(jobs), POLICY, 0, 0, plan=found)
    assert decode(Recording, encode(recording)) == recording
    explained = explain(ClusterState.build([info]), found.refused[0], jobs[1], POLICY, jobs=jobs)
    assert explained.code is ReasonCode.LABELS


def test_cpus_that_are_all_offline_reserved_or_listed_crookedly() -> None:
    odd = (
        CpuInfo(7, 3, 1, numa=-1, max_mhz=None, online=False),
        CpuInfo(900, 3, 1, numa=4, max_mhz=0, reserved=True),
        CpuInfo(2, 0, 0, numa=None, booked=True),
    )
    found = decide([node(1, cpus=odd)], [Request(cores=1), Request(cores=2)])
    assert [r.code for r in found.refused] == [ReasonCode.CORES_FREE, ReasonCode.CORES_TOTAL]


def test_an_unknown_queue_and_equal_ids_of_attempts() -> None:
    jobs = [job(1, Request(), queue=77), job(1, Request(), attempt=2)]
    found = plan(ClusterState.build([node(1)]), jobs, POLICY, now_ms=0, seed=0)
    assert [(p.job, p.attempt) for p in found.placed] == [(1, 2), (1, 1)]

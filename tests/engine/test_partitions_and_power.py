"""Slices of partitioned devices beside their whole, memory shared by several, and power caps of nodes and of all."""

from dataclasses import replace

from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import DeviceInfo, Hold, ReasonCode, Request, SliceChoice
from tests.engine.build import GIB, NO_PRECHECK, POLICY, decide, device, job, node, shared

MIG = "NVIDIA A100-SXM4-80GB MIG 3g.40gb"
ONE = Request(devices=1)


def slices(**fields: object) -> list[DeviceInfo]:
    return [device(n, 40 * GIB, model=MIG, parent=1, **fields) for n in (11, 12)]


def test_slices_are_scheduled_and_the_whole_is_not_beside_them() -> None:
    plan_ = decide([node(1, [device(1), *slices()])], [Request(devices=1, models=("mig",))] * 3)
    assert sorted(s.device for p in plan_.placed for s in p.slices) == [11, 12]
    assert decide([node(1, [device(1), *slices()])], [Request(devices=1, models=("nvidia-a100",))]).refused
    assert ClusterState.build([node(1, [device(1), *slices()])]).node.devices_milli[0] == 2000


def test_slices_take_nothing_while_somebody_holds_the_whole() -> None:
    held = device(1, memory_booked_mib=80 * GIB, compute_booked_milli=1000)
    assert decide([node(1, [held, *slices()])], [ONE]).refused[0].code is ReasonCode.DEVICE_HEALTH


def test_slices_are_scheduled_without_their_whole_in_sight() -> None:
    assert len(decide([node(1, slices())], [ONE] * 2).placed) == 2


def test_memory_that_slices_share_counts_once() -> None:
    sharing = [node(1, slices(memory_group=0, memory_reserved_mib=100))]
    state = ClusterState.build(sharing)
    assert state.device.allocatable.tolist() == [20 * GIB - 50] * 2
    found = decide(sharing, [shared(15 * GIB)] * 3, NO_PRECHECK)
    assert (len(found.placed), len(found.refused)) == (2, 1)
    own = decide([node(1, slices())], [shared(15 * GIB)] * 4, NO_PRECHECK)
    assert len(own.placed) == 4


def test_a_cap_on_all_nodes_stops_before_it_is_exceeded() -> None:
    nodes = [node(n, [device(n, power_limit_mw=300_000)], idle_mw=100_000) for n in (1, 2, 3)]
    policy = replace(POLICY, power_cap_mw=950_000)
    jobs = [job(n, ONE) for n in (1, 2, 3, 4)]
    found = plan(ClusterState.build(nodes), jobs, policy, now_ms=0, seed=0)
    assert [p.job for p in found.placed] == [1, 2]
    refused = found.refused[0]
    assert refused.code is ReasonCode.POWER_CAP
    assert (refused.near[0].needed, refused.near[0].available) == (300_000, 50_000)
    assert sum(c.removed for c in refused.counts) == 3
    assert len(plan(ClusterState.build(nodes), jobs, POLICY, now_ms=0, seed=0).placed) == 3


def test_a_job_starts_in_its_hold_even_beyond_the_cap_where_that_adds_nothing() -> None:
    hold = Hold(job=7, slices=(SliceChoice(1, 80 * GIB, 1000),))
    nodes = [
        node(1, [device(1, power_limit_mw=300_000)], idle_mw=100_000, holds=(hold,)),
        node(2, [device(2, power_limit_mw=300_000)], idle_mw=100_000),
    ]
    policy = replace(POLICY, power_cap_mw=450_000)
    jobs = [job(7, ONE), job(8, ONE)]
    found = plan(ClusterState.build(nodes), jobs, policy, now_ms=0, seed=0)
    assert [(p.job, p.node) for p in found.placed] == [(7, 1)]
    assert [(r.job, r.code) for r in found.refused] == [(8, ReasonCode.POWER_CAP)]


def test_a_cap_of_a_node_counts_measured_draw_and_bookings() -> None:
    card = [device(n, power_limit_mw=300_000) for n in (1, 2)]
    capped = {"idle_mw": 100_000, "power_cap_mw": 600_000}
    assert len(decide([node(1, card, **capped)], [ONE] * 2).placed) == 1
    assert not decide([node(1, card, measured_mw=400_000, **capped)], [ONE]).placed
    assert len(decide([node(1, [device(1), device(2)], **capped)], [ONE] * 2).placed) == 2

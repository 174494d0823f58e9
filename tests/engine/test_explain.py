"""Why a job waits, and what would help."""

from dataclasses import replace

import pytest

from scheduling.engine.changes import ChangeKind
from scheduling.engine.explain import Explanation, FunnelRow, explain, runnable_here, what_fits
from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    AGENTLESS,
    PAUSED,
    DeviceHealth,
    Hold,
    NodeInfo,
    ReasonCode,
    Request,
    SliceChoice,
    TeamCap,
)
from tests.engine.build import GIB, POLICY, cpus, device, job, node, shared
from tests.engine.test_quota import T4, capped, queue

FULL = {"compute_booked_milli": 1000, "memory_booked_mib": 80 * GIB}


def reference_cluster() -> list[NodeInfo]:
    """As in the console's reference: 4 x 20 GiB free beside four whole bookings on node 7."""
    quarter = {"memory_booked_mib": 60 * GIB, "compute_booked_milli": 100}
    on_seven = [device(n, **(quarter if n < 4 else FULL)) for n in range(8)]
    return [
        node(7, on_seven, name="tb-007"),
        node(8, [device(80, **FULL)], name="tb-008"),
        node(9, [device(90, model="NVIDIA H100 80GB HBM3")], name="ta-118"),
        node(10, not_ready="silent"),
    ]


def explained(nodes: list[NodeInfo], request: Request) -> Explanation:
    state = ClusterState.build(nodes)
    waiting = job(1, request)
    refusal = plan(state, [waiting], POLICY, now_ms=0, seed=0).refused[0]
    return explain(state, refusal, waiting, POLICY)


WAITING = shared(40 * GIB, models=("nvidia-a100",), cores=8)


def test_dominant_reason_with_its_arithmetic() -> None:
    found = explained(reference_cluster(), WAITING)
    miss = found.near[0].miss
    assert found.code is miss.code is ReasonCode.DEVICE_MEMORY_PIECE
    assert (miss.node, miss.needed, miss.available, miss.pieces) == (7, 48 * GIB, 20 * GIB, (20 * GIB,) * 4)


def test_funnel_runs_down_to_nothing() -> None:
    assert explained(reference_cluster(), WAITING).funnel == (
        FunnelRow(ReasonCode.NODE_NOT_READY, 1, 3),
        FunnelRow(ReasonCode.DEVICE_MODEL, 1, 2),
        FunnelRow(ReasonCode.DEVICE_MEMORY_TOTAL, 1, 1),
        FunnelRow(ReasonCode.DEVICE_MEMORY_PIECE, 1, 0),
    )


def test_nearest_nodes_come_furthest_first_and_carry_a_score() -> None:
    near = explained(reference_cluster(), WAITING).near
    assert [(n.miss.node, n.miss.code) for n in near] == [
        (7, ReasonCode.DEVICE_MEMORY_PIECE),
        (8, ReasonCode.DEVICE_MEMORY_TOTAL),
    ]
    assert all(n.score_ppm is not None and len(n.terms) == 5 for n in near)


def test_smallest_changes_say_what_to_edit_and_where_it_goes() -> None:
    changes = {c.kind: c for c in explained(reference_cluster(), WAITING).changes}
    split = changes[ChangeKind.SPLITTABLE]
    assert (split.field, split.old, split.new, split.node) == ("splittable", False, True, 7)
    model = changes[ChangeKind.OTHER_MODEL]
    assert (model.new, model.node) == (("NVIDIA H100 80GB HBM3", "nvidia-a100"), 9)
    less = changes[ChangeKind.LESS_DEVICE_MEMORY]
    assert (less.new, less.node) == (20 * GIB * 5 // 6, 7)
    assert set(changes) == {ChangeKind.SPLITTABLE, ChangeKind.OTHER_MODEL, ChangeKind.LESS_DEVICE_MEMORY}


@pytest.mark.parametrize(
    ("info", "request_", "kind", "new"),
    [
        (node(1, cpus=cpus(6)), Request(cores=8), ChangeKind.LESS_CORES, 6),
        (node(1), Request(host_memory_mib=300 * GIB), ChangeKind.LESS_HOST_MEMORY, 256 * GIB),
        (node(1, [device(1), device(2)]), Request(devices=4), ChangeKind.FEWER_DEVICES, 2),
        (node(1, [device(1, compute_booked_milli=300)]), Request(devices=1), ChangeKind.SHAREABLE, True),
        (node(1, node_set="b"), Request(node_sets=("a",)), ChangeKind.ANY_NODE_SET, ()),
        (node(1), Request(node_labels=(("disk", "nvme"),)), ChangeKind.NO_LABELS, ()),
    ],
)
def test_each_kind_of_change(info: NodeInfo, request_: Request, kind: ChangeKind, new: object) -> None:
    changes = explained([info], request_).changes
    assert [(c.kind, c.new) for c in changes] == [(kind, new)]


def test_every_proposed_change_truly_starts_the_job() -> None:
    state = ClusterState.build(reference_cluster())
    for change in explained(reference_cluster(), WAITING).changes:
        placed = plan(state, [job(1, change.request)], POLICY, now_ms=0, seed=0).placed[0]
        assert placed.node == change.node


def test_no_change_is_proposed_where_none_helps() -> None:
    assert explained([node(1, not_ready="silent")], Request(cores=8)).changes == ()


def test_a_refusal_that_is_out_of_date_says_so() -> None:
    full, empty = (ClusterState.build([node(1, [device(1, **f)])]) for f in (FULL, {}))
    waiting = job(1, Request(devices=1))
    refusal = plan(full, [waiting], POLICY, now_ms=0, seed=0).refused[0]
    assert explain(empty, refusal, waiting, POLICY).code is None


def test_a_gang_that_finds_room_for_some_of_its_replicas_still_waits() -> None:
    full, one_free = (
        ClusterState.build([node(1, [device(1, **FULL)]), node(2, [device(2, **f)])]) for f in (FULL, {})
    )
    waiting = job(1, Request(devices=1), replicas=2)
    refusal = plan(full, [waiting], POLICY, now_ms=0, seed=0).refused[0]
    assert refusal.code is ReasonCode.DEVICE_BUSY
    found = explain(one_free, refusal, waiting, POLICY)
    assert found.code is ReasonCode.GANG
    assert [(n.miss.node, n.miss.needed, n.miss.available) for n in found.near] == [(2, 2, 1)]
    assert found.funnel[-1] == FunnelRow(ReasonCode.GANG, 1, 0)


def test_what_is_held_for_the_job_is_free_for_it() -> None:
    waiting = job(7, Request(devices=1))
    refusal = plan(ClusterState.build([node(1)]), [waiting], POLICY, now_ms=0, seed=0).refused[0]
    hold = Hold(job=7, slices=(SliceChoice(1, 80 * GIB, 1000),))
    held = ClusterState.build([node(1, [device(1)], holds=(hold,))])
    assert explain(held, refusal, waiting, POLICY).code is None
    assert explain(held, replace(refusal, job=8), job(8, Request(devices=1)), POLICY).code is (
        ReasonCode.DEVICE_BUSY
    )


def test_a_node_without_a_container_engine_is_one_step_of_the_funnel() -> None:
    nodes = [node(1, runs_containers=False), node(2, runs_containers=False, observe_only=True)]
    found = explained(nodes, Request(image="train:1"))
    assert found.code is ReasonCode.NO_CONTAINER_ENGINE and found.near == ()
    assert found.funnel == (
        FunnelRow(ReasonCode.OBSERVE_ONLY, 1, 1),
        FunnelRow(ReasonCode.NO_CONTAINER_ENGINE, 1, 0),
    )


def test_what_nobody_knows_is_not_told_as_none() -> None:
    wish = Request(devices=1, device_memory_mib=1000)
    assert explained([node(1, [device(1, None)])], wish).near[0].miss.available is None
    assert explained([node(1, [device(1, None), device(2, 500)])], wish).near[0].miss.available == 500
    assert explained([node(1, memory_mib=0)], Request(host_memory_mib=8)).near[0].miss.available is None


def test_what_fits_on_a_device() -> None:
    half = {"memory_booked_mib": 40 * GIB, "compute_booked_milli": 500}
    nodes = [
        node(1, [device(1), device(2, **half), device(3, **FULL), device(4, None)]),
        node(2, [device(5, foreign_mib=20 * GIB), device(6, cordoned=True)]),
        node(3, [device(7)], not_ready="draining"),
        node(4, [device(8)], not_ready=PAUSED),
        node(5, [device(9)], not_ready=AGENTLESS),
    ]
    state = ClusterState.build(nodes)
    found = [what_fits(state, n) for n in range(1, 10)]
    assert [(f.alone_mib, f.shared_mib) for f in found] == [
        (80 * GIB, 80 * GIB * 5 // 6),
        (0, 40 * GIB * 5 // 6),
        (0, 0),
        (None, None),
        (0, 50 * GIB),
        (0, 0),
        (0, 0),
        (0, 0),
        (0, 0),
    ]
    assert [f.code for f in found] == [
        None,
        None,
        ReasonCode.DEVICE_BUSY,
        None,
        None,
        ReasonCode.DEVICE_HEALTH,
        ReasonCode.NODE_NOT_READY,
        ReasonCode.NODE_PAUSED,
        ReasonCode.NO_AGENT,
    ]
    with pytest.raises(KeyError):
        what_fits(state, 99)


@pytest.mark.parametrize("booked", [0, 1, 7000, 30_000])
def test_what_fits_is_exact(booked: int) -> None:
    milli = -(-1000 * booked // (80 * GIB))
    state = ClusterState.build([node(1, [device(1, memory_booked_mib=booked, compute_booked_milli=milli)])])
    largest = what_fits(state, 1).shared_mib or 0
    assert plan(state, [job(1, shared(largest))], POLICY, now_ms=0, seed=0).placed
    if booked:
        assert plan(state, [job(1, shared(largest + 1))], POLICY, now_ms=0, seed=0).refused


def test_which_pending_jobs_a_device_could_run() -> None:
    nodes = [node(1, [device(1), device(2), device(3, model="Tesla T4", health=DeviceHealth.SUSPECT)])]
    jobs = [
        job(1, Request(cores=1)),
        job(2, Request(devices=2)),
        job(3, Request(devices=3)),
        job(4, Request(devices=1, models=("nvidia-t4",))),
        job(5, shared(8 * GIB), priority=5),
        job(6, Request(devices=1, cores=99)),
    ]
    state = ClusterState.build(nodes)
    assert runnable_here(state, 1, jobs, POLICY) == (5, 2)
    assert runnable_here(state, 3, jobs, POLICY) == (5, 4)
    cordoned = replace(nodes[0], devices=tuple(replace(d, cordoned=True) for d in nodes[0].devices))
    assert runnable_here(ClusterState.build([cordoned]), 1, jobs, POLICY) == ()


def test_a_device_is_not_offered_to_jobs_that_caps_keep_from_it() -> None:
    nodes = [node(1, [device(1, compute_booked_milli=1000, memory_booked_mib=1)])]
    nodes.append(node(2, [device(2, 16 * GIB, model=T4)]))
    state, one = ClusterState.build(nodes), Request(devices=1)
    policy = capped(queue(2, None, team_caps=(TeamCap(1, T4, 300),)))
    jobs = [job(1, one), job(2, one, team=3), job(3, shared(8 * GIB)), job(4, shared(2 * GIB))]
    # Team 1 may have 300 milli of this model, though all of the one that is busy.
    assert runnable_here(state, 2, jobs, policy) == (2, 4)
    assert runnable_here(state, 2, jobs, POLICY) == (1, 2, 3, 4)

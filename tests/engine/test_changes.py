"""Smallest changes: followed, each truly starts the job; with one unit more of any amount it would not."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.engine.changes import Change, ChangeKind
from scheduling.engine.explain import Explanation, explain
from scheduling.engine.ordering import expected_shapes
from scheduling.engine.plan import Planner, plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import EnginePolicy, NodeInfo, PendingJob, ReasonCode, Request, TeamCap
from tests.engine.build import A100, GIB, POLICY, cpus, device, job, node, shared
from tests.engine.profiles import property_test
from tests.engine.random_clusters import random_caps, random_jobs, random_nodes, random_policy
from tests.engine.test_quota import T4, capped, queue

HALF_BOOKED = device(1, compute_booked_milli=500)
LESS = {kind for kind in ChangeKind if kind.value.startswith("less-")}


def explained(nodes: list[NodeInfo], request: Request, policy: EnginePolicy = POLICY) -> Explanation:
    state, waiting = ClusterState.build(nodes), job(1, request)
    refusal = plan(state, [waiting], policy, now_ms=0, seed=0).refused[0]
    return explain(state, refusal, waiting, policy)


def test_a_refused_compute_share_is_told_in_milli() -> None:
    found = explained([node(1, [HALF_BOOKED])], shared(None, device_compute_milli=700))
    miss = found.near[0].miss
    assert found.code is miss.code is ReasonCode.DEVICE_COMPUTE
    assert (miss.needed, miss.available) == (700, 500)
    assert [(c.kind, c.old, c.new) for c in found.changes] == [(ChangeKind.LESS_COMPUTE, 700, 500)]


def test_the_largest_free_share_is_told_and_two_pieces_need_two() -> None:
    cards = [HALF_BOOKED, device(2, compute_booked_milli=800)]
    one = explained([node(1, cards)], shared(None, device_compute_milli=700))
    assert one.near[0].miss.available == 500
    two = explained([node(1, cards)], shared(None, devices=2, device_compute_milli=400))
    assert (two.near[0].miss.needed, two.near[0].miss.available) == (400, 200)
    assert [(c.kind, c.new) for c in two.changes] == [
        (ChangeKind.LESS_COMPUTE, 200),
        (ChangeKind.FEWER_DEVICES, 1),
    ]


def test_a_refused_reader_is_told_what_the_node_can_serve() -> None:
    found = explained([node(1, read_bandwidth_total_mib_s=1000)], Request(read_bandwidth_mib_s=2000))
    assert (found.near[0].miss.needed, found.near[0].miss.available) == (2000, 1000)
    assert [(c.kind, c.old, c.new) for c in found.changes] == [(ChangeKind.LESS_READ_BANDWIDTH, 2000, 1000)]


@pytest.mark.parametrize(
    ("request_", "field", "new"),
    [
        (Request(cores=9, host_memory_mib=2000), "cores+host_memory_mib", (8, 1000)),
        (Request(cores=9, read_bandwidth_mib_s=600), "cores+read_bandwidth_mib_s", (8, 500)),
        (
            Request(devices=1, shareable=True, device_compute_milli=600, cores=9),
            "cores+device_compute_milli",
            (8, 500),
        ),
    ],
)
def test_two_wishes_are_cut_where_one_is_not_enough(
    request_: Request, field: str, new: tuple[int, int]
) -> None:
    small = node(1, [HALF_BOOKED], cpus=cpus(8), memory_mib=1000, read_bandwidth_total_mib_s=500)
    (change,) = explained([small], request_).changes
    assert (change.kind, change.field, change.new) == (ChangeKind.LESS_OF_TWO, field, new)


def test_two_wishes_are_cut_in_the_same_measure() -> None:
    lopsided = [node(1, cpus=cpus(15), memory_mib=GIB), node(2, cpus=cpus(12), memory_mib=90 * GIB)]
    (change,) = explained(lopsided, Request(cores=16, host_memory_mib=100 * GIB)).changes
    assert (change.new, change.node) == ((12, 90 * GIB), 2)


def test_three_wishes_too_many_have_no_change() -> None:
    small = node(1, cpus=cpus(8), memory_mib=1000, read_bandwidth_total_mib_s=500)
    wish = Request(cores=9, host_memory_mib=2000, read_bandwidth_mib_s=600)
    assert explained([small], wish).changes == ()


def test_changes_are_offered_that_fit_under_caps() -> None:
    policy = capped(queue(2, None, team_caps=(TeamCap(1, None, 250), TeamCap(1, T4, 0))))
    policy = replace(policy, precheck_num=1, precheck_den=1)
    (change,) = explained([node(1, [device(1)])], shared(40 * GIB), policy).changes
    assert (change.kind, change.new) == (ChangeKind.LESS_DEVICE_MEMORY, 20 * GIB)
    nodes = [
        node(1, [device(1, compute_booked_milli=1000, memory_booked_mib=1)]),
        node(2, [device(2, 16 * GIB, model=T4)]),
        node(3, [device(3, 16 * GIB, model="Tesla V100")]),
    ]
    quarter = Request(devices=1, models=(A100,), shareable=True, device_compute_milli=250)
    found = [c.new for c in explained(nodes, quarter, policy).changes if c.kind is ChangeKind.OTHER_MODEL]
    assert found == [(A100, "Tesla V100")]


@property_test
@given(st.integers(0, 2**32))
def test_every_change_starts_the_job_and_is_the_smallest(seed: int) -> None:
    state, policy, rng = ClusterState.build(random_nodes(seed)), random_policy(seed), Random(seed)
    policy = random_caps(rng, policy)
    # Holds are for jobs with small numbers.
    waiting = [_greedy(rng, replace(j, job=1000 + j.job, replicas=1)) for j in random_jobs(seed, most=4)]
    for pending in waiting:
        refused = plan(state, [pending], policy, now_ms=0, seed=0).refused
        changes = explain(state, refused[0], pending, policy).changes if refused else ()
        assert len(changes) == 1 or all(c.kind is not ChangeKind.LESS_OF_TWO for c in changes)
        for change in changes:
            assert starts(state, pending, change.request, policy) == change.node
            for more in one_more(change):
                assert starts(state, pending, more, policy) is None


def _greedy(rng: Random, pending: PendingJob) -> PendingJob:
    wish = pending.request
    return replace(
        pending,
        request=replace(
            wish,
            cores=rng.choice((wish.cores, 20)),
            host_memory_mib=rng.choice((wish.host_memory_mib, 5000)),
            read_bandwidth_mib_s=rng.choice((wish.read_bandwidth_mib_s, 2000)),
        ),
    )


def starts(state: ClusterState, pending: PendingJob, request: Request, policy: EnginePolicy) -> int | None:
    expected = expected_shapes((), [pending], policy)
    placed = Planner(state, policy, expected).run([replace(pending, request=request)], None).placed
    return placed[0].node if placed else None


def one_more(change: Change) -> list[Request]:
    """The changed request with a little more of each amount, which is still at most what was asked."""
    if change.kind not in LESS:
        return []
    return [
        replace(change.request, **{field: getattr(change.request, field) + 1})
        for field in change.field.split("+")
    ]

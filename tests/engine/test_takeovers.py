"""Takeovers beside what else goes on: who leaves already, what is promised, what is borrowed, and long lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduling.engine import preemption
from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    EnginePolicy,
    Hold,
    ModelCap,
    NodeInfo,
    PreemptionCause,
    QueueInfo,
    Request,
)
from tests.engine.build import POLICY, cpus, job
from tests.engine.test_preemption import (
    INFERENCE,
    MIN,
    OFFLINE,
    POLITE,
    TRAINING,
    asked,
    cards,
    decide,
    runs,
    wanting,
)

T4 = "Tesla T4"


def full(number: int, count: int = 4, **changes: object) -> NodeInfo:
    first = 100 * number
    return replace(cards(number, count, busy=range(first, first + count)), **changes)  # type: ignore[arg-type]


def of_model(node: NodeInfo, model: str) -> NodeInfo:
    return replace(node, devices=tuple(replace(one, model=model) for one in node.devices))


def test_another_nodes_reason_keeps_no_victim_from_being_asked() -> None:
    """Node 2 has idle devices and few cores, which is the dominant reason; node 1 has what is missing."""
    nodes = [full(1), replace(cards(2), cpus=cpus(2))]
    want = job(1, Request(devices=4, cores=8))
    assert asked(decide([runs(50, range(100, 104))], [want], nodes=nodes)) == [(50, 1)]


@pytest.mark.parametrize("alike", [15, 40])
def test_many_alike_that_nobody_can_help_hide_nobody_behind_them(alike: int) -> None:
    nodes = [full(1), of_model(full(2), T4)]
    running = [runs(50, range(100, 104), queue=TRAINING), runs(51, range(200, 204))]
    jobs = [job(n, Request(devices=1, cores=1, models=("a100",))) for n in range(1, alike + 1)]
    jobs.append(job(99, Request(devices=1, cores=1, models=("t4",))))
    assert asked(decide(running, jobs, nodes=nodes)) == [(51, 99)]


def test_many_kinds_that_nobody_can_help_hide_nobody_behind_them() -> None:
    nodes = [full(1), of_model(full(2), T4)]
    running = [runs(50, range(100, 104), queue=TRAINING), runs(51, range(200, 204))]
    jobs = [job(n, Request(devices=1, cores=1, models=("a100",), host_memory_mib=n)) for n in range(1, 30)]
    jobs.append(job(99, Request(devices=1, cores=1, models=("t4",))))
    assert asked(decide(running, jobs, nodes=nodes)) == [(51, 99)]


def test_many_nodes_with_too_little_to_give_hide_none_that_has_enough() -> None:
    nodes = [full(number) for number in range(1, 40)]
    running = [runs(5000, range(3900, 3904), lost_work_ms=9 * MIN)]
    for number in range(1, 39):
        first = 100 * number
        running.append(runs(1000 + number, [first], lost_work_ms=1))
        running.append(runs(2000 + number, range(first + 1, first + 4), queue=TRAINING))
    assert asked(decide(running, [wanting(1, 4)], nodes=nodes)) == [(5000, 1)]


def test_many_nodes_of_a_model_beyond_its_cap_hide_none_of_another() -> None:
    queues = (
        replace(POLICY.queues[1], quota_ppm=None, model_caps=(ModelCap("a100", 0),), devices_booked_milli=1),
        replace(POLICY.queues[2], quota_ppm=None),
    )
    policy = replace(POLITE, queues=queues, capped=True)
    nodes = [*(full(number) for number in range(1, 30)), of_model(full(30), T4)]
    running = [runs(1000 + n, range(100 * n, 100 * n + 4), lost_work_ms=n) for n in range(1, 31)]
    assert asked(decide(running, [wanting(1, 4)], nodes=nodes, policy=policy)) == [(1030, 1)]


def test_victims_where_no_replica_can_go_hide_none_where_one_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preemption, "MOST_VICTIMS", 2)
    nodes = [of_model(full(1), T4), full(2), full(3)]
    running = [
        *(runs(50 + n, [100 + n], lost_work_ms=1) for n in range(4)),
        runs(60, range(200, 204)),
        runs(61, range(300, 304)),
    ]
    gang = job(1, Request(devices=4, cores=1, models=("a100",)), replicas=2)
    assert sorted(asked(decide(running, [gang], nodes=nodes))) == [(60, 1), (61, 1)]


LARGE = [runs(50, range(100, 104)), runs(51, range(200, 204))]


def test_what_a_victim_gives_beyond_need_serves_the_next_job_and_nobody_else_is_asked() -> None:
    found = decide(LARGE, [wanting(1, 2), wanting(2, 2)])
    assert asked(found) == [(50, 1)]
    three = decide(LARGE, [wanting(n, 2) for n in (1, 2, 3)])
    assert asked(three) == [(50, 1), (51, 3)]


def test_a_cycle_later_too_while_the_victim_writes_its_checkpoint() -> None:
    first = decide(LARGE, [wanting(1, 2)])
    holds = tuple(
        Hold(1, place.slices, place.cpus, queue=place.queue, team=place.team) for place in first.takeovers
    )
    nodes = [full(1, holds=holds), full(2)]
    running = [replace(LARGE[0], spared=True, leaving=True), LARGE[1]]
    assert asked(decide(running, [wanting(1, 2), wanting(2, 2)], nodes=nodes)) == []
    assert asked(decide(running, [wanting(1, 2), wanting(2, 3)], nodes=nodes)) == [(51, 2)]


def test_what_leaves_anyway_adds_to_what_victims_give() -> None:
    running = [runs(50, [100, 101], spared=True, leaving=True), runs(51, [102, 103]), runs(52, [200, 201])]
    running += [runs(53, [202, 203])]
    found = decide(running, [wanting(1, 4)])
    assert asked(found) == [(51, 1)]


def test_a_promise_to_a_job_behind_does_not_keep_a_job_from_taking_over() -> None:
    """Without it, 50 yields: it loses least. The one behind is promised a place in the same plan, or was before."""
    policy = replace(POLITE, reserve_after_ms=0)
    now_ms = 100 * MIN
    running = [
        runs(50, [100, 101], lost_work_ms=MIN, ends_at_ms=now_ms + 60 * MIN),
        runs(51, range(200, 204), lost_work_ms=99 * MIN, ends_at_ms=now_ms + 600 * MIN),
    ]
    first = wanting(1, 4, queue=INFERENCE, submitted_at_ms=now_ms + 1)
    behind = wanting(2, 3, queue=OFFLINE)
    state = ClusterState.build([cards(1, busy=[100, 101]), full(2)])
    alone = plan(state, [first], policy, now_ms=now_ms, seed=0, running=running)
    both = plan(state, [first, behind], policy, now_ms=now_ms, seed=0, running=running)
    assert asked(alone) == asked(both) == [(50, 1)] and [one.job for one in both.reservations] == [2]
    later = plan(
        state, [first], policy, now_ms=now_ms, seed=0, running=running, reservations=both.reservations
    )
    assert asked(later) == [(50, 1)]
    ahead = replace(behind, queue=INFERENCE, priority=1)
    found = plan(state, [first, ahead], policy, now_ms=now_ms, seed=0, running=running)
    assert (51, 1) in asked(found) or (50, 1) not in asked(found)


def lenders(held_milli: int, *, quota_ppm: int = 500_000) -> EnginePolicy:
    """Queue 1 is above queue 3 and may hold half of eight; both are preemptable."""
    return replace(
        POLITE,
        capped=True,
        queues=(
            QueueInfo(1, "high", 100, quota_ppm, True, True, devices_booked_milli=held_milli),
            QueueInfo(3, "low", 30, 500_000, True, False),
        ),
    )


BORROWED = [runs(50 + n, [100 + 2 * n, 101 + 2 * n], queue=1, borrowed=n > 0) for n in range(3)]
LOW = wanting(1, 2, queue=3)


def test_what_was_borrowed_is_reclaimed_while_its_queue_holds_more_than_its_share() -> None:
    nodes = [full(1, 6), full(2, 2)]
    running = [*BORROWED, runs(60, [200, 201], queue=1)]
    found = decide(running, [LOW], policy=lenders(8000), nodes=nodes)
    assert asked(found) == [(51, 1)] and found.preemptions[0].cause is PreemptionCause.BORROWED
    assert asked(decide(running, [LOW], policy=lenders(8000, quota_ppm=1_000_000), nodes=nodes)) == []
    uncapped = replace(lenders(8000), capped=False)
    assert asked(decide(running, [LOW], policy=uncapped, nodes=nodes)) == []


def test_no_more_is_reclaimed_than_is_beyond_the_share() -> None:
    """Six of eight are held, four may be: one of the two that once borrowed leaves."""
    nodes = [full(1, 6), full(2, 2)]
    running = [*BORROWED, runs(60, [200, 201], queue=TRAINING)]
    policy = lenders(6000)
    assert asked(decide(running, [LOW, replace(LOW, job=2)], policy=policy, nodes=nodes)) == [(51, 1)]
    assert asked(decide(running, [wanting(1, 4, queue=3)], policy=policy, nodes=nodes)) == []
    leaves = [running[0], replace(running[1], leaving=True, spared=True), *running[2:]]
    two = [LOW, replace(LOW, job=2)]
    assert asked(decide(leaves, two, policy=policy, nodes=nodes)) == []


def test_to_queues_above_it_yields_as_ever() -> None:
    policy = lenders(0)
    running = [runs(50, [100, 101], queue=3, borrowed=True), runs(51, [102, 103], queue=1)]
    found = decide(running, [wanting(1, 2, queue=1)], policy=policy, nodes=[full(1)])
    assert asked(found) == [(50, 1)] and found.preemptions[0].cause is PreemptionCause.CHEAPEST

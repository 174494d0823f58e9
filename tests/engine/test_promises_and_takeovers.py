"""Promises, places that are held and takeovers beside one another, under caps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    EnginePolicy,
    Hold,
    Holding,
    NodeInfo,
    PendingJob,
    Plan,
    QueueInfo,
    Running,
    SliceChoice,
    TeamCap,
)
from tests.engine.build import A100, GIB, POLICY
from tests.engine.test_preemption import INFERENCE, MIN, OFFLINE, TRAINING, asked, cards, runs, wanting

NOW = 100 * MIN
BOTH = replace(POLICY, preempts=True, reserve_after_ms=10 * MIN)
LATER = NOW + 600 * MIN
FULL = [cards(1, 8, busy=range(100, 108))]
WAITS = {"team": 1, "submitted_at_ms": 0}


def team_cap(cap_milli: int, *, queue: int, held_milli: int = 0, policy: EnginePolicy = BOTH) -> EnginePolicy:
    """What team 1 may have in one queue, and what it has."""
    queues = [
        replace(
            one,
            quota_ppm=None,
            team_caps=(TeamCap(1, None, cap_milli),) if one.queue == queue else (),
            devices_booked_milli=held_milli if one.queue == queue else 0,
            holdings=(Holding(1, 0, A100, held_milli),) if one.queue == queue and held_milli else (),
        )
        for one in POLICY.queues
    ]
    return replace(policy, capped=True, queues=tuple(queues))


def held_for(number: int, devices: Sequence[int], *, queue: int = TRAINING) -> Hold:
    return Hold(
        number, tuple(SliceChoice(one, 80 * GIB, 1000) for one in devices), (), queue=queue, team=1, owner=0
    )


def decide(
    running: Sequence[Running], jobs: Sequence[PendingJob], *, policy: EnginePolicy, nodes: Sequence[NodeInfo]
) -> Plan:
    return plan(ClusterState.build(nodes), jobs, policy, now_ms=NOW, seed=0, running=running)


def promised(found: Plan) -> list[int]:
    return sorted({place.job for place in found.reservations})


def started(found: Plan) -> list[int]:
    return sorted({placed.job for placed in found.placed})


@pytest.mark.parametrize("cap_milli", [4000, 6000, 8000])
@pytest.mark.parametrize("waited", [True, False])
def test_what_is_promised_to_a_job_is_no_cap_for_its_takeover(cap_milli, waited):
    running = [runs(50, range(100, 104), ends_at_ms=LATER), runs(51, range(104, 108), ends_at_ms=LATER)]
    want = wanting(1, 4, queue=INFERENCE, team=1, submitted_at_ms=0 if waited else NOW)
    found = decide(running, [want], policy=team_cap(cap_milli, queue=INFERENCE), nodes=FULL)
    assert asked(found) == [(50, 1)] and found.refused[0].cap is None


def test_the_promise_of_a_job_behind_fills_no_cap_of_one_ahead() -> None:
    running = [
        runs(50, range(100, 104), ends_at_ms=LATER),
        runs(51, range(104, 108), queue=TRAINING, ends_at_ms=LATER + MIN),
    ]
    ahead = wanting(9, 4, queue=INFERENCE, team=1, priority=1, submitted_at_ms=NOW)
    behind = wanting(1, 4, queue=INFERENCE, **WAITS)
    policy = team_cap(4000, queue=INFERENCE)
    found = decide(running, [ahead, behind], policy=policy, nodes=FULL)
    assert asked(found) == [(50, 9)]


@pytest.mark.parametrize("cap_milli", [4000, 6000])
def test_who_starts_in_a_held_place_counts_once_when_the_next_is_promised_one(cap_milli):
    running = [
        runs(60, [103], ends_at_ms=NOW + 60 * MIN),
        runs(61, range(104, 108), ends_at_ms=None),
    ]
    jobs = [
        wanting(1, 2, queue=TRAINING, **WAITS),
        wanting(2, 2, queue=TRAINING, **WAITS),
        wanting(3, 1, queue=OFFLINE, **WAITS),
    ]
    nodes = [cards(1, 8, busy=range(103, 108), holds=(held_for(1, (100, 101)),))]
    policy = replace(team_cap(cap_milli, queue=TRAINING), preempts=False)
    found = decide(running, jobs, policy=policy, nodes=nodes)
    assert (started(found), promised(found)) == ([1], [2])


def test_who_starts_in_a_held_place_lets_its_queue_keep_what_it_borrowed() -> None:
    queues = (
        QueueInfo(1, "hi", 100, 500_000, True, True, devices_booked_milli=2000),
        QueueInfo(3, "low", 30, None, True, False),
        QueueInfo(2, "train", 70, None, False, devices_booked_milli=4000),
    )
    policy = replace(POLICY, preempts=True, capped=True, queues=queues)
    running = [runs(50, [100, 101], queue=1, borrowed=True), runs(52, range(104, 108), queue=2)]
    nodes = [cards(1, 8, busy=[100, 101, 104, 105, 106, 107], holds=(held_for(1, (102, 103), queue=1),))]
    found = decide(running, [wanting(1, 2, queue=1), wanting(2, 2, queue=3)], policy=policy, nodes=nodes)
    assert (started(found), asked(found)) == ([1], [])


@pytest.mark.parametrize("cap_milli", [4000, 6000])
def test_who_starts_in_a_held_place_leaves_its_team_room_for_a_takeover(cap_milli):
    running = [runs(50, [102, 103]), runs(52, range(104, 108), queue=INFERENCE)]
    nodes = [cards(1, 8, busy=range(102, 108), holds=(held_for(1, (100, 101)),))]
    policy = replace(team_cap(cap_milli, queue=TRAINING), reserve_after_ms=None)
    jobs = [wanting(number, 2, queue=TRAINING, team=1) for number in (1, 2)]
    found = decide(running, jobs, policy=policy, nodes=nodes)
    assert (started(found), asked(found)) == ([1], [(50, 2)])

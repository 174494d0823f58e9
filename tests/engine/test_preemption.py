"""Who yields to whom: least harm first, proved to be enough, and never in vain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    EnginePolicy,
    Hold,
    NodeInfo,
    PendingJob,
    Plan,
    PreemptionCause,
    Request,
    Running,
    SliceChoice,
)
from tests.engine.build import POLICY, device, job, node
from tests.engine.profiles import property_test

MIN = 60_000
POLITE = replace(POLICY, preempts=True)
INFERENCE, TRAINING, OFFLINE = 1, 2, 3
CARD = 80 * 1024


def cards(number: int, count: int = 4, *, busy: Sequence[int] = (), holds: tuple[Hold, ...] = ()) -> NodeInfo:
    found = [
        device(
            100 * number + n,
            compute_booked_milli=1000 if 100 * number + n in busy else 0,
            memory_booked_mib=CARD if 100 * number + n in busy else 0,
        )
        for n in range(count)
    ]
    return node(number, found, holds=holds)


def runs(number: int, devices: Sequence[int], *, queue: int = OFFLINE, **fields: object) -> Running:
    """A placement of whole devices of the node that their numbers begin with, which keeps its work."""
    slices = tuple(SliceChoice(d, CARD, 1000) for d in devices)
    given: dict[str, object] = {"checkpointable": True, "lost_work_ms": 5 * MIN, **fields}
    return Running(number, 1, devices[0] // 100, queue, 1, 0, slices=slices, **given)  # type: ignore[arg-type]


def wanting(number: int, devices: int, **fields: object) -> PendingJob:
    return job(number, Request(devices=devices, cores=1), **fields)


def decide(
    running: Sequence[Running],
    jobs: Sequence[PendingJob],
    *,
    policy: EnginePolicy = POLITE,
    nodes: Sequence[NodeInfo] | None = None,
) -> Plan:
    """On two nodes of four devices unless told otherwise."""
    busy = [part.device for one in running for part in one.slices]
    nodes = [cards(1, busy=busy), cards(2, busy=busy)] if nodes is None else nodes
    return plan(ClusterState.build(nodes), jobs, policy, now_ms=1000, seed=0, running=running)


def asked(found: Plan) -> list[tuple[int, int]]:
    """Victim and beneficiary."""
    return [(one.job, one.for_job) for one in found.preemptions]


FULL = [runs(50, [100, 101]), runs(51, [102, 103]), runs(52, [200, 201, 202, 203])]


def test_the_fewest_that_are_enough_yield_and_the_place_is_named() -> None:
    found = decide(FULL, [wanting(1, 2)])
    assert asked(found) == [(50, 1)]
    place = found.takeovers[0]
    assert (place.job, place.node, [part.device for part in place.slices]) == (1, 1, [100, 101])
    assert found.preemptions[0].cause is PreemptionCause.CHEAPEST


def test_what_is_idle_yields_before_what_works() -> None:
    running = [*FULL[:2], replace(FULL[2], idle=True, lost_work_ms=600 * MIN)]
    found = decide(running, [wanting(1, 2)])
    assert asked(found) == [(52, 1)] and found.preemptions[0].cause is PreemptionCause.IDLE


def test_what_has_not_started_yields_first_of_all() -> None:
    running = [replace(FULL[0], idle=True), replace(FULL[1], started=False, checkpointable=False), FULL[2]]
    found = decide(running, [wanting(1, 2)])
    assert asked(found) == [(51, 1)] and found.preemptions[0].cause is PreemptionCause.UNSTARTED


def test_the_lower_priority_yields_and_then_who_loses_least_work() -> None:
    low = [replace(FULL[0], lost_work_ms=MIN), replace(FULL[1], priority=-1), FULL[2]]
    assert asked(decide(low, [wanting(1, 2)])) == [(51, 1)]
    loses = [replace(FULL[0], lost_work_ms=None), replace(FULL[1], lost_work_ms=2 * MIN), FULL[2]]
    assert asked(decide(loses, [wanting(1, 2)])) == [(51, 1)]


def test_work_that_cannot_be_kept_is_lost_only_where_the_policy_says_so() -> None:
    running = [replace(one, checkpointable=False) for one in FULL]
    assert asked(decide(running, [wanting(1, 2)])) == []
    policy = replace(POLITE, preempts_unsaved=True)
    assert asked(decide(running, [wanting(1, 2)], policy=policy)) == [(50, 1)]
    mixed = [running[0], FULL[1], FULL[2]]
    assert asked(decide(mixed, [wanting(1, 2)], policy=policy)) == [(51, 1)]


def test_training_and_inference_are_never_asked() -> None:
    running = [replace(one, queue=TRAINING) for one in FULL]
    assert asked(decide(running, [wanting(1, 2, queue=INFERENCE)])) == []


def test_nobody_yields_to_a_queue_that_is_not_above_its_own() -> None:
    assert asked(decide(FULL, [wanting(1, 2, queue=OFFLINE, priority=99)])) == []
    assert asked(decide(FULL, [wanting(1, 2, queue=9)])) == []


def test_who_was_disturbed_just_now_is_spared() -> None:
    running = [replace(one, spared=one.job != 51) for one in FULL]
    assert asked(decide(running, [wanting(1, 2)])) == [(51, 1)]
    assert asked(decide([replace(one, spared=True) for one in FULL], [wanting(1, 2)])) == []


def test_c23_the_impossible_evicts_nobody_and_what_is_possible_behind_it_starts() -> None:
    queues = [replace(q, quota_ppm=500_000 if q.queue == TRAINING else None) for q in POLICY.queues]
    queues = [replace(q, devices_booked_milli=1000 if q.queue == TRAINING else 0) for q in queues]
    policy = replace(POLITE, queues=tuple(queues), capped=True)
    # Three of eight cards are left under the cap: four are beyond the cap, nine beyond every node; three are possible.
    jobs = [wanting(1, 4), wanting(2, 9), wanting(3, 3)]
    found = decide(FULL, jobs, policy=policy)
    assert {for_job for _victim, for_job in asked(found)} == {3}


def test_where_even_all_of_them_are_not_enough_nobody_is_asked() -> None:
    running = [runs(50, [100, 101]), runs(51, [102, 103], queue=TRAINING), replace(FULL[2], spared=True)]
    assert asked(decide(running, [wanting(1, 3)])) == []


def test_two_jobs_that_want_one_victim_do_not_both_get_it() -> None:
    running = [FULL[0], replace(FULL[1], spared=True), replace(FULL[2], spared=True)]
    found = decide(running, [wanting(1, 2), wanting(2, 2)])
    assert asked(found) == [(50, 1)]
    both = decide(FULL, [wanting(1, 2), wanting(2, 2)])
    assert asked(both) == [(50, 1), (51, 2)]


def test_who_waits_for_its_victims_asks_no_more() -> None:
    """C22: what one of two victims gave back stays kept until the other is gone, and nobody else is asked for it."""
    hold = Hold(1, tuple(SliceChoice(d, CARD, 1000) for d in range(100, 104)))
    nodes = [cards(1, busy=[102, 103], holds=(hold,)), cards(2, busy=range(200, 204))]
    found = decide([FULL[2]], [wanting(1, 4), wanting(2, 2, queue=OFFLINE)], nodes=nodes)
    assert found.placed == () and found.preemptions == ()


def test_what_is_borrowed_yields_to_the_owner_whatever_its_priority() -> None:
    queues = [
        replace(
            POLICY.queues[0], quota_ppm=500_000, preemptable=True, borrow=True, devices_booked_milli=8000
        ),
        replace(POLICY.queues[2], quota_ppm=500_000),
    ]
    policy = replace(POLITE, queues=tuple(queues), capped=True)
    running = [replace(one, queue=INFERENCE, borrowed=one.job == 51) for one in FULL]
    owner = wanting(1, 2, queue=OFFLINE)
    found = decide(running, [owner], policy=policy)
    assert asked(found) == [(51, 1)] and found.preemptions[0].cause is PreemptionCause.BORROWED
    mine = [replace(one, borrowed=False) for one in running]
    assert asked(decide(mine, [owner], policy=policy)) == []


def test_beyond_its_own_cap_a_job_takes_nothing_from_others() -> None:
    queues = [
        replace(q, quota_ppm=250_000 if q.queue == TRAINING else None, borrow=True) for q in POLICY.queues
    ]
    queues = [replace(q, devices_booked_milli=2000 if q.queue == TRAINING else 4000) for q in queues]
    policy = replace(POLITE, queues=tuple(queues), capped=True)
    running = [replace(FULL[0], queue=TRAINING), *FULL[1:]]
    assert asked(decide(running, [wanting(1, 2)], policy=policy)) == []


def test_a_gang_takes_over_the_places_of_all_its_replicas_or_of_none() -> None:
    gang = wanting(1, 3, replicas=2)
    found = decide(FULL, [gang])
    assert sorted(victim for victim, _ in asked(found)) == [50, 51, 52]
    assert sorted(place.node for place in found.takeovers) == [1, 2]
    assert asked(decide([replace(FULL[0], spared=True), *FULL[1:]], [gang])) == []


def test_the_placements_of_a_gang_fall_together() -> None:
    running = [
        runs(50, [100, 101, 102, 103]),
        replace(runs(50, [200, 201]), job=50),
        runs(52, [202, 203], spared=True),
    ]
    found = decide(running, [wanting(1, 4)])
    assert sorted((one.job, one.node) for one in found.preemptions) == [(50, 1), (50, 2)]


def test_without_word_of_preemption_nobody_is_asked() -> None:
    assert asked(decide(FULL, [wanting(1, 2)], policy=POLICY)) == []


@property_test
@given(st.integers(0, 2**32))
def test_the_beneficiary_fits_exactly_and_no_victim_is_asked_in_vain(seed: int) -> None:
    """Once the victims are gone and their place is kept, the job starts there; with one of them left it starts not."""
    rng = Random(seed)
    running, number = [], 100
    for first in (100, 200, 300):
        left = list(range(first, first + 4))
        while left and rng.random() < 0.9:
            some = [left.pop() for _ in range(min(len(left), rng.choice((1, 1, 2))))]
            number += 1
            running.append(
                runs(
                    number,
                    some,
                    queue=rng.choice((TRAINING, OFFLINE, OFFLINE)),
                    lost_work_ms=rng.choice((None, MIN, 9 * MIN)),
                    priority=rng.choice((0, 1)),
                    started=rng.random() < 0.8,
                    idle=rng.random() < 0.2,
                    spared=rng.random() < 0.2,
                )
            )
    jobs = [
        wanting(n, rng.choice((1, 2, 3, 4, 5)), queue=rng.choice((1, 2, 3)), replicas=rng.choice((1, 1, 2)))
        for n in (1, 2, 3)
    ]
    busy = [part.device for one in running for part in one.slices]
    found = decide(running, jobs, nodes=[cards(n, busy=busy) for n in (1, 2, 3)])
    shuffled = rng.sample(jobs, len(jobs)), rng.sample([cards(n, busy=busy) for n in (1, 2, 3)], 3)
    assert decide(running, shuffled[0], nodes=shuffled[1]) == found

    victims = {one.job for one in found.preemptions}
    assert all(one.queue == OFFLINE and not one.spared for one in running if one.job in victims)
    started = [part.device for one in found.placed for part in one.slices]
    for beneficiary in {one.for_job for one in found.preemptions}:
        mine = {one.job for one in found.preemptions if one.for_job == beneficiary}
        places = [one for one in found.takeovers if one.job == beneficiary]
        want = next(one for one in jobs if one.job == beneficiary)
        assert len(places) == want.replicas
        gone = {part.device for one in running if one.job in mine for part in one.slices}
        # What the victims of another job leave over may serve this one as well.
        gone |= {part.device for place in places for part in place.slices}
        others = [p.device for one in found.takeovers if one.job != beneficiary for p in one.slices]
        taken = [*(d for d in busy if d not in gone), *started, *others]
        holds = {place.node: Hold(beneficiary, place.slices, place.cpus) for place in places}
        after = [cards(n, busy=taken, holds=(holds[n],) if n in holds else ()) for n in (1, 2, 3)]
        placed = decide((), [want], nodes=after).placed
        assert {p.device for one in placed for p in one.slices} == {
            p.device for one in places for p in one.slices
        }
        for spared in mine:
            back = [part.device for one in running if one.job == spared for part in one.slices]
            with_one = [cards(n, busy=[*taken, *back]) for n in (1, 2, 3)]
            assert decide((), [want], nodes=with_one).placed == ()

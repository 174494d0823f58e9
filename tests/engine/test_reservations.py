"""Reservations for jobs that waited long, and back-fill that never delays one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scheduling.engine.ordering import expected_shapes, in_service_order
from scheduling.engine.plan import Planner, plan
from scheduling.engine.preemption import Outlook
from scheduling.engine.reservations import MOST_AT_ONCE, serve
from scheduling.engine.session import PlanningSession
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    EnginePolicy,
    NodeInfo,
    PendingJob,
    Plan,
    ReasonCode,
    Request,
    Reservation,
    Running,
    SliceChoice,
)
from tests.engine.build import POLICY, device, job, node
from tests.engine.profiles import property_test
from tests.engine.random_clusters import random_caps, random_jobs, random_nodes, random_policy

MIN = 60_000
NOW = 100 * MIN
T4 = "Tesla T4"
PATIENT = replace(POLICY, reserve_after_ms=10 * MIN)
ONE = Request(devices=1, cores=1)


def eight(number: int = 1, *, busy: int = 0, model: str | None = None) -> NodeInfo:
    """A node of eight devices, the first of which are booked."""
    more: dict[str, Any] = {} if model is None else {"model": model}
    cards = [
        device(
            100 * number + n,
            compute_booked_milli=1000 if n < busy else 0,
            memory_booked_mib=80 * 1024 if n < busy else 0,
            **more,
        )
        for n in range(8)
    ]
    return node(number, cards)


def runs(number: int, devices: Sequence[int], *, ends: int | None, on: int = 1) -> Running:
    """A placement of whole devices."""
    slices = tuple(SliceChoice(d, 80 * 1024, 1000) for d in devices)
    return Running(number, 1, on, 2, 1, 0, slices=slices, ends_at_ms=ends)


def decide(
    nodes: Sequence[NodeInfo],
    jobs: Sequence[PendingJob],
    running: Sequence[Running] = (),
    reservations: Sequence[Reservation] = (),
    *,
    policy: EnginePolicy = PATIENT,
    now_ms: int = NOW,
) -> Plan:
    state = ClusterState.build(nodes)
    return plan(state, jobs, policy, now_ms=now_ms, seed=0, running=running, reservations=reservations)


def started(found: Plan) -> list[int]:
    return sorted({one.job for one in found.placed})


def wanting(number: int, devices: int, **fields: object) -> PendingJob:
    return job(number, Request(devices=devices, cores=1), **fields)


BUSY = [runs(50, [100, 101, 102, 103], ends=NOW + 60 * MIN)]


def test_the_blocked_head_is_promised_the_moment_at_which_all_of_it_comes_free() -> None:
    found = decide([eight(busy=4)], [wanting(1, 8)], BUSY)
    place = found.reservations[0]
    assert (place.job, place.node, place.starts_at_ms) == (1, 1, NOW + 60 * MIN)
    assert [part.device for part in place.slices] == list(range(100, 108))


def test_behind_it_runs_only_what_is_gone_by_then() -> None:
    jobs = [
        wanting(1, 8),
        wanting(2, 1, runs_ms=60 * MIN),
        wanting(3, 1, runs_ms=61 * MIN),
        wanting(4, 1),
    ]
    found = decide([eight(busy=4)], jobs, BUSY)
    assert started(found) == [2]
    for refusal in found.refused[1:]:
        assert (refusal.code, refusal.waits_for) == (ReasonCode.RESERVED, 1)
        assert (refusal.near[0].code, refusal.near[0].needed) == (ReasonCode.RESERVED, 1)


def test_who_has_not_waited_long_is_promised_nothing() -> None:
    jobs = [wanting(1, 8, submitted_at_ms=NOW - 9 * MIN), wanting(2, 1, submitted_at_ms=NOW)]
    found = decide([eight(busy=4)], jobs, BUSY)
    assert found.reservations == () and started(found) == [2]


def test_a_job_for_one_kind_of_device_never_holds_up_another() -> None:
    jobs = [
        job(1, Request(devices=8, models=("a100",), cores=1)),
        job(2, Request(devices=1, models=("t4",), cores=1)),
        *[job(n, Request(devices=8, models=("t4",), cores=1)) for n in range(3, 5)],
    ]
    found = decide(
        [eight(busy=4), eight(2, busy=1, model=T4)], jobs, [*BUSY, runs(51, [200], ends=NOW + MIN, on=2)]
    )
    assert started(found) == [2]
    assert {place.job for place in found.reservations} == {1}, "job 3 waits for 2, whose end nobody knows"


def test_a_promise_holds_in_the_next_plan_that_does_not_see_its_job() -> None:
    """Batches of one cycle."""
    first = decide([eight(busy=4)], [wanting(1, 8)], BUSY)
    found = decide([eight(busy=4)], [wanting(2, 1)], BUSY, first.reservations)
    assert started(found) == [] and found.reservations == first.reservations
    assert found.refused[0].waits_for == 1


def test_a_promise_stays_where_it_is_while_it_is_as_good() -> None:
    nodes = [eight(busy=8), eight(2, busy=8)]
    running = [
        runs(50, range(100, 108), ends=NOW + 60 * MIN),
        runs(51, range(200, 208), ends=NOW + 61 * MIN, on=2),
    ]
    first = decide(nodes, [wanting(1, 8)], running)
    assert first.reservations[0].node == 1
    sooner = [running[0], replace(running[1], ends_at_ms=NOW + 30 * MIN)]
    kept = decide(nodes, [wanting(1, 8)], sooner, first.reservations)
    assert kept.reservations == first.reservations
    late = [replace(running[0], ends_at_ms=NOW + 90 * MIN), running[1]]
    moved = decide(nodes, [wanting(1, 8)], late, first.reservations)
    assert (moved.reservations[0].node, moved.reservations[0].starts_at_ms) == (2, NOW + 61 * MIN)


def test_the_job_itself_starts_in_what_was_kept_for_it() -> None:
    first = decide([eight(busy=4)], [wanting(1, 8)], BUSY)
    found = decide([eight()], [wanting(1, 8), wanting(2, 1)], (), first.reservations)
    assert started(found) == [1] and found.reservations == ()


def test_whoever_is_served_before_it_is_not_held_up() -> None:
    first = decide([eight(busy=4)], [wanting(1, 8)], BUSY)
    jobs = [wanting(1, 8), wanting(2, 1, queue=1)]
    assert started(decide([eight(busy=4)], jobs, BUSY, first.reservations)) == [2]


def test_a_promise_on_a_device_that_failed_is_made_anew() -> None:
    first = decide([eight(busy=4), eight(2, busy=8)], [wanting(1, 8)], BUSY)
    broken = replace(eight(busy=4), not_ready="silent")
    other = runs(51, range(200, 208), ends=NOW + 90 * MIN, on=2)
    found = decide([broken, eight(2, busy=8)], [wanting(1, 8)], [*BUSY, other], first.reservations)
    assert [place.node for place in found.reservations] == [2]


def test_the_impossible_is_promised_nothing() -> None:
    found = decide([eight(busy=4)], [wanting(1, 9), wanting(2, 1)], BUSY)
    assert found.reservations == () and started(found) == [2]


def test_under_a_cap_small_jobs_of_the_queue_do_not_starve_a_large_one() -> None:
    queues = [replace(q, quota_ppm=500_000 if q.queue == 2 else None) for q in POLICY.queues]
    queues = [replace(q, devices_booked_milli=1000 if q.queue == 2 else 0) for q in queues]
    policy = replace(PATIENT, queues=tuple(queues), capped=True)
    jobs = [wanting(1, 4), wanting(2, 1), wanting(3, 1, queue=3), wanting(4, 1, runs_ms=5 * MIN)]
    found = decide([eight(busy=1)], jobs, [runs(50, [100], ends=NOW + 5 * MIN)], policy=policy)
    assert found.reservations[0].starts_at_ms == NOW + 5 * MIN
    assert started(found) == [3, 4]


def test_c25_endless_small_jobs_do_not_keep_a_large_gang_from_starting() -> None:
    """A small job every 15 s, each of two minutes; the gang of two replicas wants the whole node."""
    gang = job(1, Request(devices=4, cores=1), replicas=2, submitted_at_ms=NOW)
    waiting, number = [gang], 1
    running: list[Running] = []
    promised: tuple[Reservation, ...] = ()
    for step in range(240):
        now_ms = NOW + step * 15_000
        number += 1
        waiting.append(job(number, ONE, submitted_at_ms=now_ms, runs_ms=2 * MIN))
        running = [one for one in running if (one.ends_at_ms or 0) > now_ms]
        taken = {part.device for one in running for part in one.slices}
        info = eight()
        cards = [replace(d, compute_booked_milli=1000 * (d.device in taken)) for d in info.devices]
        found = decide([replace(info, devices=tuple(cards))], waiting, running, promised, now_ms=now_ms)
        promised = found.reservations
        for one in found.placed:
            running.append(runs(one.job, [s.device for s in one.slices], ends=now_ms + 2 * MIN))
        waiting = [one for one in waiting if one.job not in started(found)]
        if gang not in waiting:
            break
    assert gang not in waiting
    assert now_ms - NOW <= 10 * MIN + 2 * MIN + 15_000, "the bounded wait, then what ran at that time"


def random_case(seed: int) -> tuple[list[NodeInfo], list[PendingJob], EnginePolicy, list[Running]]:
    """What is booked runs until some time; what waits has waited for an hour or not at all."""
    rng = Random(seed)
    policy = replace(random_caps(rng, random_policy(seed)), reserve_after_ms=30 * MIN, power_cap_mw=None)
    nodes = [replace(n, holds=(), power_cap_mw=None) for n in random_nodes(seed)]
    running = [
        Running(
            1000 + d.device,
            1,
            n.node,
            rng.choice((1, 2, 3)),
            1,
            0,
            slices=(SliceChoice(d.device, d.memory_booked_mib, d.compute_booked_milli),),
            ends_at_ms=rng.choice((None, NOW - MIN, NOW + 5 * MIN, NOW + 50 * MIN)),
        )
        for n in nodes
        for d in n.devices
        if d.compute_booked_milli or d.memory_booked_mib
    ]
    jobs = [
        replace(
            one,
            submitted_at_ms=rng.choice((NOW, NOW - 60 * MIN)),
            runs_ms=rng.choice((None, MIN, 10 * MIN, 100 * MIN)),
        )
        for one in random_jobs(seed, most=14)
    ]
    return nodes, jobs, policy, running


@property_test
@given(st.integers(0, 2**32))
def test_no_job_behind_a_promise_delays_it(seed: int) -> None:
    """At the promised moment the place is free of all that started behind it: counted here by hand."""
    nodes, jobs, policy, running = random_case(seed)
    found = decide(nodes, jobs, running, policy=policy)
    line = [one.job for one in in_service_order(jobs, policy)]
    by_job = {one.job: one for one in jobs}
    for place in found.reservations:
        assert place.job not in started(found)
        behind = [
            p for p in found.placed if line.index(p.job) > line.index(place.job) and p.node == place.node
        ]
        still = [
            p
            for p in behind
            if (runs_ms := by_job[p.job].runs_ms) is None or NOW + runs_ms > place.starts_at_ms
        ]
        info = next(n for n in nodes if n.node == place.node)
        ended = [
            one for one in running if one.ends_at_ms is not None and one.ends_at_ms <= place.starts_at_ms
        ]
        for part in place.slices:
            card = next(d for d in info.devices if d.device == part.device)
            back = sum(s.compute_milli for one in ended for s in one.slices if s.device == part.device)
            taken = sum(s.compute_milli for p in still for s in p.slices if s.device == part.device)
            assert card.compute_booked_milli - back + taken + part.compute_milli <= 1000
        assert not {cpu for p in still for cpu in p.cpus} & set(place.cpus)
    assert len({place.job for place in found.reservations}) <= MOST_AT_ONCE


@property_test
@given(st.integers(0, 2**32))
def test_promises_depend_on_no_order_and_no_cache(seed: int) -> None:
    nodes, jobs, policy, running = random_case(seed)
    first = decide(nodes, jobs, running, policy=policy)
    rng = Random(seed)
    assert decide(rng.sample(nodes, len(nodes)), rng.sample(jobs, len(jobs)), running, policy=policy) == first
    state = ClusterState.build(nodes)
    fresh = Planner(state, policy, expected_shapes((), jobs, policy), keep_boards=False)
    outlook = Outlook(NOW, tuple(running))
    assert serve(fresh, in_service_order(jobs, policy), None, outlook) == first
    session = PlanningSession()
    for _again in range(2):
        assert session.plan(state, jobs, policy, now_ms=NOW, seed=0, running=running) == first

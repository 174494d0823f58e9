"""Promises from plan to plan: what keeps one, what ends it, who may have one, and what it takes from others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.engine.ordering import expected_shapes, in_service_order
from scheduling.engine.plan import Planner, plan
from scheduling.engine.preemption import Outlook
from scheduling.engine.prospects import release_of
from scheduling.engine.reservations import MOST_IN_VAIN, serve
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    EnginePolicy,
    Hold,
    Holding,
    NodeInfo,
    PendingJob,
    Placed,
    Plan,
    ReasonCode,
    Request,
    Reservation,
    Running,
    SliceChoice,
    TeamCap,
)
from tests.engine.aftermath import after_plan
from tests.engine.build import GIB, POLICY, cpus, device, job, node, shared
from tests.engine.profiles import property_test
from tests.engine.test_line import holding, plainly_booked
from tests.engine.test_reservations import (
    BUSY,
    MIN,
    NOW,
    PATIENT,
    T4,
    decide,
    eight,
    random_case,
    runs,
    started,
    wanting,
)

POLITE = replace(POLICY, preempts=True)


def promised(found: Plan) -> list[int]:
    return sorted({place.job for place in found.reservations})


def of_models(number: int, devices: int, *models: str, **fields: object) -> PendingJob:
    return job(number, Request(devices=devices, cores=1, models=models), **fields)


def team_cap(cap_milli: int, *, held_milli: int = 0, team: int = 1) -> EnginePolicy:
    """What a team may have in the queue of the jobs here, and what it has of Tesla T4."""
    queues = [
        replace(
            one,
            quota_ppm=None,
            team_caps=(TeamCap(team, None, cap_milli),) if one.queue == 2 else (),
            devices_booked_milli=held_milli if one.queue == 2 else 0,
            holdings=(Holding(team, 0, T4, held_milli),) if one.queue == 2 and held_milli else (),
        )
        for one in POLICY.queues
    ]
    return replace(PATIENT, capped=True, queues=tuple(queues))


def test_who_has_no_chance_at_all_takes_no_looks_from_others() -> None:
    many = range(1, 2 * MOST_IN_VAIN)
    never = [of_models(n, 1, "t4", submitted_at_ms=0, team=n) for n in many]
    line = [*never, of_models(90, 8, "a100"), of_models(91, 1, "a100")]
    nodes = [eight(busy=4), eight(2, busy=8, model=T4)]
    found = decide(nodes, line, [*BUSY, runs(51, range(200, 208), ends=None, on=2)])
    assert (promised(found), started(found)) == ([90], [])
    capped = [wanting(n, 1 + n % 3, team=7) for n in many]
    line = [*capped, wanting(90, 8), wanting(91, 1)]
    found = decide([eight(busy=4)], line, BUSY, policy=team_cap(500, team=7))
    assert (promised(found), started(found)) == ([90], [])


def test_whether_time_cures_it_is_asked_of_every_node() -> None:
    """The last filter that removes nodes names the reason; here that is one for which the other node is too small."""
    small = replace(eight(2), cpus=cpus(4))
    found = decide([eight(busy=4), small], [job(1, Request(devices=8, cores=8))], BUSY)
    assert found.refused[0].code is ReasonCode.CORES_TOTAL
    assert [(place.node, place.starts_at_ms) for place in found.reservations] == [(1, NOW + 60 * MIN)]


WAITS = [runs(60, [100], ends=NOW + 10 * MIN)]
SET = job(1, Request(devices=8, cores=1, node_sets=("a",)))
BUT_ONE = tuple(device(100 + n, foreign_mib=90 * (n == 7)) for n in range(8))


@pytest.mark.parametrize(
    ("asked", "then"),
    [
        (wanting(1, 8), replace(eight(), devices=BUT_ONE)),
        (SET, replace(eight(), node_set="b")),
        (job(1, Request(devices=8, cores=1, image="x")), replace(eight(), runs_containers=False)),
        (
            job(1, Request(devices=8, cores=1, host_memory_mib=200 * GIB)),
            replace(eight(), memory_booked_mib=100 * GIB),
        ),
        (
            job(1, Request(devices=8, cores=1, read_bandwidth_mib_s=500)),
            replace(eight(), read_bandwidth_total_mib_s=800, read_bandwidth_booked_mib_s=400),
        ),
        (job(1, Request(devices=8, cores=8)), replace(eight(), cpus=cpus(4))),
    ],
)
def test_a_promise_ends_once_its_place_would_not_serve(asked: PendingJob, then: NodeInfo) -> None:
    made = decide([replace(eight(busy=1), node_set="a")], [asked], WAITS)
    assert promised(made) == [1]
    small = wanting(2, 1, queue=3)
    for ahead_ms in (MIN, 20 * MIN):
        found = decide([then], [asked, small], (), made.reservations, now_ms=NOW + ahead_ms)
        assert (promised(found), started(found)) == ([], [2])


def test_a_promise_ends_once_a_cap_forbids_it_and_moves_with_what_holds_the_cap() -> None:
    nodes, holds = [eight(1, busy=2, model=T4), eight(2)], [runs(60, [100, 101], ends=NOW + 10 * MIN)]
    line = [of_models(1, 8, "a100"), of_models(2, 1, "a100", queue=3)]
    made = decide(nodes, line, holds, policy=team_cap(8000, held_milli=2000))
    assert promised(made) == [1] and started(made) == []
    cut = decide(nodes, line, holds, made.reservations, policy=team_cap(7000, held_milli=2000))
    assert (promised(cut), started(cut)) == ([], [2])
    # Batches that do not see the job know this much, too.
    cut = decide(nodes, line[1:], holds, made.reservations, policy=team_cap(7000, held_milli=2000))
    assert (promised(cut), started(cut)) == ([], [2])
    late = [replace(holds[0], ends_at_ms=NOW + 500 * MIN)]
    moved = decide(nodes, line, late, made.reservations, policy=team_cap(8000, held_milli=2000))
    assert [place.starts_at_ms for place in moved.reservations] == [NOW + 500 * MIN]


def test_two_promises_never_share_a_device() -> None:
    nodes = [eight(1, busy=8), eight(2, busy=8)]
    line = [wanting(1, 4), wanting(2, 8)]
    first = runs(51, range(200, 208), ends=NOW + 5 * MIN, on=2)
    running = [runs(50, range(100, 108), ends=NOW + 10 * MIN), first]
    made = decide(nodes, line, running)
    assert [place.node for place in made.reservations] == [2, 1]
    late = [running[0], replace(first, ends_at_ms=NOW + 600 * MIN)]
    found = decide(nodes, line, late, made.reservations, now_ms=NOW + 6 * MIN)
    assert [(place.job, place.node) for place in found.reservations] == [(1, 1), (2, 2)]


def test_no_promise_stays_on_what_the_same_plan_gives_away() -> None:
    made = decide([eight(busy=8)], [wanting(2, 8)], [runs(50, range(100, 108), ends=NOW + 10 * MIN)])
    found = decide([eight()], [wanting(1, 1), wanting(2, 8)], (), made.reservations, now_ms=NOW + 10 * MIN)
    assert (started(found), promised(found)) == ([1], [])


def test_what_a_shared_slice_must_find_free_is_kept_for_it() -> None:
    card = device(100, memory_booked_mib=10 * GIB, compute_booked_milli=125)
    mine, other = job(1, shared(60 * GIB)), job(2, shared(8 * GIB + 300))
    here = Running(50, 1, 1, 2, 1, 0, (SliceChoice(100, 10 * GIB, 125),), ends_at_ms=NOW + 60 * MIN)
    found = decide([node(1, [card])], [mine, other], [here])
    assert (started(found), found.refused[-1].waits_for) == ([], 1)
    assert found.reservations[0].slices[0].memory_mib == 72 * GIB


def test_what_a_shared_slice_must_find_free_is_held_for_whom_others_yield_to() -> None:
    card = device(100, memory_booked_mib=10 * GIB, compute_booked_milli=125)
    mine, other = job(1, shared(60 * GIB)), job(2, shared(8 * GIB + 300), queue=3)
    victim = Running(50, 1, 1, 3, 1, 0, (SliceChoice(100, 10 * GIB, 125),), checkpointable=True)
    place = decide([node(1, [card])], [mine], [victim], policy=POLITE).takeovers[0]
    hold = Hold(1, place.slices, place.cpus)
    spared = [replace(victim, spared=True)]
    found = decide([node(1, [card], holds=(hold,))], [mine, other], spared, policy=POLITE)
    assert started(found) == []
    left = decide([node(1, [device(100)], holds=(hold,))], [mine, other], (), policy=POLITE)
    assert started(left) == [1]


def test_who_waits_for_what_is_held_for_it_is_promised_nothing() -> None:
    hold = Hold(1, tuple(SliceChoice(100 + n, 80 * GIB, 1000) for n in range(2)))
    nodes = [replace(eight(busy=8), holds=(hold,)), eight(2, busy=7)]
    running = [
        runs(50, range(100, 108), ends=NOW + 600 * MIN),
        runs(51, range(200, 207), ends=NOW + 5 * MIN, on=2),
    ]
    given = decide([eight(busy=8), eight(2, busy=7)], [wanting(1, 2)], running).reservations
    assert given
    for line in ([wanting(1, 2), wanting(2, 1)], [wanting(2, 1)]):
        found = decide(nodes, line, running, given)
        assert (promised(found), started(found)) == ([], [2])


def test_only_so_much_of_a_kind_is_promised_whichever_batch_asks() -> None:
    nodes = [eight(n, busy=1) for n in (1, 2, 3)] + [eight(4, busy=1, model=T4)]
    running = [runs(50 + n, [100 * n], ends=NOW + 60 * MIN, on=n) for n in (1, 2, 3, 4)]
    line = [wanting(1, 8), wanting(2, 8), of_models(3, 8, "a100"), of_models(4, 1, "a100"), wanting(5, 8)]
    batches: tuple[Reservation, ...] = ()
    for batch in (line[:2], line[2:]):
        found = decide(nodes, batch, running, batches)
        batches = found.reservations
    assert started(found) == [4]
    once = decide(nodes, line, running)
    again = decide(nodes, line, running, once.reservations)
    # Job 5 is of any kind, so there is still one for it; two new promises a plan.
    assert [{place.node for place in one} for one in (batches, again.reservations)] == [{1, 2, 4}, {1, 2, 4}]


def test_every_job_that_would_start_but_for_a_promise_is_told_so() -> None:
    nodes = [eight(busy=4), eight(2, busy=8)]
    running = [*BUSY, runs(51, range(200, 208), ends=NOW + 90 * MIN, on=2)]
    line = [wanting(1, 8), *(wanting(n, 2) for n in (2, 3))]
    found = decide(nodes, line, running)
    assert promised(found) == [1, 2]
    assert [one.waits_for for one in found.refused] == [None, 1, 1]


def test_who_would_delay_somebody_on_one_node_starts_on_another() -> None:
    """On node 1, job 901 is to have nearly all memory in ten minutes; what is kept for job 902 there is then missed."""
    hour = NOW + 60 * MIN
    places = [
        Reservation(902, 1, hour, (SliceChoice(104, 80 * GIB, 1000),), (4,), 20 * GIB),
        Reservation(901, 1, NOW + 10 * MIN, (SliceChoice(100, 80 * GIB, 1000),), (0,), 90 * GIB),
        Reservation(903, 2, hour, (SliceChoice(204, 80 * GIB, 1000),), (4,), 20 * GIB),
    ]
    first = replace(runs(50, [100], ends=NOW + 10 * MIN), host_memory_mib=60 * GIB)
    nodes = []
    for number, model in ((1, "NVIDIA A100-SXM4-80GB"), (2, T4)):
        booked = [1000 * (n != 4) for n in range(8)]
        cards = [device(100 * number + n, model=model, compute_booked_milli=booked[n]) for n in range(8)]
        nodes.append(node(number, cards, memory_mib=128 * GIB, memory_booked_mib=60 * GIB))
    asked = Request(devices=1, cores=1, host_memory_mib=20 * GIB, previous_nodes=(1,))
    found = decide(nodes, [job(1, asked, runs_ms=30 * MIN)], [first], places)
    assert promised(found) == [901, 902, 903]
    assert [(one.job, one.node) for one in found.placed] == [(1, 2)]


def test_what_is_promised_to_a_job_does_not_keep_it_from_what_others_brought_within_its_caps() -> None:
    """On the smaller card, the fullest, the second job counts 250 milli of 400, as the first does, and waits for that
    one's end; once the third has most of the larger card it would count 125 there.
    """
    nodes = [node(1, [device(1, 40 * GIB), device(2, 80 * GIB)])]
    mine = {"quota_ppm": 200_000}
    queues = [replace(one, **mine if one.queue == 2 else {"quota_ppm": None}) for one in POLICY.queues]
    policy = replace(PATIENT, capped=True, queues=tuple(queues), precheck_num=1, precheck_den=1)
    line = [job(1, shared(10 * GIB), runs_ms=MIN), job(2, shared(10 * GIB))]
    assert promised(decide(nodes, line, policy=policy)) == [2]
    found = decide(nodes, [*line, job(3, shared(30 * GIB), queue=3)], policy=policy)
    assert [(one.job, one.slices[0].device) for one in found.placed] == [(1, 1), (3, 2), (2, 2)]
    assert (promised(found), found.refused) == ([], ())


def test_to_explain_costs_no_more_with_many_promises() -> None:
    """Sixteen promises, and two hundred owners whose caps would allow a start."""
    models = [f"Model {letter}" for letter in "ABCDEFGH"]
    cards = [(number, models[number % 8]) for number in range(16)]
    nodes = [node(n, [device(n, model=model, compute_booked_milli=1000)]) for n, model in cards]
    running = [runs(1000 + n, [n], ends=NOW + 60 * MIN, on=n) for n, _model in cards]
    given = [
        Reservation(900 + n, n, NOW + 60 * MIN, (SliceChoice(n, 80 * GIB, 1000),), (0,), queue=1)
        for n, _model in cards
    ]
    queues = tuple(replace(one, quota_ppm=900_000, devices_booked_milli=1) for one in POLICY.queues)
    policy = replace(PATIENT, capped=True, queues=queues)
    line = [wanting(n, 1, owner=n) for n in range(1, 201)]
    planner = Planner(ClusterState.build(nodes), policy, expected_shapes((), line, policy))
    found = serve(planner, in_service_order(line, policy), None, Outlook(NOW, tuple(running), tuple(given)))
    assert len(promised(found)) == 16 and len(found.refused) == 200
    assert planner.boards.counters.hits < 6 * len(line)


def counts_by_device(request: Request) -> bool:
    """Whether its share of a device's compute is that of the memory, which a larger device has more of."""
    return request.shareable and request.device_memory_mib is not None and not request.device_compute_milli


def playable(seed: int) -> tuple[list[NodeInfo], list[PendingJob], EnginePolicy, list[Running]]:
    """Without loans, which are given in a plan of their own; what is booked is as plainly so as what plans book. Gangs
    only where each replica counts as much under caps: else it may depend on the first one how many are within them.
    """
    nodes, jobs, policy, running = random_case(seed)
    jobs = [replace(one, replicas=1) if counts_by_device(one.request) else one for one in jobs]
    nodes = [
        replace(info, measured_mw=None, devices=tuple(plainly_booked(d) for d in info.devices))
        for info in nodes
    ]
    return nodes, jobs, replace(policy, lending=False), running


def as_held(policy: EnginePolicy, nodes: Sequence[NodeInfo], running: Sequence[Running]) -> EnginePolicy:
    return holding(policy, [release_of(one, 0) for one in running], nodes)


def carried_out(
    nodes: Sequence[NodeInfo], jobs: Sequence[PendingJob], running: Sequence[Running], found: Plan
) -> tuple[list[NodeInfo], list[PendingJob], list[Running]]:
    by_job = {one.job: one for one in jobs}
    more = [
        Running(
            p.job,
            1,
            p.node,
            by_job[p.job].queue,
            1,
            0,
            p.slices,
            p.cpus,
            p.host_memory_mib,
            p.read_bandwidth_mib_s,
            None if (runs_ms := by_job[p.job].runs_ms) is None else NOW + runs_ms,
        )
        for p in found.placed
    ]
    waiting = [one for one in jobs if one.job not in started(found)]
    return after_plan(nodes, jobs, found), waiting, [*running, *more]


@property_test
@given(st.integers(0, 2**32))
def test_a_second_plan_right_after_starts_nothing_and_keeps_every_promise(seed: int) -> None:
    nodes, jobs, policy, running = playable(seed)
    found = decide(nodes, jobs, running, policy=as_held(policy, nodes, running))
    for _again in range(3):
        nodes, jobs, running = carried_out(nodes, jobs, running, found)
        before = found.reservations
        found = decide(nodes, jobs, running, before, policy=as_held(policy, nodes, running))
        assert not found.placed
        assert set(before) <= set(found.reservations)
    assert len(found.reservations) == len(set(found.reservations))


@property_test
@given(st.integers(0, 2**32))
def test_promises_of_another_day_take_nothing_twice(seed: int) -> None:
    """Of what was promised when the cluster was another, only what still can be stays: counted by hand."""
    rng = Random(seed)
    nodes, jobs, policy, running = random_case(seed)
    early = [replace(one, ends_at_ms=rng.choice((NOW, NOW + 5 * MIN, NOW + 50 * MIN))) for one in running]
    given_then = decide(nodes, rng.sample(jobs, len(jobs) // 2 + 1), early, policy=policy).reservations
    found = decide(nodes, jobs, running, given_then, policy=policy)
    by_job = {one.job: one for one in jobs}
    for info in nodes:
        here = [place for place in found.reservations if place.node == info.node]
        for_good = [p for p in found.placed if p.node == info.node and by_job[p.job].runs_ms is None]
        milli = Counter({d.device: d.compute_booked_milli for d in info.devices})
        for one in running:
            if one.ends_at_ms is not None:
                milli.subtract({part.device: part.compute_milli for part in one.slices})
        taken: list[Placed | Reservation] = [*here, *for_good]
        cores = [cpu for p in taken for cpu in p.cpus]
        for p in taken:
            milli.update({part.device: part.compute_milli for part in p.slices})
        assert all(milli[d.device] <= 1000 for d in info.devices)
        assert len(set(cores)) == len(cores)


@property_test
@given(st.integers(0, 2**32))
def test_who_would_start_without_promises_is_told_so_and_nobody_else(seed: int) -> None:
    nodes, jobs, policy, running = playable(seed)
    policy = replace(policy, capped=False)
    found = decide(nodes, jobs, running, policy=policy)
    nodes, jobs, _running = carried_out(nodes, jobs, running, found)
    state, by_job = ClusterState.build(nodes), {one.job: one for one in jobs}
    for refusal in found.refused:
        alone = plan(state, [by_job[refusal.job]], replace(policy, reserve_after_ms=None), now_ms=NOW, seed=0)
        assert bool(alone.placed) == (refusal.waits_for is not None)
        assert refusal.waits_for != refusal.job

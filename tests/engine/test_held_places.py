"""Places kept for jobs count under caps like what runs, for everybody but the job that they are kept for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scheduling.engine.plan import plan
from scheduling.engine.quota import Quotas
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    EnginePolicy,
    Hold,
    NodeInfo,
    PendingJob,
    Plan,
    ReasonCode,
    Request,
    Reservation,
    Running,
)
from tests.engine.build import POLICY, job, node
from tests.engine.test_preemption import OFFLINE, POLITE, TRAINING, asked, cards, decide, runs, wanting


def policy_with(share_ppm: int, training_milli: int, offline_milli: int) -> EnginePolicy:
    """Only training has a cap."""
    held = {TRAINING: training_milli, OFFLINE: offline_milli}
    queues = (
        replace(
            one,
            quota_ppm=share_ppm if one.queue == TRAINING else None,
            devices_booked_milli=held.get(one.queue, 0),
        )
        for one in POLICY.queues
    )
    return replace(POLITE, capped=True, queues=tuple(queues))


def hold_of(place: Reservation) -> Hold:
    return Hold(place.job, place.slices, place.cpus, queue=place.queue, team=place.team, owner=place.owner)


def kept(found: Plan) -> tuple[Hold, ...]:
    return tuple(hold_of(place) for place in found.takeovers)


# Training may hold four of eight; it holds two, and offline the rest.
POLICY_NOW = policy_with(500_000, 2000, 6000)
RUNNING = [
    runs(60, [100, 101], queue=TRAINING),
    *(runs(50 + n, [102 + 2 * n, 103 + 2 * n]) for n in range(3)),
]


def one_node(busy: Sequence[int], holds: tuple[Hold, ...] = ()) -> list[NodeInfo]:
    return [cards(1, 8, busy=busy, holds=holds)]


def first_takeover() -> tuple[Hold, ...]:
    found = decide(RUNNING, [wanting(1, 2)], policy=POLICY_NOW, nodes=one_node(range(100, 108)))
    assert asked(found) == [(50, 1)]
    return kept(found)


def leaving(running: Sequence[Running], *gone: int) -> list[Running]:
    return [replace(one, spared=one.job in gone) for one in running]


def test_nobody_is_asked_for_a_job_that_the_kept_place_leaves_no_share() -> None:
    nodes = one_node(range(100, 108), first_takeover())
    found = decide(leaving(RUNNING, 50), [wanting(1, 2), wanting(2, 2)], policy=POLICY_NOW, nodes=nodes)
    assert found.preemptions == ()
    codes = {one.job: one.code for one in found.refused}
    assert codes == {1: ReasonCode.DEVICE_BUSY, 2: ReasonCode.QUEUE_CAP}


def test_a_later_job_does_not_take_the_share_that_the_kept_place_needs() -> None:
    """One device came free by itself: the later job fits there, but not beside the first one under the cap."""
    holds, running = first_takeover(), RUNNING[:3]
    nodes = one_node(range(100, 107), holds)
    jobs = [wanting(1, 2), wanting(2, 1)]
    assert (
        decide(leaving(running, 50), jobs, policy=policy_with(500_000, 2000, 5000), nodes=nodes).placed == ()
    )
    nodes = one_node([100, 101, 104, 105, 106], holds)
    found = decide([RUNNING[0], RUNNING[2]], jobs, policy=policy_with(500_000, 2000, 3000), nodes=nodes)
    assert [(one.job, [part.device for part in one.slices]) for one in found.placed] == [(1, [102, 103])]
    assert found.refused[0].cap is not None and found.refused[0].cap.held_milli == 4000


def test_started_elsewhere_the_kept_place_counts_no_more() -> None:
    nodes = one_node(range(100, 106), first_takeover())
    found = decide(
        leaving(RUNNING[:3], 50), [wanting(1, 2)], policy=policy_with(500_000, 2000, 4000), nodes=nodes
    )
    assert [[part.device for part in one.slices] for one in found.placed] == [[106, 107]]


def test_a_queue_that_holds_nothing_else_may_start_the_job_that_it_keeps_a_place_for() -> None:
    """However small its share is; but then no second one beside it."""
    hold = hold_of(Reservation(1, 1, 0, RUNNING[1].slices, queue=TRAINING, team=1))
    policy, nodes = policy_with(100_000, 0, 0), one_node([], (hold,))
    found = decide((), [wanting(1, 2), wanting(2, 1)], policy=policy, nodes=nodes)
    assert [one.job for one in found.placed] == [1]
    assert [one.job for one in decide((), [wanting(2, 1)], policy=policy, nodes=nodes).placed] == []


def test_what_is_kept_of_cores_counts_where_no_devices_are_wanted() -> None:
    hold = Hold(1, cpus=(0, 1, 2, 3), queue=TRAINING, team=1)
    policy, nodes = policy_with(250_000, 0, 0), [node(1, holds=(hold,))]
    jobs: list[PendingJob] = [job(1, Request(cores=4)), job(2, Request(cores=1))]
    found = decide((), jobs, policy=policy, nodes=nodes)
    assert [one.job for one in found.placed] == [1] and found.refused[0].code is ReasonCode.QUEUE_CAP
    assert decide((), jobs[1:], policy=policy, nodes=nodes).placed == ()


def test_a_promise_to_a_job_for_which_a_place_is_kept_counts_once() -> None:
    """Training may hold four: two run, two are kept and promised; nothing is beyond its share."""
    holds = first_takeover()
    place = Reservation(1, 1, 0, holds[0].slices, holds[0].cpus, queue=TRAINING, team=1)
    policy = policy_with(625_000, 2000, 5000)
    state = ClusterState.build(one_node(range(100, 107), holds))
    found = plan(state, [wanting(2, 1)], policy, now_ms=0, seed=0, reservations=[place])
    assert [one.job for one in found.placed] == [2]


def test_lifting_is_undone_with_all_that_came_after_it() -> None:
    hold = Hold(1, RUNNING[1].slices, queue=TRAINING, team=1)
    state = ClusterState.build(one_node([], (hold,)))
    quotas = Quotas(state, policy_with(100_000, 0, 0))

    def held() -> int:
        return sum(miss.held_milli for miss in quotas.exceeded())

    assert held() == 2000
    mark = quotas.checkpoint()
    quotas.lift(1)
    quotas.lift(1)
    assert held() == 0
    quotas.roll_back(mark)
    assert held() == 2000
    quotas.lift(1)
    assert held() == 0

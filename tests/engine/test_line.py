"""Estimates behind the jobs that are served earlier: as if every start and end were played through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduling.engine.ends import Ends, Release
from scheduling.engine.holders import Holder, holder_of
from scheduling.engine.ledger import Ledger
from scheduling.engine.line import MOST_AHEAD, MOST_REQUESTS, Ahead, LineEstimate, estimate_in_line
from scheduling.engine.ordering import in_service_order
from scheduling.engine.plan import Planner, plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    DeviceInfo,
    EnginePolicy,
    Hold,
    Holding,
    NodeInfo,
    PendingJob,
    Placed,
    Request,
    TeamCap,
)
from tests.engine.build import A100, POLICY, device, job, node
from tests.engine.profiles import property_test
from tests.engine.random_clusters import random_caps, random_jobs, random_nodes
from tests.engine.test_estimate import WHOLE, booked, whole
from tests.engine.test_quota import capped, queue

ONE = Request(devices=1)
FULL = ClusterState.build([node(1, [device(1, **WHOLE)])])
ENDS = [Release(1000, 1, whole(1))]


def in_line(
    state: ClusterState, releases: Sequence[Release], ahead: Sequence[Ahead], request: Request = ONE
) -> LineEstimate | None:
    return estimate_in_line(state, job(99, request), POLICY, releases, now_ms=100, ahead=ahead)


def test_jobs_for_one_device_start_one_after_the_other() -> None:
    ahead = [Ahead(job(n, ONE), 500) for n in (1, 2, 3)]
    found = [in_line(FULL, ENDS, ahead[:count]) for count in range(4)]
    assert found == [
        LineEstimate(1000, 1, (0,), (), is_earliest=False),
        LineEstimate(1500, 1, (0,), (0,), is_earliest=False),
        LineEstimate(2000, 1, (0,), (0, 1), is_earliest=False),
        LineEstimate(2500, 1, (0,), (0, 1, 2), is_earliest=False),
    ]


def test_who_does_not_fit_is_passed_over_and_who_never_fits_is_not_waited_for() -> None:
    cluster = ClusterState.build([node(1, [device(1, **WHOLE), device(2, **WHOLE)])])
    releases = [Release(1000, 1, whole(1)), Release(5000, 1, whole(2))]
    wide, huge = Ahead(job(1, Request(devices=2)), 500), Ahead(job(2, Request(devices=3)), 500)
    assert in_line(cluster, releases, [wide, huge]) == LineEstimate(1000, 1, (0,), (), is_earliest=False)
    assert in_line(cluster, releases[:0], [wide]) is None


def test_a_line_that_is_not_counted_to_its_end_gives_the_earliest_start() -> None:
    unknown = in_line(FULL, ENDS, [Ahead(job(1, ONE), None), Ahead(job(2, ONE), 500)])
    assert unknown == LineEstimate(1500, 1, (0,), (1,), is_earliest=True)
    long = in_line(FULL, ENDS, [Ahead(job(n, ONE), 10) for n in range(MOST_AHEAD + 5)])
    assert long is not None
    assert (long.at_ms, long.is_earliest) == (1000 + 10 * MOST_AHEAD, True)
    many = [Ahead(job(n, replace(ONE, cores=n)), 10) for n in range(1, MOST_REQUESTS + 2)]
    several = in_line(FULL, ENDS, many)
    assert several is not None
    assert (several.at_ms, several.is_earliest) == (1000 + 10 * MOST_REQUESTS, True)


def test_what_is_free_now_goes_to_who_comes_first() -> None:
    free = ClusterState.build([node(1, [device(1)])])
    assert in_line(free, (), [Ahead(job(1, ONE), 500)]) == LineEstimate(600, 1, (), (0,), is_earliest=False)
    assert in_line(free, (), ()) == LineEstimate(100, 1, (), (), is_earliest=False)


ONE_FREE = ClusterState.build([node(1, [device(1), device(2, **WHOLE)])])


def test_who_a_cap_holds_waits_while_others_pass_by() -> None:
    policy = capped(
        queue(1, 0, devices_booked_milli=1000, holdings=(Holding(1, 0, A100, 1000),)), queue(2, None)
    )
    held, mine = Ahead(job(1, ONE, queue=1), 500), job(99, Request(devices=2))
    release = Release(9000, 1, whole(2))
    found = estimate_in_line(ONE_FREE, mine, policy, [release], now_ms=100, ahead=[held])
    assert found == LineEstimate(9000, 1, (0,), (), is_earliest=False)
    # What ends may be what held it back.
    given_back = [replace(release, holder=Holder(1, 1, 0))]
    found = estimate_in_line(ONE_FREE, mine, policy, given_back, now_ms=100, ahead=[held])
    assert found == LineEstimate(9500, 1, (0,), (0,), is_earliest=False)


def test_what_the_line_starts_and_ends_counts_under_caps() -> None:
    policy = capped(queue(1, None, team_caps=(TeamCap(1, None, 1000),)), queue(2, None))
    ahead = [Ahead(job(n, ONE, queue=1), 10_000) for n in (1, 2)]
    releases = [Release(5000, 1, whole(2))]
    other = job(99, ONE, queue=2, team=2)
    found = estimate_in_line(ONE_FREE, other, policy, releases, now_ms=0, ahead=ahead)
    assert found == LineEstimate(5000, 1, (0,), (), is_earliest=False)
    # Of the same team it waits for both, although there is a free device all the time.
    same = job(99, ONE, queue=1)
    found = estimate_in_line(ONE_FREE, same, policy, releases, now_ms=0, ahead=ahead)
    assert found is not None and (found.at_ms, found.started) == (20_000, (0, 1))


def test_caps_on_cores_count_in_a_line() -> None:
    policy = capped(queue(1, 500_000), queue(2, None))
    free = ClusterState.build([node(1)])
    ahead = [Ahead(job(1, Request(cores=8), queue=1), 700)]
    found = estimate_in_line(free, job(99, Request(cores=1), queue=1), policy, (), now_ms=0, ahead=ahead)
    assert found == LineEstimate(700, 1, (), (0,), is_earliest=False)


FOUR = [device(n, **WHOLE) for n in (1, 2, 3, 4)]
KEPT = Hold(99, (*whole(1), *whole(2)), host_memory_mib=3000, read_bandwidth_mib_s=300)
LEAVING = [Release(1000, 1, (*whole(1), *whole(2)), host_memory_mib=3000), Release(9000, 1, whole(3))]


def test_what_is_kept_for_a_job_is_its_own_once_it_comes_free() -> None:
    """The place that it takes over, while those who have it leave."""
    cluster = ClusterState.build([node(1, FOUR, memory_booked_mib=3000, memory_mib=4000, holds=(KEPT,))])
    found = in_line(cluster, LEAVING, (), Request(devices=2, host_memory_mib=3500))
    assert found is not None and (found.at_ms, found.releases) == (1000, (0,))
    other = estimate_in_line(cluster, job(1, ONE), POLICY, LEAVING, now_ms=100, ahead=())
    assert other is not None and (other.at_ms, other.releases) == (9000, (1,))


def test_what_was_kept_for_a_job_of_the_line_is_given_back_when_that_ends() -> None:
    cluster = ClusterState.build([node(1, FOUR, holds=(replace(KEPT, job=1),))])
    ahead = [Ahead(job(1, Request(devices=2)), 500)]
    found = in_line(cluster, LEAVING, ahead, Request(devices=2))
    assert found is not None and (found.at_ms, found.started) == (1500, (0,))


@property_test
@given(st.integers(0, 2**32))
def test_a_hold_keeps_after_some_ends_what_it_would_keep_in_a_state_of_then(seed: int) -> None:
    rng = Random(seed)
    nodes = [
        replace(info, measured_mw=None, devices=tuple(plainly_booked(d) for d in info.devices))
        for info in random_nodes(seed)[:3]
    ]
    running = [replace(j, job=500 + j.job) for j in random_jobs(seed, most=6)]
    free = [replace(info, holds=()) for info in nodes]
    placed = plan(ClusterState.build(free), running, POLICY, now_ms=0, seed=0).placed
    releases = [release_of(one, 1, Holder(1, 1, 0)) for one in placed]
    full = [booked(info, [r for r in releases if r.node == info.node], 1) for info in nodes]
    over = [place for place in range(len(releases)) if rng.random() < 0.6]
    after = Ends(ClusterState.build(full), releases).after(np.array(over, dtype=np.int64))
    left = [r for place, r in enumerate(releases) if place not in over]
    then = Ledger(
        ClusterState.build([booked(info, [r for r in left if r.node == info.node], 1) for info in nodes])
    )
    for job_number in (None, *sorted(then.holds)):
        if job_number is not None:
            after.free_for(job_number)
            then.free_for(job_number)
        pairs = [(after.device.free, then.device.free), (after.device.compute_free, then.device.compute_free)]
        pairs += [(after.node.host_free, then.node.host_free)]
        pairs += [(after.node.read_bandwidth, then.node.read_bandwidth)]
        assert np.array_equal(after.cpu.free, then.cpu.free)
        assert all(np.array_equal(mine, theirs) for mine, theirs in pairs)


@property_test
@given(st.integers(0, 2**32))
def test_it_is_as_if_every_start_and_end_were_played_through(seed: int) -> None:
    rng = Random(seed)
    policy = random_caps(rng, POLICY)
    nodes = [
        replace(
            info,
            measured_mw=None,
            holds=(),
            devices=tuple(plainly_booked(d) for d in info.devices),
        )
        for info in random_nodes(seed)[:3]
    ]
    running = [replace(j, job=500 + j.job) for j in random_jobs(seed, most=6)]
    placed = plan(ClusterState.build(nodes), running, POLICY, now_ms=0, seed=0).placed
    owners = {one.job: holder_of(one) for one in running}
    releases = [release_of(one, rng.choice((1, 5, 5, 9)), owners[one.job]) for one in placed]
    full = [booked(info, [r for r in releases if r.node == info.node], 1) for info in nodes]
    jobs = in_service_order(random_jobs(seed + 7, most=6), policy)
    runs_ms = {one.job: rng.choice((1, 3, 4)) for one in jobs}
    ahead = [Ahead(one, runs_ms[one.job]) for one in jobs[:-1]]
    state = ClusterState.build(full)
    found = estimate_in_line(
        state, jobs[-1], holding(policy, releases, full), releases, now_ms=0, ahead=ahead
    )
    if found is None or not found.is_earliest:
        expected = played(full, jobs, runs_ms, releases, policy)
        assert (found and (found.at_ms, found.node)) == expected


def plainly_booked(card: DeviceInfo) -> DeviceInfo:
    """Memory that is booked without compute counts as 1 milli, which would make sums of bookings differ by it."""
    booked_milli = card.compute_booked_milli or int(card.memory_booked_mib > 0)
    return replace(card, memory_used_mib=None, compute_booked_milli=booked_milli)


def holding(policy: EnginePolicy, running: Sequence[Release], nodes: Sequence[NodeInfo]) -> EnginePolicy:
    """The policy with what these placements hold."""
    models = {d.device: d.model for info in nodes for d in info.devices}
    queues = []
    for one in policy.queues:
        mine = [(r, r.holder) for r in running if r.holder is not None and r.holder.queue == one.queue]
        parts = [
            Holding(who.team, who.owner, models[s.device], s.compute_milli)
            for r, who in mine
            for s in r.slices
        ]
        cores = sum(1000 * len(r.cpus) for r, _ in mine if not r.slices)
        devices = sum(part.device_milli for part in parts)
        queues.append(
            replace(one, holdings=tuple(parts), devices_booked_milli=devices, cores_booked_milli=cores)
        )
    return replace(policy, queues=tuple(queues))


def played(
    nodes: Sequence[NodeInfo],
    jobs: Sequence[PendingJob],
    runs_ms: dict[int, int],
    ends: Sequence[Release],
    policy: EnginePolicy,
) -> tuple[int, int] | None:
    """Moment by moment; each plan is made for the cluster as it then is."""
    waiting, left, now_ms = list(jobs), list(ends), 0
    owners = {one.job: holder_of(one) for one in jobs}
    while True:
        over = [r for r in left if r.at_ms <= now_ms]
        left = [r for r in left if r.at_ms > now_ms]
        nodes = [booked(info, [r for r in over if r.node == info.node], -1) for info in nodes]
        state, held = ClusterState.build(nodes), holding(policy, left, nodes)
        placed = Planner(state, held, ()).run(waiting, None).placed
        for one in placed:
            if one.job == jobs[-1].job:
                return now_ms, one.node
        started = [release_of(one, now_ms + runs_ms[one.job], owners[one.job]) for one in placed]
        nodes = [booked(info, [r for r in started if r.node == info.node], 1) for info in nodes]
        left += started
        waiting = [one for one in waiting if one.job not in {p.job for p in placed}]
        if not left:
            return None
        now_ms = min(r.at_ms for r in left)


def release_of(one: Placed, at_ms: int, holder: Holder) -> Release:
    return Release(
        at_ms, one.node, one.slices, one.cpus, one.host_memory_mib, one.read_bandwidth_mib_s, holder
    )

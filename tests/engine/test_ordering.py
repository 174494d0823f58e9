"""The order of service: total, written, and fair between the teams of a queue."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.engine.fairshare import Usage, Whole, decayed, dominant_share_ppm
from scheduling.engine.ordering import Precedence, ServiceOrder, in_service_order
from scheduling.engine.types import EnginePolicy, Patience, PendingJob, Request, TeamShare
from tests.engine.build import POLICY, job
from tests.engine.profiles import property_test

HOUR_MS = 3_600_000
ONE = Request(devices=1)


def with_shares(**shares_ppm: int) -> EnginePolicy:
    """Teams t1, t2 .. of the training queue have had so much."""
    shares = tuple(TeamShare(int(name[1:]), ppm) for name, ppm in shares_ppm.items())
    queues = [replace(q, team_shares=shares if q.queue == 2 else ()) for q in POLICY.queues]
    return replace(POLICY, queues=tuple(queues))


def line(jobs: list[PendingJob], policy: EnginePolicy) -> list[int]:
    """The numbers in order of service, whatever order they came in."""
    found = {tuple(one.job for one in in_service_order(some, policy)) for some in permutations(jobs)}
    assert len(found) == 1, "the order is total"
    return list(found.pop())


def test_priority_then_fair_share_then_age_then_number() -> None:
    policy = with_shares(t1=300_000, t2=100_000)
    jobs = [
        job(1, ONE, team=1, submitted_at_ms=0),
        job(2, ONE, team=1, submitted_at_ms=5, priority=3),
        job(3, ONE, team=2, submitted_at_ms=9),
        job(4, ONE, team=2, submitted_at_ms=9),
        job(5, ONE, team=3, submitted_at_ms=20),
        job(6, ONE, queue=9),
    ]
    assert line(jobs, policy) == [2, 5, 3, 4, 1, 6]


def test_what_parts_two_jobs_is_the_first_thing_that_differs() -> None:
    policy = with_shares(t1=300_000)
    order, mine = ServiceOrder(policy), job(5, ONE, team=1, submitted_at_ms=50)
    others = {
        Precedence.UNKNOWN_QUEUE: replace(mine, queue=9),
        Precedence.QUEUE_PRIORITY: replace(mine, queue=1),
        Precedence.PRIORITY: replace(mine, priority=1, team=2),
        Precedence.FAIR_SHARE: replace(mine, team=2, submitted_at_ms=99),
        Precedence.AGE: replace(mine, job=3, submitted_at_ms=4),
        Precedence.NUMBER: replace(mine, job=3),
    }
    assert {code: order.what_parts(other, mine) for code, other in others.items()} == {c: c for c in others}


def test_shares_that_differ_by_nearly_nothing_leave_it_to_age() -> None:
    jobs = [job(1, ONE, team=1), job(2, ONE, team=2)]
    assert line(jobs, with_shares(t1=100_900, t2=100_100)) == [1, 2]
    assert line(jobs, with_shares(t1=101_000, t2=100_900)) == [2, 1]


def test_what_a_team_had_in_one_queue_says_nothing_in_another() -> None:
    policy = with_shares(t1=900_000)
    jobs = [job(1, ONE, queue=3, team=1), job(2, ONE, queue=3, team=2)]
    assert line(jobs, policy) == [1, 2]


def test_a_long_job_lets_the_short_ones_of_its_patience_pass() -> None:
    """Ten hours for each hour that it should run, at most two days; who is unknown counts as an hour."""
    policy = replace(POLICY, patience=Patience(10, 48 * HOUR_MS, HOUR_MS))
    jobs = [
        job(1, ONE, submitted_at_ms=0, runs_ms=2 * HOUR_MS),
        job(2, ONE, submitted_at_ms=0, runs_ms=900 * HOUR_MS),
        job(3, ONE, submitted_at_ms=9 * HOUR_MS),
        job(4, ONE, submitted_at_ms=20 * HOUR_MS, runs_ms=0),
        job(5, ONE, submitted_at_ms=20 * HOUR_MS + 1, runs_ms=0),
        job(6, ONE, submitted_at_ms=49 * HOUR_MS, runs_ms=0, priority=-1),
        job(7, ONE, submitted_at_ms=49 * HOUR_MS, runs_ms=0),
    ]
    assert line(jobs, policy) == [3, 1, 4, 5, 2, 7, 6]
    order, (long, short) = ServiceOrder(policy), (jobs[0], jobs[2])
    assert order.what_parts(short, long) is Precedence.RUN_TIME
    assert order.what_parts(long, jobs[4]) is Precedence.AGE
    assert order.what_parts(long, jobs[3]) is Precedence.NUMBER


@property_test
@given(
    st.integers(0, 1000),
    st.integers(0, 10**9),
    st.lists(st.tuples(st.integers(0, 10**9), st.none() | st.integers(0, 10**12)), min_size=2, max_size=6),
)
def test_nobody_is_passed_by_who_comes_later_than_the_longest_patience(
    times: int, most_ms: int, given: list[tuple[int, int | None]]
) -> None:
    policy = replace(POLICY, patience=Patience(times, most_ms, HOUR_MS))
    jobs = [job(n, ONE, submitted_at_ms=at, runs_ms=runs) for n, (at, runs) in enumerate(given)]
    order = in_service_order(jobs, policy)
    for place, late in enumerate(order):
        assert all(late.submitted_at_ms <= early.submitted_at_ms + most_ms for early in order[place + 1 :])


def test_half_of_the_use_is_left_after_a_half_life() -> None:
    assert decayed(1 << 40, HOUR_MS, half_life_ms=HOUR_MS) == 1 << 39
    assert decayed(1000, 0, half_life_ms=HOUR_MS) == 1000
    assert decayed(1000, -5, half_life_ms=HOUR_MS) == 1000
    assert decayed(1 << 60, 10**15, half_life_ms=1) == 0
    assert decayed(1_000_000, HOUR_MS // 2, half_life_ms=HOUR_MS) == pytest.approx(707_106, abs=2)
    with pytest.raises(ValueError, match="half_life_ms"):
        decayed(1, 1, half_life_ms=0)


@property_test
@given(st.integers(0, 2**62), st.integers(0, 10**10), st.integers(0, 10**10), st.integers(1, 10**10))
def test_decay_never_grows_and_comes_in_any_steps(amount: int, first: int, second: int, half: int) -> None:
    at_once = decayed(amount, first + second, half_life_ms=half)
    in_steps = decayed(decayed(amount, first, half_life_ms=half), second, half_life_ms=half)
    assert at_once <= 1 + decayed(amount, first, half_life_ms=half) <= 1 + amount
    assert abs(at_once - in_steps) <= 2 + amount // 200_000


def test_a_steady_quarter_reads_as_a_quarter_of_whatever_dominates() -> None:
    whole, half, used = Whole(device_milli=8000, core_milli=64_000), 24 * HOUR_MS, Usage()
    for _minute in range(60 * 24 * 14):
        used = used.decayed(60_000, half_life_ms=half).plus(Usage(2000 * 60_000, 8000 * 60_000))
    assert dominant_share_ppm(used, whole, half_life_ms=half) == pytest.approx(250_000, rel=0.01)
    on_cores = Usage(0, used.device_milli_ms)
    assert dominant_share_ppm(on_cores, whole, half_life_ms=half) == pytest.approx(31_250, rel=0.01)
    assert dominant_share_ppm(on_cores, Whole(8000, 0), half_life_ms=half) == 0

"""Leases under concurrency: one holder, growing tokens, no lost wake, no write of a holder that lost it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controlplane.base import locks
from controlplane.base.locks import LeaseLost
from controlplane.base.models import Lease, Wake

pytestmark = pytest.mark.django_db(transaction=True)
TTL_S = 30


def taken(holder: str, *, ttl_s: float = TTL_S) -> locks.LeaseToken:
    lease = locks.take_lease("x", holder=holder, ttl_s=ttl_s)
    assert lease is not None
    return lease


def expire(name: str) -> None:
    Lease.objects.filter(name=name).update(expires_at="2000-01-01T00:00:00Z")


def in_threads(count: int, work: Callable[[int], object]) -> list:
    """Run `work` in parallel threads, each with a connection of its own, all starting together."""
    barrier = threading.Barrier(count)

    def run(number: int) -> object:
        try:
            barrier.wait(10)
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_one_holder_at_a_time() -> None:
    first = locks.take_lease("x", holder="a", ttl_s=TTL_S)
    assert first is not None
    assert locks.take_lease("x", holder="b", ttl_s=TTL_S) is None
    locks.release(first)
    second = locks.take_lease("x", holder="b", ttl_s=TTL_S)
    assert second is not None and second.token > first.token


def test_an_expired_lease_is_taken_over_and_the_old_holder_fenced_off() -> None:
    old = taken("a")
    expire("x")
    new = taken("b")
    with pytest.raises(LeaseLost), transaction.atomic():
        locks.fence_check("x", old.token)
    with pytest.raises(LeaseLost):
        locks.renew(old, ttl_s=TTL_S)
    locks.release(old)
    with transaction.atomic():
        locks.fence_check("x", new.token)


def test_an_expired_lease_does_not_fence_even_when_nobody_took_it() -> None:
    lease = taken("a")
    expire("x")
    with pytest.raises(LeaseLost), transaction.atomic():
        locks.fence_check("x", lease.token)


def test_fence_check_needs_a_transaction() -> None:
    with pytest.raises(transaction.TransactionManagementError):
        locks.fence_check("x", 1)


def test_nobody_takes_the_lease_while_an_apply_is_open() -> None:
    """A take-over waits for the transaction that passed the fence, even when the lease expires inside of it."""
    lease = taken("a", ttl_s=0.2)
    order: list[str] = []

    def take(_number: int) -> None:
        while locks.take_lease("x", holder="b", ttl_s=TTL_S) is None:
            pass
        order.append("taken")

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            locks.fence_check("x", lease.token)
            waiting = pool.submit(in_threads, 1, take)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(0.5)")
            order.append("applied")
        waiting.result(10)
    assert order == ["applied", "taken"]


def test_a_waker_does_not_wait_for_an_open_apply() -> None:
    lease = taken("a")
    with transaction.atomic():
        locks.fence_check("x", lease.token)
        assert in_threads(1, lambda _n: locks.bump_wake("x")) == [1]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contenders=st.integers(2, 8), expired=st.booleans(), exists=st.booleans())
def test_of_many_exactly_one_gets_it(contenders: int, expired: bool, exists: bool) -> None:
    Lease.objects.all().delete()
    if exists:
        lease = taken("before")
        expire("x") if expired else locks.release(lease)
    got = in_threads(contenders, lambda n: locks.take_lease("x", holder=str(n), ttl_s=TTL_S))
    winners = [lease for lease in got if lease is not None]
    assert len(winners) == 1
    assert winners[0].token == (2 if exists else 1)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(workers=st.integers(2, 6), wakes=st.integers(1, 6))
def test_no_wake_is_lost_and_no_two_work_at_once(workers: int, wakes: int) -> None:
    """Each worker wakes and then tries; whatever was wanted before a wake has been seen by some run after it."""
    Lease.objects.all().delete()
    Wake.objects.all().delete()
    wanted, seen, inside, overlaps = [0], [0], threading.Lock(), []

    def work(_lease: locks.LeaseToken) -> None:
        if not inside.acquire(blocking=False):
            overlaps.append(1)
            return
        try:
            seen[0] = wanted[0]
        finally:
            inside.release()

    guard = threading.Lock()

    def wake_and_try(number: int) -> None:
        for _ in range(wakes):
            with guard:
                wanted[0] += 1
            locks.bump_wake("x")
            locks.work_under_lease("x", holder=str(number), ttl_s=TTL_S, work=work)

    in_threads(workers, wake_and_try)
    assert not overlaps
    assert seen[0] == wanted[0] == workers * wakes


def test_a_wake_during_the_work_causes_another_run() -> None:
    runs: list[int] = []

    def work(_lease: locks.LeaseToken) -> None:
        runs.append(1)
        if len(runs) < 3:
            locks.bump_wake("x")

    assert locks.work_under_lease("x", holder="a", ttl_s=TTL_S, work=work) == 3
    assert locks.work_under_lease("x", holder="a", ttl_s=TTL_S, work=work) == 1


def test_the_lease_is_given_back_when_the_work_fails() -> None:
    def work(_lease: locks.LeaseToken) -> None:
        raise ValueError

    with pytest.raises(ValueError):
        locks.work_under_lease("x", holder="a", ttl_s=TTL_S, work=work)
    assert locks.take_lease("x", holder="b", ttl_s=TTL_S) is not None

"""Named leases in the database: one holder at a time, a fencing token that only grows, wakes that are never lost.

All times are of the database server, so that the clocks of the holders do not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db import connection, transaction

# The lease of the scheduling cycle: cycles hold it, pauses lock its row, wakes are counted under its name.
CYCLE_LEASE = "cycle"

TAKE = """
INSERT INTO base_lease (name, token, holder, expires_at)
VALUES (%(name)s, 1, %(holder)s, clock_timestamp() + make_interval(secs => %(ttl_s)s))
ON CONFLICT (name) DO UPDATE
SET token = base_lease.token + 1, holder = excluded.holder,
    expires_at = clock_timestamp() + make_interval(secs => %(ttl_s)s)
WHERE base_lease.expires_at IS NULL OR base_lease.expires_at <= clock_timestamp()
RETURNING token
"""
RENEW = """
UPDATE base_lease SET expires_at = clock_timestamp() + make_interval(secs => %(ttl_s)s)
WHERE name = %(name)s AND token = %(token)s AND expires_at > clock_timestamp()
"""
RELEASE = "UPDATE base_lease SET expires_at = NULL, holder = '' WHERE name = %(name)s AND token = %(token)s"
FENCE = """
SELECT 1 FROM base_lease WHERE name = %(name)s AND token = %(token)s AND expires_at > clock_timestamp() FOR SHARE
"""
EXIST = "INSERT INTO base_lease (name, token, holder) VALUES (%(name)s, 0, '') ON CONFLICT (name) DO NOTHING"
LOCK = "SELECT 1 FROM base_lease WHERE name = %(name)s FOR UPDATE"
# Wakes have a table of their own: a waker must not wait for a transaction that holds the lease's row by `fence_check`.
WAKE = """
INSERT INTO base_wake (name, seq) VALUES (%(name)s, 1)
ON CONFLICT (name) DO UPDATE SET seq = base_wake.seq + 1 RETURNING seq
"""


class LeaseLost(Exception):
    """The lease expired or another holder has it: whatever was about to be written must not be."""


@dataclass(frozen=True, slots=True)
class LeaseToken:
    """Proof of holding the lease `name`; `token` is larger than every token given before."""

    name: str
    token: int
    holder: str


def take_lease(name: str, *, holder: str, ttl_s: float) -> LeaseToken | None:
    """The lease, or None while another holder has it. Call outside of a transaction."""
    row = _one(TAKE, name=name, holder=holder, ttl_s=ttl_s)
    return LeaseToken(name=name, token=row[0], holder=holder) if row else None


def renew(lease: LeaseToken, *, ttl_s: float) -> None:
    """Prolong a lease that is still ours; LeaseLost when it is not."""
    with connection.cursor() as cursor:
        cursor.execute(RENEW, {"name": lease.name, "token": lease.token, "ttl_s": ttl_s})
        if cursor.rowcount != 1:
            raise LeaseLost(lease.name)


def release(lease: LeaseToken) -> None:
    """Give the lease back; harmless when it is no longer ours."""
    with connection.cursor() as cursor:
        cursor.execute(RELEASE, {"name": lease.name, "token": lease.token})


def fence_check(name: str, token: int) -> None:
    """Inside an apply transaction: nobody can take the lease until it ends; LeaseLost when it is not ours any more."""
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("fence_check needs a transaction")
    if _one(FENCE, name=name, token=token) is None:
        raise LeaseLost(name)


def lock_out(name: str) -> None:
    """Inside a transaction: wait for every `fence_check` of this lease, and keep others waiting until it ends."""
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("lock_out needs a transaction")
    with connection.cursor() as cursor:
        cursor.execute(EXIST, {"name": name})
        cursor.execute(LOCK, {"name": name})


def bump_wake(name: str) -> int:
    """Say that there is work for the holder of `name`; returns the new sequence number."""
    row = _one(WAKE, name=name)
    assert row is not None
    return int(row[0])


def wake_seq(name: str) -> int:
    """The sequence number of the last wake, 0 when there never was one."""
    row = _one("SELECT seq FROM base_wake WHERE name = %(name)s", name=name)
    return int(row[0]) if row else 0


def work_under_lease(name: str, *, holder: str, ttl_s: float, work: Callable[[LeaseToken], None]) -> int:
    """Run `work` under the lease until no wake is left unseen; the number of runs, 0 when another holder has the lease.

    A waker bumps first and tries second. If it found the lease taken, its bump is older than our release, so the look
    after the release sees it.
    """
    runs = 0
    seen = -1
    while wake_seq(name) != seen:
        lease = take_lease(name, holder=holder, ttl_s=ttl_s)
        if lease is None:
            return runs
        try:
            seen, runs = _work_until_quiet(lease, ttl_s=ttl_s, work=work, runs=runs)
        finally:
            release(lease)
    return runs


def _work_until_quiet(
    lease: LeaseToken, *, ttl_s: float, work: Callable[[LeaseToken], None], runs: int
) -> tuple[int, int]:
    while True:
        seen = wake_seq(lease.name)
        work(lease)
        runs += 1
        if wake_seq(lease.name) == seen:
            return seen, runs
        renew(lease, ttl_s=ttl_s)


def _one(sql: str, **params: str | float) -> tuple[int, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        row: tuple[int, ...] | None = cursor.fetchone()
        return row

"""What all others left is lent: to gangs as a whole or not at all, and what a failed try took is there for the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import CapKind, PendingJob, Plan, QueueInfo, ReasonCode, Request, TeamCap
from tests.engine.build import POLICY, device, job, node

OWN, LENT = 1, 2
WHOLE = Request(devices=1)


def queues(team_caps: tuple[TeamCap, ...] = ()) -> tuple[QueueInfo, QueueInfo]:
    """One without a cap, and one that holds its part already, so that no job starts by the rule of the empty queue."""
    owner = QueueInfo(OWN, "training", 70, None, preemptable=False)
    borrower = QueueInfo(LENT, "offline", 30, 250_000, preemptable=True, borrow=True, team_caps=team_caps)
    return owner, replace(borrower, devices_booked_milli=1000)


HOLDS_ONE = queues()


def decide(cards: int, jobs: Sequence[PendingJob], line: tuple[QueueInfo, ...]) -> Plan:
    """On one node per card."""
    state = ClusterState.build([node(n, [device(100 * n)]) for n in range(1, cards + 1)])
    return plan(state, jobs, replace(POLICY, queues=line, capped=True), now_ms=0, seed=0)


def starts(found: Plan) -> list[tuple[int, int, bool]]:
    return [(one.job, one.replica, one.borrowed) for one in found.placed]


def test_a_gang_that_its_cap_refused_is_lent_all_its_places() -> None:
    gang = job(1, WHOLE, queue=LENT, replicas=3)
    found = decide(4, [gang, job(2, WHOLE, queue=OWN)], HOLDS_ONE)
    assert starts(found) == [(2, 0, False), (1, 0, True), (1, 1, True), (1, 2, True)]
    assert found.refused == ()


def test_a_gang_for_which_too_little_is_left_takes_nothing_from_the_next_borrower() -> None:
    gang, single = job(1, WHOLE, queue=LENT, replicas=3), job(3, WHOLE, queue=LENT)
    found = decide(3, [gang, single, job(2, WHOLE, queue=OWN)], HOLDS_ONE)
    assert starts(found) == [(2, 0, False), (3, 0, True)]
    (waits,) = found.refused
    assert (waits.job, waits.code, waits.near[0].needed, waits.near[0].available) == (
        1,
        ReasonCode.GANG,
        3,
        1,
    )


def test_a_gang_borrows_beyond_its_queue_but_not_beyond_its_team() -> None:
    team = TeamCap(team=7, model=None, quota_milli=2000)
    line = queues(team_caps=(team,))
    gang, pair = (replace(job(n, WHOLE, queue=LENT, replicas=r), team=7) for n, r in ((1, 3), (2, 2)))
    found = decide(4, [gang, pair], line)
    assert starts(found) == [(2, 0, True), (2, 1, True)]
    (waits,) = found.refused
    assert (waits.job, waits.code) == (1, ReasonCode.TEAM_QUOTA)
    assert waits.cap is not None and (waits.cap.kind, waits.cap.asked_milli) == (CapKind.TEAM, 3000)

"""What a session keeps between plans, what it drops, and what its counters say."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scheduling.engine.ledger import Ledger
from scheduling.engine.ordering import expected_shapes
from scheduling.engine.plan import Planner
from scheduling.engine.session import PlanningSession
from scheduling.engine.state import ClusterState
from scheduling.engine.types import EnginePolicy, ExpectedShape, PendingJob, Request
from tests.engine.build import POLICY, device, job, node

NODES = [node(n, [device(10 * n + i) for i in range(4)]) for n in range(1, 21)]
EXPECTED = (ExpectedShape(Request(devices=4), 1),)


def run(
    session: PlanningSession, state: ClusterState, *jobs: PendingJob, policy: EnginePolicy = POLICY
) -> None:
    session.plan(state, jobs, policy, now_ms=0, seed=0, expected=EXPECTED)


def test_only_nodes_that_differ_are_computed_again() -> None:
    session, state = PlanningSession(), ClusterState.build(NODES)
    run(session, state, job(1, Request(devices=2)))
    assert (session.counters.hits, session.counters.misses, session.counters.lines_renewed) == (0, 1, 20)
    run(session, state, job(2, Request(devices=2)))
    # The node that the first plan had used is free again.
    assert (session.counters.hits, session.counters.lines_renewed) == (1, 21)
    state.update(replace(NODES[4], images=("x",)))
    run(session, state, job(3, Request(devices=2)))
    assert (session.counters.hits, session.counters.lines_renewed) == (2, 23)
    # A state that was read anew but says the same is no other.
    again = ClusterState.build([replace(info) for info in state.infos])
    run(session, again, job(4, Request(devices=2)))
    assert (session.counters.hits, session.counters.lines_renewed) == (3, 24)
    assert session.counters.misses == 1
    assert session.counters.lines_kept == 3 * 20 - 4


def test_another_policy_or_other_nodes_start_anew() -> None:
    session, state = PlanningSession(), ClusterState.build(NODES)
    run(session, state, job(1, Request(devices=2)))
    run(session, state, job(1, Request(devices=2)), policy=replace(POLICY, precheck_num=1, precheck_den=1))
    state.remove(7)
    run(session, state, job(1, Request(devices=2)), policy=replace(POLICY, precheck_num=1, precheck_den=1))
    assert (session.counters.hits, session.counters.misses) == (0, 3)


def test_what_is_kept_serves_plans_with_and_without_caps_promises_and_takeovers() -> None:
    session, state = PlanningSession(), ClusterState.build(NODES)
    changes: Sequence[dict[str, Any]] = (
        {},
        {"capped": True},
        {"preempts": True},
        {"reserve_after_ms": 0},
        {"lending": False},
    )
    for changed in changes:
        run(session, state, job(1, Request(devices=2)), policy=replace(POLICY, **changed))
    assert (session.counters.hits, session.counters.misses) == (len(changes) - 1, 1)


def test_more_boards_than_fit_into_memory_are_made_again() -> None:
    state = ClusterState.build(NODES)
    jobs = [job(n, Request(devices=1 + n % 3)) for n in range(1, 13)]
    kept, bounded = (Planner(state, POLICY, expected_shapes(EXPECTED, jobs, POLICY)) for _ in range(2))
    bounded.boards = type(bounded.boards)(bounded.ledger, bounded._scale, most_bytes=1)
    assert bounded.run(jobs, None) == kept.run(jobs, None)
    assert (kept.boards.counters.misses, bounded.boards.counters.misses) == (3, 12)


def test_a_session_leaves_the_state_alone() -> None:
    session, state = PlanningSession(), ClusterState.build(NODES)
    before = Ledger(state).device.compute_free.copy()
    run(session, state, *(job(n, Request(devices=4)) for n in range(1, 9)))
    assert (state.device.compute_free == before).all()

"""Plans one after the other over a cluster that changes little: what was computed for nodes that did not change is
kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scheduling.engine.boards import CacheCounters
from scheduling.engine.ordering import expected_shapes, in_service_order
from scheduling.engine.planner import Planner
from scheduling.engine.preemption import Outlook
from scheduling.engine.reservations import serve
from scheduling.engine.rooms import Expected
from scheduling.engine.state import ClusterState
from scheduling.engine.types import EnginePolicy, ExpectedShape, PendingJob, Plan, Reservation, Running

_Key = tuple[EnginePolicy, tuple[tuple[object, int], ...]]
# What queues may hold and do hold, and how a call deals with jobs that found no place: both change all the time, and
# nothing that is kept depends on them.
_OF_THE_CALL: Mapping[str, Any] = {
    "queues": (),
    "capped": False,
    "lending": True,
    "reserve_after_ms": None,
    "preempts": False,
    "preempts_unsaved": False,
}
_SHAPES_AT_MOST = 20_000


class PlanningSession:
    """`plan()` with a memory: the same decisions, sooner. Not for two threads at once.

    Kept between plans: per shape and node verdict, devices and scores. Dropped for a node whose facts differ or that
    the last plan changed; dropped wholly when policy, expected jobs, the worth of models or the nodes themselves
    differ. `counters` tell how much that saved since the session began.
    """

    def __init__(self) -> None:
        self.counters = CacheCounters()
        self._planner: Planner | None = None
        self._key: _Key | None = None

    def plan(
        self,
        state: ClusterState,
        jobs: Sequence[PendingJob],
        policy: EnginePolicy,
        *,
        now_ms: int,
        seed: int,
        expected: Sequence[ExpectedShape] = (),
        limit: int | None = None,
        running: Sequence[Running] = (),
        reservations: Sequence[Reservation] = (),
    ) -> Plan:
        """What `plan()` answers for the same arguments."""
        shapes = expected_shapes(expected, jobs, policy)
        planner = self._planner_for(state, policy, shapes)
        outlook = Outlook(now_ms, tuple(running), tuple(reservations))
        found = serve(planner, in_service_order(jobs, policy), limit, outlook)
        self._planner = planner
        return found

    def _planner_for(self, state: ClusterState, policy: EnginePolicy, shapes: Sequence[Expected]) -> Planner:
        """The last planner if it can go on with this state, else a new one; nobody's until its plan is made."""
        key: _Key = (
            replace(policy, **_OF_THE_CALL),
            tuple((shape.demand, shape.weight) for shape in shapes),
        )
        planner, self._planner = self._planner, None
        fits = planner is not None and key == self._key and planner.shapes_known < _SHAPES_AT_MOST
        if planner is None or not fits or not planner.rebase(state, policy):
            planner = Planner(state, policy, shapes)
            planner.boards.counters = self.counters
        self._key = key
        return planner

"""What estimates of a start ask: which nodes take a job, after how many ends, and which of the ends it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine import filters
from scheduling.engine.frame import whole_frame
from scheduling.engine.ledger import Ledger
from scheduling.engine.planner import Planner
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import demand_of
from scheduling.engine.types import EnginePolicy, PendingJob


@dataclass(frozen=True, slots=True)
class Wish:
    """A job and the policy that it would start under."""

    job: PendingJob
    policy: EnginePolicy

    @property
    def of_the_cluster(self) -> bool:
        """Whether more than one node has a say: all replicas start together, and under the cap of all nodes."""
        return self.job.replicas > 1 or self.policy.power_cap_mw is not None

    def takers(self, ledger: Ledger) -> Bools:
        """Nodes that take a replica; none of them when they do not take all together."""
        passed = filters.run(whole_frame(ledger), demand_of(self.job.request, self.policy)).passed()
        if not self.of_the_cluster or not passed.any():
            return passed
        planner = Planner(ledger.state, self.policy, (), ledger=ledger)
        planner.serve(self.job.job)
        taken = np.zeros(len(passed), dtype=np.bool_)
        for placed in planner.would_start(self.job) or ():
            taken[ledger.state.index_of(placed.node)] = True
        return taken


def least(low: int, high: int, has_room: Callable[[int], bool]) -> int | None:
    """How many ends, in order, until there is room; None when all of them are not enough. More room never fits worse,
    so that it can be bisected, in growing steps from the front.
    """
    step = 1
    while not has_room(min(low + step - 1, high)):
        if low + step > high:
            return None
        low, step = low + step, 2 * step
    high = min(low + step - 1, high)
    while low < high:
        middle = (low + high) // 2
        if has_room(middle):
            high = middle
        else:
            low = middle + 1
    return low


def indispensable(places: Iterable[int], has_room: Callable[[Sequence[int]], bool]) -> tuple[int, ...]:
    """Those of these ends (earliest first) that are really needed: each is left out in turn, whole runs of them at
    once where that goes.
    """
    kept = list(places)
    blocks = [kept]
    while blocks:
        block = blocks.pop(0)
        rest = [other for other in kept if other not in block]
        if has_room(rest):
            kept = rest
        elif len(block) > 1:
            blocks[:0] = [block[: len(block) // 2], block[len(block) // 2 :]]
    return tuple(kept)

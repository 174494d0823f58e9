"""When a waiting job could start, judged by the expected ends of the placements that run now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine import filters
from scheduling.engine.ends import Ends
from scheduling.engine.ends import Release as Release
from scheduling.engine.frame import whole_frame
from scheduling.engine.ledger import Ledger
from scheduling.engine.plan import Planner
from scheduling.engine.quantities import Bools, Ints
from scheduling.engine.shapes import demand_of
from scheduling.engine.state import ClusterState
from scheduling.engine.types import EnginePolicy, PendingJob


@dataclass(frozen=True, slots=True)
class Estimate:
    """The job fits on `node` from `at_ms` on, once `after` placements of that node ended: those at the places
    `releases` of the given list, ascending. None of them can be left out.
    """

    at_ms: int
    node: int
    after: int
    releases: tuple[int, ...]


def estimate_start(
    state: ClusterState,
    job: PendingJob,
    policy: EnginePolicy,
    releases: Sequence[Release],
    *,
    now_ms: int,
) -> Estimate | None:
    """The first moment at which some node has room for the job; None when these ends give it room nowhere.

    Only the given ends are counted: nobody else is assumed to take the capacity first, and nothing else to change.
    An end that is overdue counts as now. Ends at one moment happen in order of node id, then in the order given; a
    release of a node, device or core that is not here, or not booked, gives nothing back. A job that fits at once
    gets `now_ms` and the first such node by id. Memory that a placement used beyond its booking is assumed to stay,
    the draw to fall by what ended placements were booked.
    A gang needs room for all its replicas; `node` is then where the last of the room came free. Under a cap on the
    draw of all nodes, ends of other nodes count as well, and `node` is the first that a replica goes to.
    """
    wish = Wish(job, policy)
    ends = Ends(state, releases, job.job)

    def has_room(happened: Sequence[int] | Ints) -> bool:
        return bool(wish.takers(ends.after(np.array(happened, dtype=np.int64))).any())

    needed = least(0, len(ends.order), lambda count: has_room(ends.order[:count]))
    if needed is None:
        return None
    if needed == 0:
        row = int(np.flatnonzero(wish.takers(ends.after(ends.order[:0])))[0])
        return Estimate(now_ms, int(state.node.id[row]), 0, ())
    last = releases[int(ends.order[needed - 1])]
    happened = ends.order[:needed].tolist()
    here = [place for place in happened if releases[place].node == last.node]
    node = last.node
    if not wish.of_the_cluster:
        # Nothing fits elsewhere yet, so that the node can be looked at alone.
        kept = _needed_alone(wish, state, releases, here)
    elif policy.power_cap_mw is None:
        elsewhere = [place for place in happened if releases[place].node != node]
        kept = indispensable(here, lambda some: has_room([*some, *elsewhere]))
    else:
        kept = indispensable(happened, has_room)
        takers = np.flatnonzero(wish.takers(ends.after(ends.order[:needed])))
        node = int(state.node.id[takers[0]])
    return Estimate(max(now_ms, last.at_ms), node, len(kept), tuple(sorted(kept)))


def _needed_alone(
    wish: Wish, state: ClusterState, releases: Sequence[Release], here: Sequence[int]
) -> tuple[int, ...]:
    """The needed ones of these ends, all of one node."""
    alone = ClusterState.build([state.info(releases[here[0]].node)])
    ends = Ends(alone, [releases[place] for place in here], wish.job.job)
    found = indispensable(
        range(len(here)),
        lambda some: bool(wish.takers(ends.after(np.array(some, dtype=np.int64))).any()),
    )
    return tuple(here[place] for place in found)


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

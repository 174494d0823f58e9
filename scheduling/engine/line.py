"""When a waiting job could start behind the jobs that are served before it, each for as long as it should run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduling.engine.allocation import Allocation
from scheduling.engine.ends import Ends, Release
from scheduling.engine.estimate import Wish, indispensable, least
from scheduling.engine.ledger import Ledger
from scheduling.engine.plan import Planner
from scheduling.engine.quantities import Bools
from scheduling.engine.state import ClusterState
from scheduling.engine.types import EnginePolicy, PendingJob, Placed, Request

# The work is bounded: each of the jobs that are counted costs some looks at the cluster, each of the requests more.
MOST_AHEAD = 16
MOST_REQUESTS = 4
_NOBODY = -1


@dataclass(frozen=True, slots=True)
class Ahead:
    """A job that is served earlier, and how long it should run; None when nobody knows."""

    job: PendingJob
    runs_ms: int | None


@dataclass(frozen=True, slots=True)
class LineEstimate:
    """The job starts on `node` at `at_ms`, once the jobs of the line at the places `started` and the releases at the
    places `releases` ended. With `is_earliest` not all of the line could be counted, so that it may be later.
    """

    at_ms: int
    node: int
    releases: tuple[int, ...]
    started: tuple[int, ...]
    is_earliest: bool


def estimate_in_line(
    state: ClusterState,
    job: PendingJob,
    policy: EnginePolicy,
    releases: Sequence[Release],
    *,
    now_ms: int,
    ahead: Sequence[Ahead],
) -> LineEstimate | None:
    """The moment at which the planner would start the job, where jobs start in order of service (`ahead` first, in
    that order) as soon as there is room for them; None when these ends give it room nowhere.

    Only the first MOST_AHEAD jobs of the line, of the first MOST_REQUESTS requests and of known run time, are counted.
    """
    counted = _counted(ahead)
    line = _Line(state, policy, releases, now_ms)
    waiting = [ahead[place].job for place in counted] + [job]
    places = {ahead[place].job.job: place for place in counted}
    while waiting:
        at_ms = line.next_start(waiting)
        placed = () if at_ms is None else line.plan(waiting, at_ms)
        if at_ms is None or not placed:
            return None
        starts = {one.job for one in placed}
        for number in starts - {job.job}:
            place = places[number]
            mine = [one for one in placed if one.job == number]
            line.start(place, mine, at_ms + max(1, ahead[place].runs_ms or 0))
        if job.job in starts:
            node = next(one.node for one in placed if one.job == job.job)
            ended, started = line.needed(job, node, at_ms)
            return LineEstimate(at_ms, node, ended, started, len(counted) < len(ahead))
        waiting = [one for one in waiting if one.job not in starts]
    return None


def _counted(ahead: Sequence[Ahead]) -> list[int]:
    requests: set[Request] = set()
    counted = []
    for place, one in enumerate(ahead[:MOST_AHEAD]):
        new = one.job.request not in requests
        if one.runs_ms is None or (new and len(requests) == MOST_REQUESTS):
            continue
        requests.add(one.job.request)
        counted.append(place)
    return counted


@dataclass(frozen=True, slots=True)
class _Started:
    place: int
    end_ms: int
    allocations: tuple[Allocation, ...]


class _Line:
    """Ends of what runs, then of what was started since, by number in that order."""

    def __init__(
        self, state: ClusterState, policy: EnginePolicy, releases: Sequence[Release], now_ms: int
    ) -> None:
        self._state, self._policy, self._now_ms = state, policy, now_ms
        self._ends = Ends(state, releases, _NOBODY)
        self._end_ms = [release.at_ms for release in releases]
        self._running = len(releases)
        self._started: list[_Started] = []

    def next_start(self, waiting: Sequence[PendingJob]) -> int | None:
        """The first moment from the last one on at which any of these has room."""
        ordered = self._ordered()
        passed = len(self._until(self._now_ms))
        found = [
            self._first(one, ordered, passed)
            for one in {(one.request, one.replicas): one for one in waiting}.values()
        ]
        first = min((count for count in found if count is not None), default=None)
        if first is not None and first > passed:
            self._now_ms = self._end_ms[ordered[first - 1]]
        return None if first is None else self._now_ms

    def _first(self, job: PendingJob, ordered: Sequence[int], passed: int) -> int | None:
        wish = Wish(job, self._policy)
        return least(passed, len(ordered), lambda count: bool(self._takers(wish, ordered[:count]).any()))

    def plan(self, jobs: Sequence[PendingJob], at_ms: int) -> Sequence[Placed]:
        """What the planner starts then."""
        ledger = self._after(self._until(at_ms))
        return Planner(self._state, self._policy, (), ledger=ledger).run(jobs, None).placed

    def start(self, place: int, placed: Sequence[Placed], end_ms: int) -> None:
        """From now on this job runs until then."""
        allocations = tuple(_allocation(self._state, one) for one in placed)
        self._started.append(_Started(place, end_ms, allocations))
        self._end_ms.append(end_ms)

    def needed(self, job: PendingJob, node: int, at_ms: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Ends until then without which the node has no room for the job: places of releases, places in the line."""
        wish, row = Wish(job, self._policy), self._state.index_of(node)

        def has_room(happened: Sequence[int]) -> bool:
            takers = self._takers(wish, happened)
            return bool(takers.any() if wish.of_the_cluster else takers[row])

        kept = indispensable(self._until(at_ms), has_room)
        started = tuple(self._started[end - self._running].place for end in kept if end >= self._running)
        return tuple(sorted(end for end in kept if end < self._running)), started

    def _ordered(self) -> list[int]:
        mine = range(self._running, len(self._end_ms))
        return sorted([*self._ends.order.tolist(), *mine], key=lambda end: self._end_ms[end])

    def _until(self, at_ms: int) -> list[int]:
        return [end for end in self._ordered() if self._end_ms[end] <= at_ms]

    def _takers(self, wish: Wish, happened: Sequence[int]) -> Bools:
        ledger = self._after(happened)
        ledger.free_for(wish.job.job)
        return wish.takers(ledger)

    def _after(self, happened: Sequence[int]) -> Ledger:
        running = [end for end in happened if end < self._running]
        ledger, ended = self._ends.after(np.array(running, dtype=np.int64)), set(happened)
        for end, started in enumerate(self._started, start=self._running):
            if end not in ended:
                for allocation in started.allocations:
                    ledger.take(_as_far_as_free(ledger, allocation))
        return ledger


def _allocation(state: ClusterState, placed: Placed) -> Allocation:
    node = state.index_of(placed.node)
    first, last = int(state.offsets.device[node]), int(state.offsets.device[node + 1])
    rows = {device: first + i for i, device in enumerate(state.device.id[first:last].tolist())}
    first, last = int(state.offsets.cpu[node]), int(state.offsets.cpu[node + 1])
    return Allocation(
        node=node,
        devices=np.array([rows[s.device] for s in placed.slices], dtype=np.int64),
        memory_mib=np.array([s.memory_mib for s in placed.slices], dtype=np.int64),
        compute_milli=np.array([s.compute_milli for s in placed.slices], dtype=np.int64),
        cpus=first + np.flatnonzero(np.isin(state.cpu.cpu[first:last], placed.cpus)),
        host_memory_mib=placed.host_memory_mib,
        read_bandwidth_mib_s=placed.read_bandwidth_mib_s,
    )


def _as_far_as_free(ledger: Ledger, wanted: Allocation) -> Allocation:
    """Without an end that made room for it not all of it is there."""
    return replace(
        wanted,
        memory_mib=np.minimum(wanted.memory_mib, ledger.device.free[wanted.devices]),
        compute_milli=np.minimum(wanted.compute_milli, ledger.device.compute_free[wanted.devices]),
        cpus=wanted.cpus[ledger.cpu.free[wanted.cpus]],
        host_memory_mib=min(wanted.host_memory_mib, int(ledger.node.host_free[wanted.node])),
    )

"""When a waiting job could start behind the jobs that are served before it, each for as long as it should run."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scheduling.engine.allocation import Allocation
from scheduling.engine.claims import Claim, could_fit
from scheduling.engine.ends import Ends, Release
from scheduling.engine.estimate import Wish, indispensable, least
from scheduling.engine.holders import Held, Holder, held_by, holder_of, with_held
from scheduling.engine.ledger import Ledger
from scheduling.engine.planner import Planner
from scheduling.engine.quantities import Bools
from scheduling.engine.quota import Quotas
from scheduling.engine.shapes import demand_of
from scheduling.engine.state import ClusterState
from scheduling.engine.taking import allocation_of, as_far_as_free, model_of
from scheduling.engine.types import (
    UNKNOWN,
    EnginePolicy,
    PendingJob,
    Placed,
    Request,
    Reservation,
    SliceChoice,
)

# The work is bounded: each of the jobs that are counted costs some looks at the cluster, each of the requests more.
MOST_AHEAD = 16
MOST_REQUESTS = 4
# Who has which places until when.
Occupancy = tuple[Holder, Sequence[Placed | Reservation], int]


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
    that order) as soon as there is room for them, under all caps; None when these ends give it room nowhere. One that
    a cap holds waits on while others pass it by. An end whose holder is not told gives nothing back under caps.

    Only the first MOST_AHEAD jobs of the line, of the first MOST_REQUESTS requests and of known run time, are counted.
    """
    counted = _counted(ahead)
    line = Line(state, policy, releases, now_ms)
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
            line.start(place, ahead[place].job, mine, at_ms + max(1, ahead[place].runs_ms or 0))
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
    jobs: frozenset[int]
    allocations: tuple[Allocation, ...]
    held: tuple[Held, ...]


class Line:
    """Ends of what runs, then of what was started since, by number in that order."""

    def __init__(
        self, state: ClusterState, policy: EnginePolicy, releases: Sequence[Release], now_ms: int
    ) -> None:
        self._state, self._policy, self._now_ms = state, policy, now_ms
        self._ends = Ends(state, releases)
        self._end_ms = [release.at_ms for release in releases]
        self._running = len(releases)
        self._started: list[_Started] = []
        self._released = [_given_back(state, release) for release in releases] if policy.capped else []

    def next_start(self, waiting: Sequence[PendingJob]) -> int | None:
        """The first moment from the last one on at which any of these has room."""
        ordered = self._ordered()
        passed = len(self._until(self._now_ms))
        first: int | None = None
        for one in {self._kind(one): one for one in waiting}.values():
            high = len(ordered) if first is None else first - 1
            if high < passed:
                break
            sooner = self._first(one, ordered, passed, high)
            first = first if sooner is None else sooner
        if first is not None and first > passed:
            self._now_ms = self._end_ms[ordered[first - 1]]
        return None if first is None else self._now_ms

    def _kind(self, job: PendingJob) -> object:
        """Jobs of one kind start as soon; what is held for one is no other's."""
        held = job.job if job.job in self._state.holds() else None
        return (job.request, job.replicas, holder_of(job) if self._policy.capped else None, held)

    def _first(self, job: PendingJob, ordered: Sequence[int], passed: int, high: int) -> int | None:
        return least(passed, high, lambda count: bool(self._takers(job, ordered[:count]).any()))

    def plan(self, jobs: Sequence[PendingJob], at_ms: int) -> Sequence[Placed]:
        """What the planner starts then."""
        return self.planner_at(at_ms).run(jobs, None).placed

    def planner_at(self, at_ms: int, **changes: Any) -> Planner:
        """A planner over the cluster and its caps as they will be then, with these changes of its policy."""
        happened = self._until(at_ms)
        policy = replace(self._policy_after(happened), **changes)
        return Planner(self._state, policy, (), ledger=self._after(happened))

    def quotas_at(self, at_ms: int) -> Quotas | None:
        """The caps as they will be then; None where there are none."""
        policy = self._policy_after(self._until(at_ms))
        return Quotas(self._state, policy) if policy.capped else None

    def moments(self, after_ms: int, until_ms: int) -> list[int]:
        """When something ends in between, the last moment included."""
        return sorted({at_ms for at_ms in self._end_ms if after_ms < at_ms <= until_ms})

    def anew(self) -> Line:
        """The same ends of what runs, and nothing started since; of a line that was asked nothing yet."""
        twin = copy(self)
        twin._end_ms, twin._started = self._end_ms[: self._running], []
        return twin

    def start(self, place: int, job: PendingJob, placed: Sequence[Placed], end_ms: int) -> None:
        """From now on this job, at this place in the line, runs until then."""
        self.occupy(holder_of(job), placed, end_ms, place=place)

    def occupy(
        self, holder: Holder, places: Sequence[Placed | Reservation], end_ms: int, *, place: int = UNKNOWN
    ) -> None:
        """From now on somebody has these places until then."""
        allocations = tuple(allocation_of(self._state, one) for one in places)
        held = [held_by(holder, _model(self._state, one.slices), one.slices, one.cpus) for one in places]
        jobs = frozenset(one.job for one in places)
        self._started.append(_Started(place, end_ms, jobs, allocations, tuple(held)))
        self._end_ms.append(end_ms)

    def has_room(self, job: PendingJob, happened: Sequence[int]) -> bool:
        """Whether the job starts somewhere once these releases (by place) happened."""
        return bool(self._takers(job, happened).any())

    def places(self, job: PendingJob, happened: Sequence[int]) -> Sequence[Placed]:
        """Where the planner then puts it; nowhere when it does not start."""
        policy, ledger = self._policy_after(happened), self._after(happened)
        return Planner(self._state, policy, (), ledger=ledger).run([job], None).placed

    def needed(self, job: PendingJob, node: int, at_ms: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Ends until then without which the node has no room for the job: places of releases, places in the line."""
        wish, row = Wish(job, self._policy), self._state.index_of(node)

        def has_room(happened: Sequence[int]) -> bool:
            takers = self._takers(job, happened)
            return bool(takers.any() if wish.of_the_cluster else takers[row])

        kept = indispensable(self._until(at_ms), has_room)
        started = tuple(self._started[end - self._running].place for end in kept if end >= self._running)
        return tuple(sorted(end for end in kept if end < self._running)), started

    def _ordered(self) -> list[int]:
        mine = range(self._running, len(self._end_ms))
        return sorted([*self._ends.order.tolist(), *mine], key=lambda end: self._end_ms[end])

    def _until(self, at_ms: int) -> list[int]:
        return [end for end in self._ordered() if self._end_ms[end] <= at_ms]

    def _takers(self, job: PendingJob, happened: Sequence[int]) -> Bools:
        policy = self._policy_after(happened)
        if policy.capped and not _within_caps(self._state, policy, job, self._kept_now()):
            return np.zeros(len(self._state), dtype=np.bool_)
        ledger = self._after(happened)
        ledger.free_for(job.job)
        wish = Wish(job, policy)
        takers = wish.takers(ledger)
        if not policy.capped or wish.of_the_cluster or not takers.any():
            return takers
        lines = Planner(self._state, policy, (), ledger=ledger).open_to(job)
        if demand_of(job.request, policy).wants_devices:
            return np.bincount(self._state.joins().pool_node[lines], minlength=len(takers)) > 0
        return lines

    def _kept_now(self) -> set[int]:
        """Jobs whose holds still count; of one that started here its start does."""
        return set(self._state.holds()).difference(*(one.jobs for one in self._started))

    def _policy_after(self, happened: Sequence[int]) -> EnginePolicy:
        """The policy as it stands once these ends happened, with what the line started and has not ended."""
        if not self._policy.capped:
            return self._policy
        released = [self._released[end] for end in happened if end < self._running]
        ended = set(happened)
        started = [
            held
            for end, one in enumerate(self._started, start=self._running)
            if end not in ended
            for held in one.held
        ]
        return with_held(self._policy, [*started, *(one for one in released if one is not None)])

    def _after(self, happened: Sequence[int]) -> Ledger:
        running = [end for end in happened if end < self._running]
        ledger, ended = self._ends.after(np.array(running, dtype=np.int64)), set(happened)
        for end, started in enumerate(self._started, start=self._running):
            # What was held for a job is dropped once it has started.
            for job in started.jobs:
                ledger.free_for(job)
            if end not in ended:
                for allocation in started.allocations:
                    ledger.take(as_far_as_free(ledger, allocation))
        return ledger


def _within_caps(state: ClusterState, policy: EnginePolicy, job: PendingJob, kept: set[int]) -> bool:
    """As the planner's, which costs more to make."""
    quotas, demand = Quotas(state, policy, kept=kept), demand_of(job.request, policy)
    quotas.lift(job.job)
    borrows = policy.lending and quotas.lends_to(job.queue)
    caps = quotas.caps_of(job, cores=not demand.wants_devices, borrows=borrows)
    return not caps or could_fit(Claim(job, 0, caps), demand, quotas, state.interned.models)


def _given_back(state: ClusterState, release: Release) -> Held | None:
    if release.holder is None:
        return None
    return held_by(release.holder, _model(state, release.slices), release.slices, release.cpus).ended()


def _model(state: ClusterState, slices: tuple[SliceChoice, ...]) -> str | None:
    number = model_of(state, slices)
    return None if number == UNKNOWN else str(state.interned.models.values[number])

"""Promises to jobs that have waited long: where and when they start, and that nobody behind them takes that away.

The first moment at which a job starts should all that runs end as expected is its reservation. What is free of that
place is kept, and what the job will hold counts under its caps at once. A job behind it may run there only when it
should be gone by then (back-fill).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from scheduling.engine.allocation import Allocation, rest_of
from scheduling.engine.claims import FOR_WANT_OF_ROOM, Claim
from scheduling.engine.holders import Holder, holder_of
from scheduling.engine.line import Line
from scheduling.engine.planner import Planner
from scheduling.engine.preemption import Outlook, promise_of, release_of, take_over
from scheduling.engine.quota import CODES
from scheduling.engine.taking import allocation_of, as_far_as_free, model_of
from scheduling.engine.types import (
    WHOLE_MILLI,
    NearMiss,
    PendingJob,
    Placed,
    Plan,
    ReasonCode,
    Refusal,
    Reservation,
)

# Each new promise costs some looks at the whole cluster; further jobs get theirs in the next plans.
MOST_NEW = 2
MOST_AT_ONCE = 16
# So that jobs that wait for one kind of device never use up what others need.
MOST_OF_A_KIND = 2
# A promise that slips by no more than that is kept where it is.
SLACK_MS = 60_000
_NEVER = 1 << 61
_CURABLE = frozenset({*FOR_WANT_OF_ROOM, ReasonCode.GANG, *CODES.values()})


def serve(planner: Planner, jobs: Sequence[PendingJob], limit: int | None, outlook: Outlook) -> Plan:
    """Decide jobs in the order given, with promises where the policy has them."""
    if planner.policy.reserve_after_ms is None and not planner.policy.preempts:
        return planner.run(jobs, limit)
    promises = Promises(planner, outlook, {job.job for job in jobs})
    found = planner.run(jobs, limit, promises)
    preemptions, takeovers = take_over(planner, jobs, found, outlook, promises.occupy)
    return replace(found, reservations=promises.all(), preemptions=preemptions, takeovers=takeovers)


@dataclass(slots=True, eq=False)
class _Kept:
    """The places promised to one job, and what of them is kept out of the ledger now."""

    places: tuple[Reservation, ...]
    held: tuple[Allocation, ...]

    @property
    def starts_at_ms(self) -> int:
        return self.places[0].starts_at_ms

    @property
    def holder(self) -> Holder:
        first = self.places[0]
        return Holder(first.queue, first.team, first.owner)


class Promises:
    """All promises of one plan; the planner's steward."""

    def __init__(self, planner: Planner, outlook: Outlook, jobs: set[int]) -> None:
        self._planner, self._outlook = planner, outlook
        self._state = planner.ledger.state
        self._kept: list[_Kept] = []
        self._started: list[tuple[Holder, Sequence[Placed], int]] = []
        self._new = 0
        self._of_kind: Counter[object] = Counter()
        self._without_use: set[tuple[object, int]] = set()
        self._hints: dict[int, tuple[Reservation, ...]] = {}
        for job, places in _by_job(outlook.reservations).items():
            if job in jobs:
                self._hints[job] = places
            elif self._is_there(places):
                self._keep(places)

    def all(self) -> tuple[Reservation, ...]:
        """Every promise in force, in the order in which it was made."""
        return tuple(place for kept in self._kept for place in kept.places)

    def backfill(self, claim: Claim) -> list[Placed] | None:
        """A start of the job in what is kept for itself, or for others who start only once it should have ended."""
        job = claim.job
        ends_ms = _NEVER if job.runs_ms is None else self._outlook.now_ms + job.runs_ms
        own = [kept for kept in self._kept if kept.places[0].job == job.job]
        lifted = [kept for kept in self._kept if kept in own or kept.starts_at_ms >= ends_ms]
        if not lifted or (not own and (claim.key, len(lifted)) in self._without_use):
            return None
        mark = self._planner.checkpoint()
        for kept in lifted:
            self._lift(kept)
        placed = self._planner.all_or_none(claim)
        if placed is None:
            self._planner.roll_back(mark)
            self._without_use.add((claim.key, len(lifted)))
            return None
        self._kept = [kept for kept in self._kept if kept not in own]
        for kept in lifted:
            if kept not in own:
                self._settle(kept, [allocation for _, allocation in placed])
        return [decision for decision, _ in placed]

    def started(self, claim: Claim, placed: Sequence[Placed]) -> None:
        """What starts in this plan ends some day, too."""
        runs_ms = claim.job.runs_ms
        end_ms = _NEVER if runs_ms is None else self._outlook.now_ms + runs_ms
        self._started.append((holder_of(claim.job), placed, end_ms))

    def refused(self, claim: Claim) -> None:
        """Promise a place to a job that has waited as long as the policy says, if it can have one."""
        job, after_ms = claim.job, self._planner.policy.reserve_after_ms
        if after_ms is None or self._outlook.now_ms - job.submitted_at_ms < after_ms:
            return
        kind = (job.request.models, job.request.devices > 0)
        if len(self._kept) >= MOST_AT_ONCE or self._of_kind[kind] >= MOST_OF_A_KIND or self._has(job):
            return
        places = self._still_good(job) or self._first_place(claim)
        if places:
            self._of_kind[kind] += 1
            self._keep(places)

    def explained(self, claim: Claim, refusal: Refusal) -> Refusal:
        """Name the promise without which the job would start now."""
        if refusal.code not in _CURABLE or not self._kept or self._has(claim.job):
            return refusal
        mark = self._planner.checkpoint()
        blocker: _Kept | None = None
        for kept in reversed(self._kept):
            self._lift(kept)
            if self._planner.all_or_none(claim) is not None:
                blocker = kept
                break
        self._planner.roll_back(mark)
        return refusal if blocker is None else _waits_for(refusal, blocker.places[0])

    def _has(self, job: PendingJob) -> bool:
        return any(kept.places[0].job == job.job for kept in self._kept)

    def _is_there(self, places: Sequence[Reservation]) -> bool:
        """Whether nodes and devices of these places still serve."""
        for place in places:
            try:
                rows = allocation_of(self._state, place)
            except KeyError:
                return False
            ready = self._state.node.ready[rows.node] and not self._state.node.observe_only[rows.node]
            if not ready or not self._state.device.usable[rows.devices].all():
                return False
        return True

    def _still_good(self, job: PendingJob) -> tuple[Reservation, ...]:
        """The places promised before, unless one is gone or the start slipped."""
        places = self._hints.get(job.job, ())
        if not places or not self._is_there(places):
            return ()
        devices = {(place.node, part.device) for place in places for part in place.slices}
        cpus = {(place.node, cpu) for place in places for cpu in place.cpus}
        at_ms = self._outlook.now_ms
        for one in self._outlook.running:
            here = any((one.node, part.device) in devices for part in one.slices)
            if here or any((one.node, cpu) in cpus for cpu in one.cpus):
                at_ms = max(at_ms, _NEVER if one.ends_at_ms is None else one.ends_at_ms)
        if at_ms > places[0].starts_at_ms + SLACK_MS:
            return ()
        return tuple(replace(place, starts_at_ms=max(at_ms, place.starts_at_ms)) for place in places)

    def _first_place(self, claim: Claim) -> tuple[Reservation, ...]:
        """Where and when the job starts first, beside what is promised and what this plan started."""
        job = claim.job
        if self._new >= MOST_NEW or self._planner.refusal_of(job).code not in _CURABLE:
            return ()
        self._new += 1
        ends = [(one, one.ends_at_ms) for one in self._outlook.running if one.ends_at_ms is not None]
        releases = [release_of(one, at_ms) for one, at_ms in ends]
        line = Line(self._state, self._planner.policy, releases, self._outlook.now_ms)
        self.occupy(line)
        at_ms = line.next_start([job])
        if at_ms is None or at_ms >= _NEVER:
            return ()
        return tuple(promise_of(job, one, at_ms) for one in line.plan([job], at_ms))

    def occupy(self, line: Line, *, nodes: Collection[int] | None = None, but: int | None = None) -> None:
        """Count what this plan started and what is promised to others than the job `but`, on these nodes or all."""
        for holder, placed, end_ms in self._started:
            here = [one for one in placed if nodes is None or one.node in nodes]
            line.occupy(holder, here, end_ms)
        for kept in self._kept:
            if kept.places[0].job != but:
                places = [one for one in kept.places if nodes is None or one.node in nodes]
                line.occupy(kept.holder, places, _NEVER)

    def _keep(self, places: tuple[Reservation, ...]) -> None:
        self._kept.append(kept := _Kept(places, ()))
        held = []
        for place in places:
            rows = as_far_as_free(self._planner.ledger, allocation_of(self._state, place))
            self._planner.ledger.take(rows)
            held.append(rows)
        kept.held = tuple(held)
        self._count(kept, 1)

    def _lift(self, kept: _Kept) -> None:
        for rows in kept.held:
            self._planner.ledger.give_back(rows)
        self._count(kept, -1)

    def _settle(self, kept: _Kept, taken: Sequence[Allocation]) -> None:
        """Keep what the others left of it for the time being."""
        held = []
        for node in sorted({rows.node for rows in kept.held}):
            here = [rows for rows in kept.held if rows.node == node]
            rest = rest_of(node, here, [rows for rows in taken if rows.node == node])
            rest = as_far_as_free(self._planner.ledger, rest)
            self._planner.ledger.take(rest)
            held.append(rest)
        kept.held = tuple(held)
        self._count(kept, 1)

    def _count(self, kept: _Kept, sign: int) -> None:
        if self._planner.quotas is None:
            return
        # What is promised to a job that holds something counts once.
        self._planner.quotas.lift(kept.places[0].job)
        for place in kept.places:
            milli, cores = sum(part.compute_milli for part in place.slices), not place.slices
            milli = WHOLE_MILLI * len(place.cpus) if cores else milli
            model = model_of(self._state, place.slices)
            self._planner.quotas.take(kept.holder, model=model, milli=sign * milli, cores=cores)


def _by_job(places: Sequence[Reservation]) -> dict[int, tuple[Reservation, ...]]:
    found: dict[int, list[Reservation]] = {}
    for place in places:
        found.setdefault(place.job, []).append(place)
    return {job: tuple(some) for job, some in found.items()}


def _waits_for(refusal: Refusal, place: Reservation) -> Refusal:
    """The same nodes, and of those that would have taken the job one that is kept."""
    near = NearMiss(place.node, ReasonCode.RESERVED, place.job, 0)
    return replace(
        refusal, code=ReasonCode.RESERVED, near=(near, *refusal.near), waits_for=place.job, cap=None
    )

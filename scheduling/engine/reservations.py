"""Promises to jobs that have waited long: where and when they start, and that nobody behind them takes that away.

The first moment at which a job starts should all that runs end as expected is its reservation. What is free of that
place is kept, and what the job will hold counts under its caps at once. A job behind it may run there only when it
should be gone by then (back-fill), and nobody who is promised an earlier start misses what it uses. A promise stays
where it is only while its place would still serve the job then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from scheduling.engine.allocation import Allocation
from scheduling.engine.blockers import has_room, in_the_way, waits_for
from scheduling.engine.claims import Claim
from scheduling.engine.estimate import least
from scheduling.engine.holders import Holder, holder_of
from scheduling.engine.kinds import kinds_of, of_open_kinds
from scheduling.engine.line import Line, Occupancy
from scheduling.engine.ordering import is_patient
from scheduling.engine.planner import Planner
from scheduling.engine.preemption import Outlook, promise_of, take_over
from scheduling.engine.prospects import release_of
from scheduling.engine.proving import cost_of, serve_then, within_caps
from scheduling.engine.shapes import demand_of
from scheduling.engine.taking import allocation_of, as_far_as_free, with_what_must_be_free
from scheduling.engine.types import (
    PendingJob,
    Placed,
    Plan,
    Refusal,
    Reservation,
)

# Each new promise costs some looks at the whole cluster; further jobs get theirs in the next plans.
MOST_NEW = 2
# So do looks that come to nothing, of jobs that seemed to have a chance.
MOST_IN_VAIN = 16
MOST_AT_ONCE = 16
# So that jobs that wait for one kind of device never use up what others need.
MOST_OF_A_KIND = 2
# A promise that slips by no more than that is kept where it is.
SLACK_MS = 60_000
_NEVER = 1 << 61


def serve(planner: Planner, jobs: Sequence[PendingJob], limit: int | None, outlook: Outlook) -> Plan:
    """Decide jobs in the order given, with promises where the policy has them."""
    if planner.policy.reserve_after_ms is None and not planner.policy.preempts:
        return planner.run(jobs, limit)
    seen = jobs if limit is None else jobs[: max(0, limit)]
    promises = Promises(planner, outlook, {job.job for job in seen})
    found = planner.run(jobs, limit, promises)
    preemptions, takeovers = take_over(planner, jobs, found, outlook, promises.taken())
    takeovers = _all_that_must_be_free(planner, jobs, takeovers)
    return replace(found, reservations=promises.all(), preemptions=preemptions, takeovers=takeovers)


@dataclass(slots=True, eq=False)
class _Kept:
    """The places promised to one job, and what of them is kept out of the ledger now."""

    places: tuple[Reservation, ...]
    kinds: frozenset[int]
    held: tuple[Allocation, ...]

    @property
    def job(self) -> int:
        return self.places[0].job

    @property
    def starts_at_ms(self) -> int:
        return self.places[0].starts_at_ms

    @property
    def holder(self) -> Holder:
        first = self.places[0]
        return Holder(first.queue, first.team, first.owner)

    @property
    def occupancy(self) -> Occupancy:
        return self.holder, self.places, _NEVER


class Promises:
    """All promises of one plan; the planner's steward."""

    def __init__(self, planner: Planner, outlook: Outlook, jobs: set[int]) -> None:
        self._planner, self._outlook = planner, outlook
        self._state = planner.ledger.state
        self._kept: list[_Kept] = []
        self._started: list[Occupancy] = []
        self._new = self._in_vain = 0
        self._without_use: set[tuple[object, tuple[int, ...]]] = set()
        self._hints: dict[int, tuple[Reservation, ...]] = {}
        self._ends: Line | None = None
        self._at_last: Planner | None = None
        self._hopeless: set[object] = set()
        for job, places in _by_job(outlook.reservations).items():
            if job in jobs:
                self._hints[job] = places
            elif job not in planner.ledger.holds and (still := self._still_good(places, None)):
                self._keep(still)

    def all(self) -> tuple[Reservation, ...]:
        """Every promise in force, in the order in which it was made."""
        return tuple(place for kept in self._kept for place in kept.places)

    def backfill(self, claim: Claim) -> list[Placed] | None:
        """A start of the job in what is kept for itself, or for others who start only once it should have ended, unless
        that delays somebody else.
        """
        job = claim.job
        ends_ms = _NEVER if job.runs_ms is None else self._outlook.now_ms + job.runs_ms
        lifted = [kept for kept in self._kept if kept.job == job.job or kept.starts_at_ms >= ends_ms]
        jobs = tuple(kept.job for kept in lifted)
        if not lifted or {(claim.key, jobs), (claim.shape, jobs)} & self._without_use:
            return None
        mark = self._planner.checkpoint()
        for kept in lifted:
            self._lift(kept)
        nobody = job.replicas == 1 and not has_room(self._planner, claim)
        placed = None if nobody else self._beside_others(claim, ends_ms, lifted)
        if placed is None:
            self._without_use.add((claim.shape if nobody else claim.key, jobs))
            self._planner.roll_back(mark)
            return None
        self._forget(job.job)
        for kept in lifted:
            if kept.job != job.job:
                self._settle(kept)
        return placed

    def _beside_others(self, claim: Claim, ends_ms: int, lifted: Sequence[_Kept]) -> list[Placed] | None:
        """The best place that delays nobody: each that does is left out of the next try."""
        lent = {place.node for kept in lifted for place in kept.places}
        shunned: set[int] = set()
        while True:
            mark = self._planner.checkpoint()
            found = self._planner.all_or_none(claim, shunned)
            placed = [decision for decision, _ in found or ()]
            if not placed or not self._delays_others(claim, placed, ends_ms, lifted):
                return placed or None
            self._planner.roll_back(mark)
            more = {one.node for one in placed} & lent
            if not more:
                return None
            shunned |= more

    def forbids_loan(self, claim: Claim, placed: Sequence[Placed]) -> bool:
        """Whether with this loan another job of the same queue would not be within its caps when it is promised to
        start.
        """
        runs_ms = claim.job.runs_ms
        ends_ms = _NEVER if runs_ms is None else self._outlook.now_ms + runs_ms
        before = [one for one in self._kept if one.starts_at_ms < ends_ms]
        return self._exceeds_caps(claim, placed, ends_ms, before)

    def _delays_others(
        self, claim: Claim, placed: Sequence[Placed], ends_ms: int, lifted: Sequence[_Kept]
    ) -> bool:
        """Whether the job, which uses places promised for later (`lifted`), would delay somebody who starts before it
        has ended: those places are kept all the same, so what it uses is missed on its nodes, under its caps and of
        what all nodes together may draw.
        """
        lenders = [kept for kept in lifted if kept.job != claim.job.job]
        nodes = {one.node for one in placed} & {place.node for kept in lenders for place in kept.places}
        draws = bool(lenders) and self._planner.policy.power_cap_mw is not None
        others = [kept for kept in self._kept if kept not in lifted]
        touched = (one for one in others if draws or not nodes.isdisjoint(place.node for place in one.places))
        return self._exceeds_caps(claim, placed, ends_ms, others) or not all(
            serve_then(
                self._line_with(one, claim, placed, ends_ms).planner_at(one.starts_at_ms), one.places, None
            )
            for one in touched
        )

    def _exceeds_caps(
        self, claim: Claim, placed: Sequence[Placed], ends_ms: int, others: Sequence[_Kept]
    ) -> bool:
        """Whether one of them that counts under the same caps would not be within them when it starts."""
        if self._planner.quotas is None or not (claim.caps or claim.borrows):
            return False
        return not all(
            within_caps(
                self._state,
                self._line_with(one, claim, placed, ends_ms).quotas_at(one.starts_at_ms),
                one.places,
            )
            for one in others
            if one.holder.queue == claim.job.queue and one.job != claim.job.job
        )

    def _line_with(self, kept: _Kept, claim: Claim, placed: Sequence[Placed], ends_ms: int) -> Line:
        """What the promise is proved on: this job there until then, and all that was promised to others earlier."""
        earlier = [one for one in self._kept[: self._kept.index(kept)] if one.job != claim.job.job]
        return self._line((holder_of(claim.job), placed, ends_ms), promised=earlier)

    def started(self, claim: Claim, placed: Sequence[Placed]) -> None:
        """What starts in this plan ends some day, too; nobody waits for what the job was promised."""
        for kept in [one for one in self._kept if one.job == claim.job.job]:
            self._lift(kept)
            self._forget(kept.job)
        if claim.job.job in self._planner.ledger.holds:
            # What was held for it is free for others at the end.
            self._at_last = None
            self._hopeless.clear()
        runs_ms = claim.job.runs_ms
        end_ms = _NEVER if runs_ms is None else self._outlook.now_ms + runs_ms
        self._started.append((holder_of(claim.job), placed, end_ms))
        if end_ms == _NEVER:
            self._takes_for_good(holder_of(claim.job), placed)

    def refused(self, claim: Claim) -> None:
        """Promise a place to a job that has waited as long as the policy says, if it can have one. A job that has
        something held for it waits for that.
        """
        job = claim.job
        if not is_patient(job, self._planner.policy, self._outlook.now_ms):
            return
        if len(self._kept) >= MOST_AT_ONCE or self._of(job.job) or job.job in self._planner.ledger.holds:
            return
        if job.job not in self._hints and self._new >= MOST_NEW:
            return
        places = self._still_good(self._hints.pop(job.job, ()), job) or self._first_place(job)
        if places:
            self._keep(places)

    def explained(self, claims: Sequence[Claim], refusals: Sequence[Refusal]) -> Sequence[Refusal]:
        """Name the promise without which each job would start now."""
        if not self._kept:
            return refusals
        everybody = [(kept.places[0], partial(self._lift, kept)) for kept in reversed(self._kept)]
        others = [claim for claim in claims if not self._of(claim.job.job)]
        without_own = in_the_way(self._planner, others, everybody, None)
        found = []
        for claim, refusal in zip(claims, refusals, strict=True):
            job, blockers = claim.job.job, without_own
            if self._of(job):
                blockers = in_the_way(self._planner, [claim], everybody, job)
            place = None if job in self._planner.ledger.holds else blockers.get(claim.key)
            found.append(refusal if place is None else waits_for(refusal, place))
        return found

    def set_aside(self, job: int, order: Mapping[int, int]) -> tuple[int, ...]:
        """Lift what is promised to the job and to those that are behind it in this order, and say to whom."""
        aside = [kept for kept in self._kept if order.get(kept.job, -1) >= order[job]]
        for kept in aside:
            self._lift(kept)
        return tuple(kept.job for kept in aside)

    def _of(self, job: int) -> list[_Kept]:
        return [kept for kept in self._kept if kept.job == job]

    def _still_good(self, places: tuple[Reservation, ...], job: PendingJob | None) -> tuple[Reservation, ...]:
        """The places promised before, unless they no longer serve the job when it should start, or soon after."""
        now_ms = self._outlook.now_ms
        if not places or self._full_kinds() & kinds_of(self._state, places):
            return ()
        first_ms, last_ms = max(now_ms, places[0].starts_at_ms), places[0].starts_at_ms + SLACK_MS
        line = self._line()
        moments = [at_ms for at_ms in (first_ms, *line.moments(first_ms, last_ms)) if at_ms <= last_ms]

        def serve(place: int) -> bool:
            return serve_then(line.planner_at(moments[place]), places, job)

        found = least(0, len(moments) - 1, serve) if moments else None
        if found is None:
            return ()
        return tuple(replace(place, starts_at_ms=moments[found]) for place in places)

    def _first_place(self, job: PendingJob) -> tuple[Reservation, ...]:
        """Where and when the job starts first, beside what is promised and what this plan started."""
        if self._new >= MOST_NEW or self._in_vain >= MOST_IN_VAIN:
            return ()
        asked = of_open_kinds(self._planner, job, self._full_kinds())
        if asked is None or not self._has_a_chance(asked):
            return ()
        line = self._line()
        at_ms = line.next_start([asked])
        placed = () if at_ms is None or at_ms >= _NEVER else line.plan([asked], at_ms)
        places = tuple(promise_of(job, one, at_ms or 0) for one in placed)
        if not places or self._full_kinds() & kinds_of(self._state, places):
            self._in_vain += 1
            self._hopeless.add(self._kind(asked))
            return ()
        self._new += 1
        return with_what_must_be_free(self._state, places, demand_of(job.request, self._planner.policy))

    def _has_a_chance(self, job: PendingJob) -> bool:
        """Whether it would start once all that should end some day has: what costs little to know, and saves looks."""
        if self._kind(job) in self._hopeless:
            return False
        if self._at_last is None:
            self._at_last = self._line().planner_at(_NEVER - 1, weights_ppm={})
        last = self._at_last
        found = last.would_start(job) is not None if job.replicas > 1 else bool(last.open_to(job).any())
        if not found:
            self._hopeless.add(self._kind(job))
        return found

    def _kind(self, job: PendingJob) -> object:
        return (job.request, job.replicas, holder_of(job) if self._planner.policy.capped else None)

    def _full_kinds(self) -> set[int]:
        count = Counter(kind for kept in self._kept for kind in kept.kinds)
        return {kind for kind, number in count.items() if number >= MOST_OF_A_KIND}

    def _line(self, *starting: Occupancy, promised: Sequence[_Kept] | None = None) -> Line:
        """The ends of what runs, beside what this plan started, what is `starting`, and what is promised (None: all of
        it). Nothing is promised on loan.
        """
        if self._ends is None:
            ends = [(one, one.ends_at_ms) for one in self._outlook.running if one.ends_at_ms is not None]
            releases = [release_of(one, at_ms) for one, at_ms in ends]
            policy = replace(self._planner.policy, lending=False)
            self._ends = Line(self._state, policy, releases, self._outlook.now_ms)
        line = self._ends.anew()
        kept = self._kept if promised is None else promised
        for one in (*self._started, *starting, *(each.occupancy for each in kept)):
            line.occupy(*one)
        return line

    def taken(self) -> list[Occupancy]:
        """What this plan started and what is promised."""
        return [*self._started, *(kept.occupancy for kept in self._kept)]

    def _keep(self, places: tuple[Reservation, ...]) -> None:
        self._kept.append(kept := _Kept(places, kinds_of(self._state, places), ()))
        held = []
        for place in places:
            rows = as_far_as_free(self._planner.ledger, allocation_of(self._state, place))
            self._planner.ledger.take(rows)
            held.append(rows)
        kept.held = tuple(held)
        self._count(kept, 1)
        self._takes_for_good(kept.holder, places)

    def _forget(self, job: int) -> None:
        if self._of(job):
            self._kept = [kept for kept in self._kept if kept.job != job]
            self._at_last = None
            self._hopeless.clear()
            self._without_use.clear()

    def _takes_for_good(self, holder: Holder, places: Iterable[Placed | Reservation]) -> None:
        last = self._at_last
        if last is None:
            return
        for place in places:
            last.ledger.take(as_far_as_free(last.ledger, allocation_of(self._state, place)))
            if last.quotas is not None:
                model, milli, cores = cost_of(self._state, place)
                last.quotas.take(holder, model=model, milli=milli, cores=cores)

    def _lift(self, kept: _Kept) -> None:
        for rows in kept.held:
            self._planner.ledger.give_back(rows)
        self._count(kept, -1)

    def _settle(self, kept: _Kept) -> None:
        """Keep what the others left of it for the time being."""
        held = []
        for rows in kept.held:
            rest = as_far_as_free(self._planner.ledger, rows)
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
            model, milli, cores = cost_of(self._state, place)
            self._planner.quotas.take(kept.holder, model=model, milli=sign * milli, cores=cores)


def _all_that_must_be_free(
    planner: Planner, jobs: Sequence[PendingJob], takeovers: Sequence[Reservation]
) -> tuple[Reservation, ...]:
    by_job, demands = _by_job(takeovers), {job.job: demand_of(job.request, planner.policy) for job in jobs}
    state = planner.ledger.state
    found = [with_what_must_be_free(state, places, demands[job]) for job, places in by_job.items()]
    return tuple(place for places in found for place in places)


def _by_job(places: Sequence[Reservation]) -> dict[int, tuple[Reservation, ...]]:
    found: dict[int, list[Reservation]] = {}
    for place in places:
        found.setdefault(place.job, []).append(place)
    return {job: tuple(some) for job, some in found.items()}

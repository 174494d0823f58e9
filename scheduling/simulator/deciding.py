"""One cycle: which waiting jobs the plan is asked about, and what its answer means for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from scheduling.engine.claims import FOR_WANT_OF_ROOM
from scheduling.engine.ordering import is_patient
from scheduling.engine.plan import plan
from scheduling.engine.reservations import MOST_AT_ONCE, MOST_OF_A_KIND
from scheduling.engine.types import PendingJob, Placed, Plan, ReasonCode, Refusal, Reservation
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.pending import Group, Pending, Waiting
from scheduling.simulator.settings import Order, Settings
from scheduling.simulator.standing import Standing

Start = Callable[[Group, Waiting, Sequence[Placed]], None]

_FIFO_OFFER = 16
_MOST_ROUNDS = 4
# All other refusals say that no node is made for the job.
_WAITS_FOR_ROOM = frozenset({*FOR_WANT_OF_ROOM, ReasonCode.GANG, ReasonCode.RESERVED})


class Deciding:
    """Asks the engine until it has nothing more to give."""

    def __init__(self, cluster: Cluster, pending: Pending, settings: Settings, standing: Standing) -> None:
        self._cluster, self._pending, self._settings = cluster, pending, settings
        self._standing = standing
        self._now_ms = 0
        self.plans = 0

    def run(self, now_ms: int, start: Start, *, with_held: bool) -> None:
        """Start what can start now."""
        self._now_ms = now_ms
        if self._settings.order is Order.PLAN:
            for _round in range(_MOST_ROUNDS):
                if not self._all(start, with_held=with_held):
                    break
                # What was kept for a promise is there for those that were refused because of it.
                self._pending.capacity_came_free()
        else:
            offer = 1
            while self._head(start, offer, with_held=with_held):
                offer = min(_FIFO_OFFER, 2 * offer)

    def false_shortage(self) -> bool:
        """A job waits for room although as many device-milli as it asks are free: they lie in fragments."""
        totals = self._cluster.totals
        free = totals.capacity_milli - totals.booked_milli
        waiting = (g for g in self._pending.waiting_groups() if g.lacks_room and not g.held)
        return any(0 < group.devices_milli <= free for group in waiting)

    def _all(self, start: Start, *, with_held: bool) -> bool:
        """One plan over all groups worth a try; whether a promise came to its end by it."""
        groups = self._pending.open_groups(with_held=with_held)
        offered = {w.job.job: (g, w) for g in groups for w in g.jobs[: self._could_fit(g)]}
        if not offered:
            return False
        promised = self._promised(with_held=with_held)
        for group, waiting in promised.values():
            offered.setdefault(waiting.job.job, (group, waiting))
        found = self._plan(offered.values(), [one for one in self._standing.promises if one.job in promised])
        for number, placed in _by_job(found).items():
            start(*offered[number], placed)
        for refusal in found.refused:
            _remember(offered[refusal.job][0], refusal)
        return self._standing.promise(found)

    def _promised(self, *, with_held: bool) -> dict[int, tuple[Group, Waiting]]:
        """The jobs of promises that may still start."""
        groups = {one.job: self._pending.group_of(one.job) for one in self._standing.promises}
        return {
            job: (group, group.find(job))
            for job, group in groups.items()
            if group is not None and (with_held or not group.held)
        }

    def has_promised_enough(self, group: Group) -> bool:
        """Whether a plan would promise nothing to a job of this group: there are as many promises as there may be."""
        promised = self._promised(with_held=True).values()
        same = sum(_kind(other) == _kind(group) for other, _ in promised)
        return same >= MOST_OF_A_KIND or len(promised) >= MOST_AT_ONCE

    def _head(self, start: Start, offer: int, *, with_held: bool) -> bool:
        """The head of the queue as far as it fits; whether all that was offered did."""
        head = self._pending.first(offer, with_held=with_held)
        if not head or head[0][0].refused:
            return False
        found = self._plan(head)
        parts, refused = _by_job(found), {refusal.job: refusal for refusal in found.refused}
        for group, waiting in head:
            number = waiting.job.job
            if number not in parts:
                # What was decided behind it is dropped: nobody passes.
                if number in refused:
                    _remember(group, refused[number])
                return False
            start(group, waiting, parts[number])
        return True

    def _could_fit(self, group: Group) -> int:
        """More jobs than this cannot be placed now."""
        totals = self._cluster.totals
        if group.devices_milli:
            return 1 + max(0, totals.capacity_milli - totals.booked_milli) // group.devices_milli
        if group.cores:
            return 1 + max(0, totals.cores - totals.booked_cores) // group.cores
        return len(group.jobs)

    def _plan(
        self, offered: Iterable[tuple[Group, Waiting]], promised: Sequence[Reservation] | None = None
    ) -> Plan:
        """Where `promised` is None nobody passes another, so that no place need be promised."""
        settings, policy = self._settings, self._standing.policy()
        after_ms = policy.reserve_after_ms
        with_runs = after_ms is not None or policy.patience is not None
        jobs = [_pending_job(waiting, with_runs=with_runs) for _, waiting in offered]
        if promised is None:
            policy = replace(policy, reserve_after_ms=None)
        patient = any(is_patient(job, policy, self._now_ms) for job in jobs)
        self.plans += 1
        return plan(
            self._cluster.state,
            jobs,
            policy,
            now_ms=self._now_ms,
            seed=settings.seed,
            expected=settings.expected,
            running=self._standing.lives() if patient or promised else (),
            reservations=promised or (),
        )


def _pending_job(waiting: Waiting, *, with_runs: bool) -> PendingJob:
    job = waiting.job
    return PendingJob(
        job=job.job,
        attempt=waiting.attempt,
        queue=job.queue,
        team=job.team,
        priority=job.priority,
        submitted_at_ms=job.submitted_ms,
        request=job.request,
        replicas=job.replicas,
        deferrable=job.deferrable,
        latest_start_ms=job.latest_start_ms,
        runs_ms=waiting.runs_ms if with_runs else None,
    )


def _kind(group: Group) -> tuple[tuple[str, ...], bool]:
    return group.request.models, group.request.devices > 0


def _by_job(found: Plan) -> dict[int, list[Placed]]:
    parts: dict[int, list[Placed]] = {}
    for placed in found.placed:
        parts.setdefault(placed.job, []).append(placed)
    return parts


def _remember(group: Group, refusal: Refusal) -> None:
    """A group that a plan refused is not offered again before capacity comes free."""
    group.refused, group.lacks_room = True, refusal.code in _WAITS_FOR_ROOM

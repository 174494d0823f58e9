"""One cycle: which waiting jobs the plan is asked about, and what its answer means for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from scheduling.engine.plan import plan
from scheduling.engine.types import PendingJob, Placed, Plan, ReasonCode
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.pending import MOST, Group, Pending, Waiting
from scheduling.simulator.settings import Order, Settings

Start = Callable[[Group, Waiting, Sequence[Placed]], None]

# A replica's id for the engine: job x this + replica.
_REPLICAS_AT_MOST = 4096
_FIFO_BATCH = 16
# Refusals that time can cure; all others say that no node is made for the job.
_WAITS_FOR_ROOM = frozenset(
    {
        ReasonCode.DEVICE_BUSY,
        ReasonCode.DEVICE_MEMORY_TOTAL,
        ReasonCode.DEVICE_MEMORY_PIECE,
        ReasonCode.CORES_FREE,
        ReasonCode.HOST_MEMORY_FREE,
    }
)


class Deciding:
    """Asks the engine until it has nothing more to give."""

    def __init__(self, cluster: Cluster, pending: Pending, settings: Settings) -> None:
        self._cluster, self._pending, self._settings = cluster, pending, settings
        self._now_ms = 0
        self.plans = 0

    def run(self, now_ms: int, start: Start, *, with_held: bool) -> None:
        """Start what can start now."""
        self._now_ms = now_ms
        decide = self._fifo if self._settings.order is Order.FIFO else self._all
        while decide(start, with_held=with_held):
            pass

    def false_shortage(self) -> bool:
        """A job waits for room although as many device-milli as it asks are free: they lie in fragments."""
        totals = self._cluster.totals
        free = totals.capacity_milli - totals.booked_milli
        waiting = (g for g in self._pending.waiting_groups() if g.lacks_room and not g.held)
        return any(0 < group.devices_milli <= free for group in waiting)

    def _all(self, start: Start, *, with_held: bool) -> bool:
        """One plan over all groups worth a try; whether another one is due, because a gang fell short."""
        groups = self._pending.open_groups(with_held=with_held)
        offered = {w.job.job: (g, w) for g in groups for w in g.jobs[: self._could_fit(g)]}
        if not offered:
            return False
        found = self._plan(offered.values())
        parts = _by_job(found)
        short = [n for n, placed in parts.items() if len(placed) < offered[n][1].job.replicas]
        if short:
            # What was decided after it did not see the capacity that it now leaves: decide again without it.
            for number in short:
                group, waiting = offered[number]
                group.most = min(group.most, group.jobs.index(waiting))
                self._remember(found, {number: offered[number]})
            return True
        for number, placed in parts.items():
            start(*offered[number], placed)
        self._remember(found, offered)
        for group in groups:
            group.refused |= group.most < MOST
        return False

    def _fifo(self, start: Start, *, with_held: bool) -> bool:
        """The head of the queue as far as it fits; whether all that was offered did."""
        head = self._pending.first(_FIFO_BATCH, with_held=with_held)
        if not head or head[0][0].refused:
            return False
        found = self._plan(head)
        parts = _by_job(found)
        for group, waiting in head:
            placed = parts.get(waiting.job.job, [])
            if len(placed) < waiting.job.replicas:
                group.refused = True
                self._remember(found, {waiting.job.job: (group, waiting)})
                return False
            start(group, waiting, placed)
        return True

    def _remember(self, found: Plan, offered: Mapping[int, tuple[Group, Waiting]]) -> None:
        """Groups that a plan refused are not offered again before capacity comes free."""
        for refusal in found.refused:
            group, _ = offered.get(refusal.job // _REPLICAS_AT_MOST, (None, None))
            if group is not None:
                group.lacks_room = refusal.code in _WAITS_FOR_ROOM
                group.refused |= not 0 < group.most < MOST

    def _could_fit(self, group: Group) -> int:
        """More jobs than this cannot be placed now."""
        totals = self._cluster.totals
        by_devices = (totals.capacity_milli - totals.booked_milli) // max(1, group.devices_milli)
        by_cores = (totals.cores - totals.booked_cores) // max(1, group.cores)
        if not group.devices_milli and not group.cores:
            return group.most
        return min(group.most, 1 + max(0, by_devices if group.devices_milli else by_cores))

    def _plan(self, offered: Iterable[tuple[Group, Waiting]]) -> Plan:
        settings = self._settings
        jobs = [job for _, waiting in offered for job in _pending_jobs(waiting)]
        self.plans += 1
        return plan(
            self._cluster.state,
            jobs,
            settings.policy,
            now_ms=self._now_ms,
            seed=settings.seed,
            expected=settings.expected,
        )


def _pending_jobs(waiting: Waiting) -> list[PendingJob]:
    job = waiting.job
    return [
        PendingJob(
            job=job.job * _REPLICAS_AT_MOST + replica,
            attempt=waiting.attempt,
            queue=job.queue,
            team=job.team,
            priority=job.priority,
            submitted_at_ms=job.submitted_ms,
            request=job.request,
        )
        for replica in range(job.replicas)
    ]


def _by_job(found: Plan) -> dict[int, list[Placed]]:
    parts: dict[int, list[Placed]] = {}
    for placed in found.placed:
        parts.setdefault(placed.job // _REPLICAS_AT_MOST, []).append(placed)
    return parts

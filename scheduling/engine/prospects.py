"""What the cluster would be like once everybody left who may: where a job could go then, and whose places it has to
leave alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine import filters
from scheduling.engine.claims import least_milli
from scheduling.engine.ends import Ends, Release
from scheduling.engine.frame import whole_frame
from scheduling.engine.holders import Holder, holder_of
from scheduling.engine.ledger import Ledger
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import demand_of
from scheduling.engine.taking import allocation_of, as_far_as_free
from scheduling.engine.types import (
    UNKNOWN,
    WHOLE_MILLI,
    EnginePolicy,
    PendingJob,
    Placed,
    Reservation,
    Running,
)
from scheduling.engine.victims import Victims


@dataclass(frozen=True, slots=True)
class Taken:
    """A place that somebody has or will have. What is only `promised` gives way to jobs ahead of its job."""

    holder: Holder
    place: Placed | Reservation
    promised: bool


class Prospect:
    """The places that a plan gives, beside its victims. `jobs` in order of service."""

    def __init__(self, policy: EnginePolicy, jobs: Sequence[PendingJob], victims: Victims) -> None:
        self._policy, self._victims, self._state = policy, victims, victims.state
        self._priorities = {queue.queue: queue.priority for queue in policy.queues}
        self._order = {job.job: place for place, job in enumerate(jobs)}
        self._taken: list[Taken] = []
        self._without_victims: dict[int, Ledger] = {}

    def knows(self, queue: int) -> bool:
        """Whether it is a queue of the policy."""
        return queue in self._priorities

    def occupy(self, holder: Holder, places: Sequence[Placed | Reservation], _end_ms: int) -> None:
        """Count what the plan started, and what it promised."""
        for place in places:
            self._add(Taken(holder, place, promised=isinstance(place, Reservation)))

    def give(self, job: PendingJob, places: Sequence[Placed]) -> None:
        """The job will go there."""
        for place in places:
            self._add(Taken(holder_of(job), place, promised=False))

    def binding(self, job: PendingJob) -> Iterator[Taken]:
        """What this job has to leave alone: all but its own promises and those to jobs behind it."""
        return (one for one in self._taken if not one.promised or self._is_ahead(one, job))

    def nodes_for(self, job: PendingJob) -> set[int]:
        """Nodes that have enough for a replica once all left who may, as far as its caps allow any of their devices."""
        ledger = self._without_victims.get(job.queue)
        if ledger is None:
            ledger = self._without_victims[job.queue] = self._emptied(job.queue)
        mark = ledger.checkpoint()
        for one in (one for one in self.binding(job) if one.promised):
            _take(ledger, one.place)
        passed = filters.run(whole_frame(ledger), demand_of(job.request, self._policy)).passed()
        ledger.roll_back(mark)
        nodes: list[int] = self._state.node.id[passed & self._within_caps(job)].tolist()
        return set(nodes)

    def _add(self, one: Taken) -> None:
        self._taken.append(one)
        if one.promised:
            return
        self._victims.count(one.holder, one.place)
        for ledger in self._without_victims.values():
            _take(ledger, one.place)

    def _is_ahead(self, one: Taken, job: PendingJob) -> bool:
        promised = one.place.job
        if promised in self._order:
            return self._order[promised] < self._order[job.job]
        # Of another batch: only the order of the queues is known.
        return self._priorities.get(one.holder.queue, UNKNOWN) >= self._priorities[job.queue]

    def _emptied(self, queue: int) -> Ledger:
        victims = self._victims.of(queue).all
        parts = [*self._victims.leaving, *(part for victim in victims for part in victim.parts)]
        ends = Ends(self._state, [release_of(part, 0) for part in parts])
        ledger = ends.after(np.arange(len(parts), dtype=np.int64))
        for one in (one for one in self._taken if not one.promised):
            _take(ledger, one.place)
        return ledger

    def _within_caps(self, job: PendingJob) -> Bools:
        """Nodes that have a device of which the caps of the job leave as much as it takes."""
        quotas, nodes = self._victims.quotas, len(self._state)
        demand = demand_of(job.request, self._policy)
        if quotas is None:
            return np.ones(nodes, dtype=np.bool_)
        caps = quotas.caps_of(job, cores=not demand.wants_devices)
        if not demand.wants_devices:
            asked = WHOLE_MILLI * job.request.cores
            return np.full(nodes, all(cap.room_milli >= asked for cap in caps), dtype=np.bool_)
        allowed = (quotas.room_by_model(caps) >= least_milli(demand))[self._state.device.model]
        found: Bools = np.bincount(self._state.joins().device_node[allowed], minlength=nodes) > 0
        return found


def _take(ledger: Ledger, place: Placed | Reservation) -> None:
    ledger.take(as_far_as_free(ledger, allocation_of(ledger.state, place)))


def release_of(one: Running, at_ms: int) -> Release:
    """What its node gets back, at that time."""
    return Release(
        at_ms=at_ms,
        node=one.node,
        slices=one.slices,
        cpus=one.cpus,
        host_memory_mib=one.host_memory_mib,
        read_bandwidth_mib_s=one.read_bandwidth_mib_s,
        holder=Holder(one.queue, one.team, one.owner),
    )

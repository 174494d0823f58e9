"""Jobs that wait, grouped by request, in order of service.

Equal requests share a fate: when one is refused, all behind it would be. So a plan is handed, of each group,
no more jobs than could be placed, and no group that was refused since capacity last came free. What the
plan decides is what it would have decided over all of them. Under caps only jobs of one team in one queue are equal;
where places are promised, only jobs that should run about as long (to a power of two): the shorter may start ahead of
one.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice

from scheduling.engine.types import EnginePolicy, Request
from scheduling.simulator.jobs import SimJob

Key = tuple[bool, int, int, int, int]
_Place = tuple[Request, int, bool, tuple[int, ...]]


@dataclass(slots=True, eq=False)
class Waiting:
    """A job in the queue; `key` is the engine's order of service, `left_ms` the work still to do, `runs_ms` how long it
    should take, as far as anybody knows.
    """

    job: SimJob
    attempt: int
    left_ms: int
    since_ms: int
    runs_ms: int | None
    key: Key

    def __lt__(self, other: Waiting) -> bool:
        return self.key < other.key


@dataclass(slots=True, eq=False)
class Group:
    """Waiting jobs of one request, in order of service; never without any. `held`: waits for the valley window;
    `lacks_room`: the last refusal was one that time can cure."""

    request: Request
    devices_milli: int
    cores: int
    held: bool
    jobs: list[Waiting] = field(default_factory=list)
    refused: bool = False
    lacks_room: bool = False

    def find(self, job: int) -> Waiting:
        """The one of its jobs that has this number."""
        return next(waiting for waiting in self.jobs if waiting.job.job == job)


class Pending:
    """The queue; `others` counts the jobs that are not deferrable."""

    def __init__(self, policy: EnginePolicy) -> None:
        self._priorities = {queue.queue: queue.priority for queue in policy.queues}
        self._patience = policy.patience
        self._capped, self._promises = policy.capped, policy.reserve_after_ms is not None
        self._groups: dict[_Place, Group] = {}
        self._group_of: dict[int, Group] = {}
        self.count = self.held = self.others = 0

    def add(
        self, job: SimJob, *, attempt: int, left_ms: int, since_ms: int, runs_ms: int | None, held: bool
    ) -> Group:
        """Put a job in its place; its group."""
        key = self._key(job, runs_ms)
        group = self._insert(Waiting(job, attempt, left_ms, since_ms, runs_ms, key), held=held)
        self.count += 1
        self.held += held
        self.others += not job.deferrable
        return group

    def drop(self, group: Group, waiting: Waiting) -> None:
        """It was placed."""
        group.jobs.remove(waiting)
        if not group.jobs:
            del self._groups[self._place(waiting, held=group.held)]
        del self._group_of[waiting.job.job]
        self.count -= 1
        self.held -= group.held
        self.others -= not waiting.job.deferrable

    def expire(self, job: int) -> Group | None:
        """A held job may wait no longer: move it among the others."""
        group = self._group_of.get(job)
        if group is None or not group.held:
            return None
        waiting = group.find(job)
        self.drop(group, waiting)
        self.count += 1  # deferrable, so not one of the others
        return self._insert(waiting, held=False)

    def foresee(self, runs_ms: Callable[[Waiting], int | None]) -> None:
        """Put all jobs where they belong by what is known now; where that changed, they are worth another try."""
        for group in list(self._groups.values()):
            for waiting in list(group.jobs):
                runs = runs_ms(waiting)
                if runs != waiting.runs_ms:
                    self.drop(group, waiting)
                    job, held = waiting.job, group.held
                    self.add(
                        job,
                        attempt=waiting.attempt,
                        left_ms=waiting.left_ms,
                        since_ms=waiting.since_ms,
                        runs_ms=runs,
                        held=held,
                    )

    def group_of(self, job: int) -> Group | None:
        """Where the job waits; None when it does not."""
        return self._group_of.get(job)

    def capacity_came_free(self) -> None:
        """Everything is worth another try."""
        for group in self._groups.values():
            group.refused = False

    def open_groups(self, *, with_held: bool) -> list[Group]:
        """Groups that were not refused since."""
        return [g for g in self._groups.values() if not g.refused and (with_held or not g.held)]

    def waiting_groups(self) -> list[Group]:
        """All groups."""
        return list(self._groups.values())

    def first(self, wanted: int, *, with_held: bool) -> list[tuple[Group, Waiting]]:
        """The first jobs in order of service over all groups, refused ones, too."""
        groups = [g for g in self._groups.values() if with_held or not g.held]
        lines = ([(w.key, w, g) for w in g.jobs[:wanted]] for g in groups)
        return [(group, waiting) for _, waiting, group in islice(merge(*lines, key=lambda t: t[0]), wanted)]

    def __iter__(self) -> Iterator[Waiting]:
        return (waiting for group in self._groups.values() for waiting in group.jobs)

    def _key(self, job: SimJob, runs_ms: int | None) -> Key:
        known = job.queue in self._priorities
        allowed_ms = 0 if self._patience is None else self._patience.of_ms(runs_ms)
        priority = self._priorities.get(job.queue, 0)
        return (not known, -priority, -job.priority, job.submitted_ms + allowed_ms, job.job)

    def _insert(self, waiting: Waiting, *, held: bool) -> Group:
        at, job = self._place(waiting, held=held), waiting.job
        if at not in self._groups:
            cores = job.replicas * job.request.cores
            self._groups[at] = Group(job.request, job.milli, cores, held)
        group = self._group_of[job.job] = self._groups[at]
        insort(group.jobs, waiting)
        return group

    def _place(self, waiting: Waiting, *, held: bool) -> _Place:
        job = waiting.job
        among: tuple[int, ...] = (job.queue, job.team) if self._capped else ()
        if self._promises:
            among = (*among, -1 if waiting.runs_ms is None else waiting.runs_ms.bit_length())
        return (job.request, job.replicas, held, among)

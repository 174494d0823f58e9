"""Who may yield to a job, and how much harm it is to disturb them.

Only placements of preemptable queues yield, and only to jobs of queues above theirs; what is borrowed yields to any
queue, but no more of it than its own queue holds beyond its caps by now.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scheduling.engine.holders import Holder
from scheduling.engine.quota import Quotas
from scheduling.engine.state import ClusterState
from scheduling.engine.taking import model_of
from scheduling.engine.types import (
    WHOLE_MILLI,
    EnginePolicy,
    Placed,
    PreemptionCause,
    QueueInfo,
    Reservation,
    Running,
    SliceChoice,
)

_UNKNOWN_LOSS = 1 << 50
_CAUSES = tuple(PreemptionCause)
Harm = tuple[int, int, int, bool, int, int]


@dataclass(frozen=True, slots=True)
class Victim:
    """One running job with all its placements, and how much harm it is to disturb it. It is `reclaimed` where nothing
    but that it borrowed lets it yield.
    """

    parts: tuple[Running, ...]
    cause: PreemptionCause
    reclaimed: bool = False
    harm: Harm = (0, 0, 0, False, 0, 0)

    @property
    def lost_work_ms(self) -> int:
        """What its restart costs; a lot where nobody knows."""
        losses = [part.lost_work_ms for part in self.parts if part.started]
        return max((_UNKNOWN_LOSS if loss is None else loss for loss in losses), default=0)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Who may yield to the jobs of one queue, least harm first, and the same by node."""

    all: tuple[Victim, ...]
    by_node: Mapping[int, tuple[Victim, ...]]

    def without(self, jobs: Collection[int]) -> Candidates:
        """The others."""
        rest = {
            node: tuple(one for one in some if one.parts[0].job not in jobs)
            for node, some in self.by_node.items()
        }
        left = tuple(one for one in self.all if one.parts[0].job not in jobs)
        return Candidates(left, {node: some for node, some in rest.items() if some})


class Victims:
    """Who may yield by now: not those who were asked already. Counts under caps what is left once they and all that is
    leaving are gone.
    """

    def __init__(self, state: ClusterState, policy: EnginePolicy, running: Iterable[Running]) -> None:
        self.state, self._policy = state, policy
        self._queues = {queue.queue: queue for queue in policy.queues}
        self._by_job: dict[int, list[Running]] = defaultdict(list)
        for one in running:
            self._by_job[one.job].append(one)
        self.quotas = Quotas(state, policy) if policy.capped else None
        self._known: dict[int, Candidates] = {}
        every = [one for parts in self._by_job.values() for one in parts]
        self._lends = any(one.borrowed for one in every)
        # What comes free whatever is decided.
        self.leaving = [one for one in every if one.leaving]
        self._give_back(self.leaving)

    def of(self, queue: int) -> Candidates:
        """Who may yield to a job of this queue."""
        if queue not in self._known:
            self._known[queue] = self._candidates(self._queues[queue])
        return self._known[queue]

    def ask(self, victims: Sequence[Victim]) -> None:
        """These leave."""
        for victim in victims:
            self._give_back(victim.parts)
            self.leaving += victim.parts
        jobs = {victim.parts[0].job for victim in victims}
        for job in jobs:
            del self._by_job[job]
        if self._lends:
            # What was beyond caps may be so no more.
            self._known.clear()
        else:
            self._known = {queue: found.without(jobs) for queue, found in self._known.items()}

    def count(self, holder: Holder, place: Placed | Reservation) -> None:
        """Somebody gets this place; what is held for the same job counts no more."""
        if self.quotas is not None:
            self.quotas.lift(place.job)
        self._take(holder, place.slices, place.cpus, sign=1)

    def together(self, victims: Sequence[Victim]) -> list[Victim]:
        """Those of them that may all leave: of what was borrowed only as much as is beyond the caps of its queue."""
        if self.quotas is None or not any(victim.reclaimed for victim in victims):
            return list(victims)
        mark = self.quotas.checkpoint()
        found = []
        for victim in victims:
            if victim.reclaimed:
                if not self._is_beyond(victim.parts):
                    continue
                self._give_back(victim.parts)
            found.append(victim)
        self.quotas.roll_back(mark)
        return found

    def _candidates(self, mine: QueueInfo) -> Candidates:
        found = (self._victim(mine, tuple(parts)) for parts in self._by_job.values())
        every = sorted((one for one in found if one is not None), key=lambda one: one.harm)
        by_node: dict[int, list[Victim]] = defaultdict(list)
        for victim in every:
            for node in {part.node for part in victim.parts}:
                by_node[node].append(victim)
        return Candidates(tuple(every), {node: tuple(some) for node, some in by_node.items()})

    def _victim(self, mine: QueueInfo, parts: tuple[Running, ...]) -> Victim | None:
        first = parts[0]
        theirs = self._queues.get(first.queue)
        if theirs is None or not theirs.preemptable or theirs.queue == mine.queue:
            return None
        if any(part.spared or part.leaving for part in parts):
            return None
        borrowed = any(part.borrowed for part in parts) and self._is_beyond(parts)
        if not borrowed and theirs.priority >= mine.priority:
            return None
        started = any(part.started for part in parts)
        saved = not started or all(part.checkpointable for part in parts)
        if not (saved or self._policy.preempts_unsaved):
            return None
        victim = Victim(
            parts, _cause(parts, started=started, borrowed=borrowed), theirs.priority >= mine.priority
        )
        return _with_harm(victim, theirs, saved=saved)

    def _is_beyond(self, parts: Sequence[Running]) -> bool:
        """Whether their queue holds more than it may of what one of them has."""
        return self.quotas is not None and any(
            self.quotas.is_beyond(part.queue, model=model_of(self.state, part.slices), cores=not part.slices)
            for part in parts
        )

    def _give_back(self, parts: Iterable[Running]) -> None:
        for part in parts:
            self._take(Holder(part.queue, part.team, part.owner), part.slices, part.cpus, sign=-1)

    def _take(
        self, holder: Holder, slices: tuple[SliceChoice, ...], cpus: Sequence[int], *, sign: int
    ) -> None:
        if self.quotas is None:
            return
        cores = not slices
        milli = WHOLE_MILLI * len(cpus) if cores else sum(part.compute_milli for part in slices)
        self.quotas.take(holder, model=model_of(self.state, slices), milli=sign * milli, cores=cores)


def _cause(parts: Sequence[Running], *, started: bool, borrowed: bool) -> PreemptionCause:
    if not started:
        return PreemptionCause.UNSTARTED
    if all(part.idle for part in parts):
        return PreemptionCause.IDLE
    return PreemptionCause.BORROWED if borrowed else PreemptionCause.CHEAPEST


def _with_harm(victim: Victim, queue: QueueInfo, *, saved: bool) -> Victim:
    first = victim.parts[0]
    harm = (
        _CAUSES.index(victim.cause),
        queue.priority,
        first.priority,
        not saved,
        victim.lost_work_ms,
        first.job,
    )
    return replace(victim, harm=harm)

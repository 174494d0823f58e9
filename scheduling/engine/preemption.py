"""Who yields to whom: the least harmful placements whose leaving lets a job start, proved on the ledger.

Only placements of preemptable queues yield, and only to jobs of queues above theirs that stay within their own caps;
what is borrowed yields to any queue that stays within its own. Nobody is asked for a job that then would not fit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scheduling.engine.claims import FOR_WANT_OF_ROOM
from scheduling.engine.ends import Release
from scheduling.engine.estimate import indispensable, least
from scheduling.engine.holders import Holder
from scheduling.engine.line import Line
from scheduling.engine.planner import Planner
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    EnginePolicy,
    PendingJob,
    Placed,
    Plan,
    Preemption,
    PreemptionCause,
    QueueInfo,
    ReasonCode,
    Reservation,
    Running,
)

# The work is bounded: of the jobs that wait, of the nodes where one could go, of the victims of a gang.
MOST_JOBS = 16
MOST_TAKEOVERS = 4
MOST_NODES = 16
MOST_VICTIMS = 256
_UNKNOWN_LOSS = 1 << 50
_CURABLE = frozenset({*FOR_WANT_OF_ROOM, ReasonCode.GANG, ReasonCode.RESERVED})
_CAUSES = tuple(PreemptionCause)
Occupy = Callable[..., None]
Harm = tuple[int, int, int, bool, int, int]
Cost = tuple[Harm, int, int, int]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What runs until when, and what was promised before."""

    now_ms: int
    running: tuple[Running, ...] = ()
    reservations: tuple[Reservation, ...] = ()


@dataclass(frozen=True, slots=True)
class Victim:
    """One running job with all its placements, and how much harm it is to disturb it."""

    parts: tuple[Running, ...]
    cause: PreemptionCause
    harm: Harm

    @property
    def lost_work_ms(self) -> int:
        """What its restart costs; a lot where nobody knows."""
        losses = [part.lost_work_ms for part in self.parts if part.started]
        return max((_UNKNOWN_LOSS if loss is None else loss for loss in losses), default=0)


def take_over(
    planner: Planner, jobs: Sequence[PendingJob], found: Plan, outlook: Outlook, occupy: Occupy
) -> tuple[tuple[Preemption, ...], tuple[Reservation, ...]]:
    """Whom to ask for their place, and where the jobs they yield to will go, exactly. `occupy` tells a line what the
    plan started and promised.
    """
    if not planner.policy.preempts or not outlook.running:
        return (), ()
    wanting = {refusal.job for refusal in found.refused if refusal.code in _CURABLE}
    chooser = _Chooser(planner, outlook, occupy)
    for job in [one for one in jobs if one.job in wanting][:MOST_JOBS]:
        if len(chooser.served) == MOST_TAKEOVERS:
            break
        chooser.serve(job)
    return tuple(chooser.preemptions), tuple(chooser.takeovers)


class _Chooser:
    """The choices of one plan."""

    def __init__(self, planner: Planner, outlook: Outlook, occupy: Occupy) -> None:
        self._planner, self._outlook, self._occupy = planner, outlook, occupy
        self._state = planner.ledger.state
        self._queues = {queue.queue: queue for queue in planner.policy.queues}
        self._asked: set[int] = set()
        self.served: set[int] = set()
        self.preemptions: list[Preemption] = []
        self.takeovers: list[Reservation] = []

    def serve(self, job: PendingJob) -> None:
        """Ask the least harmful victims of this job, if there are any and it then starts."""
        # What it was given before has not come free yet.
        if job.job in self._state.holds() or job.queue not in self._queues:
            return
        victims = self._victims(job)
        if not victims:
            return
        one_node = job.replicas == 1 and self._planner.policy.power_cap_mw is None
        chosen = self._of_one_node(job, victims) if one_node else self._of_all(job, victims)
        if chosen is None:
            return
        asked, places = chosen
        self.served.add(job.job)
        self._asked |= {victim.parts[0].job for victim in asked}
        self.preemptions += [_preemption(part, victim, job) for victim in asked for part in victim.parts]
        self.takeovers += [promise_of(job, place, self._outlook.now_ms) for place in places]

    def _victims(self, job: PendingJob) -> list[Victim]:
        by_job: dict[int, list[Running]] = defaultdict(list)
        for one in self._outlook.running:
            by_job[one.job].append(one)
        found = (self._victim(job, tuple(parts)) for parts in by_job.values())
        return sorted((one for one in found if one is not None), key=lambda one: one.harm)

    def _victim(self, job: PendingJob, parts: tuple[Running, ...]) -> Victim | None:
        first, mine = parts[0], self._queues[job.queue]
        theirs = self._queues.get(first.queue)
        if theirs is None or not theirs.preemptable or first.queue == job.queue or first.job in self._asked:
            return None
        borrowed = any(part.borrowed for part in parts)
        if not borrowed and theirs.priority >= mine.priority:
            return None
        started = any(part.started for part in parts)
        saved = not started or all(part.checkpointable for part in parts)
        if any(part.spared for part in parts) or not (saved or self._planner.policy.preempts_unsaved):
            return None
        cause = _cause(parts, started=started, borrowed=borrowed)
        return _with_harm(Victim(parts, cause, (0, 0, 0, False, 0, 0)), theirs, saved=saved)

    def _of_one_node(
        self, job: PendingJob, victims: Sequence[Victim]
    ) -> tuple[Sequence[Victim], Sequence[Placed]] | None:
        by_node: dict[int, list[Victim]] = defaultdict(list)
        for victim in victims:
            for node in {part.node for part in victim.parts}:
                by_node[node].append(victim)
        known = [node for node in by_node if _has_node(self._state, node)]
        likely = sorted(known, key=lambda node: (by_node[node][0].harm, node))
        options = [self._cheapest_on(job, node, by_node[node]) for node in likely[:MOST_NODES]]
        ranked = sorted((option for option in options if option is not None), key=lambda option: option[0])
        for _cost, asked in ranked:
            places = self._proved(job, asked)
            if places:
                return asked, places
        return None

    def _cheapest_on(
        self, job: PendingJob, node: int, victims: Sequence[Victim]
    ) -> tuple[Cost, Sequence[Victim]] | None:
        """The node alone, without caps: they are proved on the whole."""
        alone = ClusterState.build([self._state.info(node)])
        policy = replace(self._planner.policy, capped=False, reserve_after_ms=None, preempts=False)
        releases = [[release_of(p, 0) for p in victim.parts if p.node == node] for victim in victims]
        asked = self._least_harmful(job, victims, releases, (alone, policy), {node})
        return None if asked is None else (_cost(asked, node), asked)

    def _of_all(
        self, job: PendingJob, victims: Sequence[Victim]
    ) -> tuple[Sequence[Victim], Sequence[Placed]] | None:
        some = victims[:MOST_VICTIMS]
        releases = [[release_of(part, 0) for part in victim.parts] for victim in some]
        asked = self._least_harmful(job, some, releases, (self._state, self._planner.policy), None)
        places = self._proved(job, asked) if asked else ()
        return (asked, places) if asked and places else None

    def _least_harmful(
        self,
        job: PendingJob,
        victims: Sequence[Victim],
        releases: Sequence[Sequence[Release]],
        where: tuple[ClusterState, EnginePolicy],
        nodes: set[int] | None,
    ) -> Sequence[Victim] | None:
        """The first victims that are enough, then without those that need not leave, the worst first."""
        line, places = self._line(job, where, releases, nodes)

        def has_room(some: Sequence[int]) -> bool:
            return line.has_room(job, [place for one in some for place in places[one]])

        enough = least(0, len(victims), lambda count: has_room(range(count)))
        if not enough:
            return None
        kept = indispensable(reversed(range(enough)), has_room)
        return [victims[one] for one in sorted(kept)]

    def _proved(self, job: PendingJob, asked: Sequence[Victim]) -> Sequence[Placed]:
        """Where the planner puts the job once they left, under everything that holds on the whole cluster."""
        releases = [[release_of(part, 0) for part in victim.parts] for victim in asked]
        policy = replace(self._planner.policy, lending=False)
        line, places = self._line(job, (self._state, policy), releases, None)
        return line.places(job, [place for one in places for place in one])

    def _line(
        self,
        job: PendingJob,
        where: tuple[ClusterState, EnginePolicy],
        releases: Sequence[Sequence[Release]],
        nodes: set[int] | None,
    ) -> tuple[Line, list[list[int]]]:
        state, policy = where
        flat = [release for some in releases for release in some]
        line = Line(state, policy, flat, self._outlook.now_ms)
        self._occupy(line, nodes=nodes, but=job.job)
        for place in self.takeovers:
            if nodes is None or place.node in nodes:
                line.occupy(Holder(place.queue, place.team, place.owner), [place], 1 << 61)
        places, first = [], 0
        for some in releases:
            places.append(list(range(first, first + len(some))))
            first += len(some)
        return line, places


def _has_node(state: ClusterState, node: int) -> bool:
    try:
        state.index_of(node)
    except KeyError:
        return False
    return True


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


def _cost(asked: Sequence[Victim], node: int) -> Cost:
    """The worst of them first, then all that is lost, then their number."""
    worst = max(victim.harm for victim in asked)
    return ((*worst[:4], 0, 0), sum(victim.lost_work_ms for victim in asked), len(asked), node)


def _preemption(part: Running, victim: Victim, job: PendingJob) -> Preemption:
    return Preemption(part.job, part.attempt, part.node, job.job, victim.cause, part.lost_work_ms)


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


def promise_of(job: PendingJob, placed: Placed, at_ms: int) -> Reservation:
    """The place of a replica, for later."""
    return Reservation(
        job=job.job,
        node=placed.node,
        starts_at_ms=at_ms,
        slices=placed.slices,
        cpus=placed.cpus,
        host_memory_mib=placed.host_memory_mib,
        read_bandwidth_mib_s=placed.read_bandwidth_mib_s,
        replica=placed.replica,
        queue=job.queue,
        team=job.team,
        owner=job.owner,
    )

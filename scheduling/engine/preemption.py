"""Who yields to whom: the least harmful placements whose leaving lets a job start, proved on the ledger.

Who may yield at all is told by `victims`; jobs take over only what stays within their own caps. Nobody is asked for a
job that then would not fit, or that starts as soon as those are gone who leave anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import islice

from scheduling.engine.claims import FOR_WANT_OF_ROOM
from scheduling.engine.ends import Release
from scheduling.engine.estimate import indispensable, least
from scheduling.engine.line import Line, Occupancy
from scheduling.engine.planner import Planner
from scheduling.engine.prospects import Prospect, release_of
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    EnginePolicy,
    PendingJob,
    Placed,
    Plan,
    Preemption,
    ReasonCode,
    Refusal,
    Reservation,
    Running,
)
from scheduling.engine.victims import Candidates, Harm, Victim, Victims

# The work is bounded: of the kinds of jobs that are looked at, of those for which a node has enough to give, of the
# nodes where one could go, of the victims of a gang.
MOST_LOOKS = 256
MOST_JOBS = 16
MOST_TAKEOVERS = 4
MOST_NODES = 16
MOST_VICTIMS = 256
_FOR_GOOD = 1 << 61
_CURABLE = frozenset({*FOR_WANT_OF_ROOM, ReasonCode.GANG, ReasonCode.RESERVED})
Cost = tuple[Harm, int, int, int]
Choice = tuple[Sequence[Victim], Sequence[Placed]]
_Option = tuple[Cost, int, Sequence[Victim]]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What runs until when, and what was promised before."""

    now_ms: int
    running: tuple[Running, ...] = ()
    reservations: tuple[Reservation, ...] = ()


def take_over(
    planner: Planner, jobs: Sequence[PendingJob], found: Plan, outlook: Outlook, taken: Iterable[Occupancy]
) -> tuple[tuple[Preemption, ...], tuple[Reservation, ...]]:
    """Whom to ask for their place, and where the jobs they yield to will go, exactly. `jobs` in order of service;
    `taken` is what the plan started and promised.
    """
    if not planner.policy.preempts or not outlook.running:
        return (), ()
    wanting = {refusal.job for refusal in found.refused if _is_curable(refusal)}
    chooser = _Chooser(planner, jobs, outlook, taken)
    for job in (one for one in jobs if one.job in wanting):
        if chooser.is_done:
            break
        chooser.serve(job)
    return tuple(chooser.preemptions), tuple(chooser.takeovers)


def _is_curable(refusal: Refusal) -> bool:
    """Whether some node lacks nothing but room; the dominant reason may be that of another."""
    codes = {refusal.code, *(count.code for count in refusal.counts)}
    return refusal.cap is None and not codes.isdisjoint(_CURABLE)


@dataclass(frozen=True, slots=True)
class _Search:
    """The least harmful of some victims whose leaving lets a job start; `given` ends happen anyway, `places` are those
    of each victim.
    """

    job: PendingJob
    victims: Sequence[Victim]
    line: Line
    given: Sequence[int]
    places: Sequence[Sequence[int]]

    def enough(self) -> int | None:
        """How many of the first, the last of whom thus has to leave."""
        return least(0, len(self.victims), lambda count: self._has_room(range(count)))

    def needed(self, enough: int) -> Sequence[Victim]:
        """So many without those that need not leave, the worst first."""
        kept = indispensable(reversed(range(enough)), self._has_room)
        return [self.victims[one] for one in sorted(kept)]

    def _has_room(self, some: Sequence[int]) -> bool:
        ends = [place for one in some for place in self.places[one]]
        return self.line.has_room(self.job, [*self.given, *ends])


class _Chooser:
    """The choices of one plan."""

    def __init__(
        self, planner: Planner, jobs: Sequence[PendingJob], outlook: Outlook, taken: Iterable[Occupancy]
    ) -> None:
        self._planner, self._now_ms = planner, outlook.now_ms
        self._state = planner.ledger.state
        self._victims = Victims(self._state, planner.policy, outlook.running)
        self._prospect = Prospect(planner.policy, jobs, self._victims)
        for one in taken:
            self._prospect.occupy(*one)
        self._in_vain: set[object] = set()
        self._looks = self._tried = self._served = 0
        self.preemptions: list[Preemption] = []
        self.takeovers: list[Reservation] = []

    @property
    def is_done(self) -> bool:
        """Whether as much was done as one plan may do."""
        return self._served == MOST_TAKEOVERS or self._tried == MOST_JOBS or self._looks == MOST_LOOKS

    def serve(self, job: PendingJob) -> None:
        """Ask the least harmful victims of this job, if there are any and it then starts."""
        # What it was given before has not come free yet.
        if job.job in self._state.holds() or not self._prospect.knows(job.queue):
            return
        kind = (self._planner.claim(job).key, job.queue)
        candidates = self._victims.of(job.queue)
        # Another job like this one found nothing, and there was more then.
        if kind in self._in_vain or not candidates.all:
            return
        self._looks += 1
        nodes = self._prospect.nodes_for(job)
        if nodes.isdisjoint(candidates.by_node):
            self._in_vain.add(kind)
            return
        self._tried += 1
        if self._starts_anyway(job):
            return
        one_node = job.replicas == 1 and self._planner.policy.power_cap_mw is None
        found = (self._of_one_node if one_node else self._of_all)(job, candidates, nodes)
        if found is None:
            self._in_vain.add(kind)
        else:
            self._ask(job, *found)

    def _ask(self, job: PendingJob, asked: Sequence[Victim], places: Sequence[Placed]) -> None:
        self._served += 1
        self._victims.ask(asked)
        self.preemptions += [_preemption(part, victim, job) for victim in asked for part in victim.parts]
        self.takeovers += [promise_of(job, place, self._now_ms) for place in places]
        self._prospect.give(job, places)

    def _starts_anyway(self, job: PendingJob) -> bool:
        """Whether the job only has to wait for those that leave already."""
        if not self._victims.leaving:
            return False
        line, given, _none = self._line(job, (self._state, self._own_caps()), (), None)
        places = line.places(job, given) if line.has_room(job, given) else ()
        self._prospect.give(job, places)
        return bool(places)

    def _own_caps(self) -> EnginePolicy:
        return replace(self._planner.policy, lending=False)

    def _of_one_node(self, job: PendingJob, candidates: Candidates, nodes: set[int]) -> Choice | None:
        by_node = candidates.by_node
        likely = sorted(nodes & by_node.keys(), key=lambda node: (by_node[node][0].harm, node))[:MOST_NODES]
        options = [self._options_on(job, node, by_node[node]) for node in likely]
        heap = [(*next(steps), steps) for steps in options]
        heapify(heap)
        while heap:
            _cost, _node, asked, steps = heappop(heap)
            places = self._proved(job, asked) if asked else ()
            if places:
                return asked, places
            for better in islice(steps, 1):
                heappush(heap, (*better, steps))
        return None

    def _options_on(self, job: PendingJob, node: int, victims: Sequence[Victim]) -> Iterator[_Option]:
        """What it costs at least on that node, ever closer, and at last who is asked there. The node alone, without
        caps: they are proved on the whole.
        """
        yield _least_cost(victims[0]), node, ()
        alone = ClusterState.build([self._state.info(node)])
        policy = replace(self._planner.policy, capped=False, reserve_after_ms=None, preempts=False)
        search = self._search(job, victims, (alone, policy), node)
        enough = search.enough()
        if enough:
            yield _least_cost(search.victims[enough - 1]), node, ()
            asked = search.needed(enough)
            yield _cost(asked, node), node, asked

    def _of_all(self, job: PendingJob, candidates: Candidates, nodes: set[int]) -> Choice | None:
        """Only under a cap on the draw of all nodes it helps that something ends on another node."""
        useful: list[Victim] = []
        others: list[Victim] = []
        for victim in candidates.all:
            here = any(part.node in nodes for part in victim.parts)
            (useful if here else others).append(victim)
        some = useful if self._planner.policy.power_cap_mw is None else [*useful, *others]
        some = sorted(some[:MOST_VICTIMS], key=lambda victim: victim.harm)
        search = self._search(job, some, (self._state, self._planner.policy), None)
        enough = search.enough()
        asked = search.needed(enough) if enough else ()
        places = self._proved(job, asked) if asked else ()
        return (asked, places) if asked and places else None

    def _search(
        self,
        job: PendingJob,
        victims: Sequence[Victim],
        where: tuple[ClusterState, EnginePolicy],
        node: int | None,
    ) -> _Search:
        some = self._victims.together(victims)
        line, given, places = self._line(job, where, some, node)
        return _Search(job, some, line, given, places)

    def _proved(self, job: PendingJob, asked: Sequence[Victim]) -> Sequence[Placed]:
        """Where the planner puts the job once they left, under everything that holds on the whole cluster."""
        line, given, places = self._line(job, (self._state, self._own_caps()), asked, None)
        return line.places(job, [*given, *(place for one in places for place in one)])

    def _line(
        self,
        job: PendingJob,
        where: tuple[ClusterState, EnginePolicy],
        victims: Sequence[Victim],
        node: int | None,
    ) -> tuple[Line, list[int], list[list[int]]]:
        """A line in which those end who leave anyway, and these victims; which of its ends are whose. Of a `node`
        alone, if there is one.
        """
        # What leaves anyway gives nothing back under caps before it is gone.
        releases = [replace(release, holder=None) for release in _releases(self._victims.leaving, node)]
        given, places = list(range(len(releases))), []
        for victim in victims:
            mine = _releases(victim.parts, node)
            places.append(list(range(len(releases), len(releases) + len(mine))))
            releases += mine
        line = Line(*where, releases, self._now_ms)
        for one in self._prospect.binding(job):
            if node in (None, one.place.node):
                line.occupy(one.holder, [one.place], _FOR_GOOD)
        return line, given, places


def _releases(parts: Sequence[Running], node: int | None) -> list[Release]:
    return [release_of(part, 0) for part in parts if node in (None, part.node)]


def _cost(asked: Sequence[Victim], node: int) -> Cost:
    """The worst of them first, then all that is lost, then their number."""
    worst = max(victim.harm for victim in asked)
    return ((*worst[:4], 0, 0), sum(victim.lost_work_ms for victim in asked), len(asked), node)


def _least_cost(first: Victim) -> Cost:
    return ((*first.harm[:4], 0, 0), first.lost_work_ms, 0, 0)


def _preemption(part: Running, victim: Victim, job: PendingJob) -> Preemption:
    return Preemption(part.job, part.attempt, part.node, job.job, victim.cause, part.lost_work_ms)


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

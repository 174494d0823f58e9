"""What queues, teams and members may hold at most, in whole milli, and how much of that is left while a plan takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from scheduling.engine.holders import Holder
from scheduling.engine.modelnames import matches
from scheduling.engine.quantities import Bools, Ints, split_by_largest_remainder
from scheduling.engine.state import ClusterState
from scheduling.engine.taking import model_of
from scheduling.engine.types import (
    WHOLE_MILLI,
    CapKind,
    CapMiss,
    EnginePolicy,
    Holding,
    PendingJob,
    QueueInfo,
    ReasonCode,
    TeamCap,
)

CODES: Mapping[CapKind, ReasonCode] = {
    CapKind.QUEUE: ReasonCode.QUEUE_CAP,
    CapKind.TEAM: ReasonCode.TEAM_QUOTA,
    CapKind.MEMBER: ReasonCode.MEMBER_SHARE,
}
NO_LIMIT = np.int64(1 << 62)
_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True, eq=False)
class Capacity:
    """What may be scheduled: milli-device of usable devices per interned model (last: the unknown one), and milli-core,
    on ready nodes that run jobs.
    """

    device_milli: Ints
    core_milli: int


def capacity_of(state: ClusterState) -> Capacity:
    """The schedulable capacity of a state."""
    takes = state.node.ready & ~state.node.observe_only
    counted = state.device.usable & takes[state.joins().device_node]
    models = len(state.interned.models.values)
    # The unknown model is -1: by that index it is the last.
    rows = np.where(state.device.model >= 0, state.device.model, models)[counted]
    milli = np.bincount(rows, minlength=models + 1).astype(np.int64) * WHOLE_MILLI
    return Capacity(milli, WHOLE_MILLI * int(state.node.cores_total[takes].sum()))


@dataclass(slots=True, eq=False)
class Cap:
    """One cap with what is held under it. `models` (None: all) says which models count, the unknown one last."""

    kind: CapKind
    queue: int
    cap_milli: int
    held_milli: int
    team: int | None = None
    owner: int | None = None
    model: str | None = None
    models: Bools | None = None
    of_cores: bool = False

    @property
    def room_milli(self) -> int:
        """What is left, below 0 where more is held than the cap allows by now."""
        return self.cap_milli - self.held_milli

    def miss(self, asked_milli: int) -> CapMiss:
        """The same with what a job asks of it."""
        return CapMiss(
            kind=self.kind,
            queue=self.queue,
            team=self.team,
            owner=self.owner,
            model=self.model,
            of_cores=self.of_cores,
            cap_milli=self.cap_milli,
            held_milli=self.held_milli,
            asked_milli=asked_milli,
        )


@dataclass(slots=True, eq=False)
class _QueueCaps:
    """All caps of one queue, and what it holds."""

    devices: list[Cap]
    cores: list[Cap]
    teams: dict[int, list[Cap]]
    members: dict[tuple[int, int], list[Cap]]
    held: dict[bool, int]
    borrows: bool

    def every(self) -> list[Cap]:
        """The queue's own first, then those of teams and members."""
        shared = [*self.teams.values(), *self.members.values()]
        return [*self.devices, *self.cores, *(cap for caps in shared for cap in caps)]


@dataclass(frozen=True, slots=True)
class _Kept:
    """What one hold counts under the caps of its job; `model` is interned."""

    holder: Holder
    model: int
    milli: int
    cores: bool


class Quotas:
    """Caps of all queues of a policy over the capacity of a state. What holds keep counts, too, also what of it has not
    come free yet: of the jobs `kept`, or of all. Takes are undone back to a mark, newest first.
    """

    def __init__(
        self, state: ClusterState, policy: EnginePolicy, *, kept: Collection[int] | None = None
    ) -> None:
        self._models = [str(model) for model in state.interned.models.values]
        self._queues = self._build(capacity_of(state), policy.queues)
        self._journal: list[tuple[list[Cap], _QueueCaps, bool, int]] = []
        found = state.derived("kept", lambda: _kept_in(state))
        self._kept = {job: some for job, some in found.items() if kept is None or job in kept}
        # Jobs whose holds no longer count, each with the place in the journal from which on.
        self._lifted: dict[int, int] = {}
        for part in (part for some in self._kept.values() for part in some):
            self.take(part.holder, model=part.model, milli=part.milli, cores=part.cores)

    def lends_to(self, queue: int) -> bool:
        """Whether jobs of this queue may borrow what is idle."""
        found = self._queues.get(queue)
        return found is not None and found.borrows

    def caps_of(self, job: PendingJob | Holder, *, cores: bool, borrows: bool = False) -> list[Cap]:
        """The caps that bind this job, all but its queue's own when it borrows. A queue that holds nothing of the kind
        may always start one job, whatever its own caps are: rounding locks nobody out.
        """
        queue = self._queues.get(job.queue)
        if queue is None:
            return []
        own = queue.cores if cores else queue.devices
        mine_milli = 0 if isinstance(job, Holder) else self._counted_for(job.job, job.queue, cores=cores)
        held_milli = queue.held[cores] - mine_milli
        found = list(own) if held_milli > 0 and not (borrows and queue.borrows) else []
        if not cores:
            found += queue.teams.get(job.team, ())
            found += queue.members.get((job.team, job.owner), ())
        return found

    def is_beyond(self, queue: int, *, model: int, cores: bool) -> bool:
        """Whether the queue holds more of that model, or of cores, than one of its own caps allows."""
        found = self._queues.get(queue)
        if found is None:
            return False
        own = found.cores if cores else found.devices
        return any(cap.room_milli < 0 for cap in own if cap.models is None or cap.models[model])

    def exceeded(self) -> list[CapMiss]:
        """All caps under which more is held than they allow, in the order of the queues."""
        return [cap.miss(0) for queue in self._queues.values() for cap in queue.every() if cap.room_milli < 0]

    def take(self, job: PendingJob | Holder, *, model: int, milli: int, cores: bool) -> None:
        """Count what a placement of the job books of devices of one model (-1: unknown), or of cores; below 0 what it
        gives back.
        """
        queue = self._queues.get(job.queue)
        if queue is None or milli == 0:
            return
        every = list(queue.cores if cores else queue.devices)
        if not cores:
            every += [*queue.teams.get(job.team, ()), *queue.members.get((job.team, job.owner), ())]
        touched = [cap for cap in every if cap.models is None or cap.models[model]]
        for cap in touched:
            cap.held_milli += milli
        queue.held[cores] += milli
        self._journal.append((touched, queue, cores, milli))

    def take_within(self, holder: Holder, costs: Sequence[tuple[int, int, bool]]) -> bool:
        """Whether the places of one job, each as the arguments of `take`, stay within its caps, which are used up by
        that.
        """
        caps = self.caps_of(holder, cores=costs[0][2])
        for model, milli, cores in costs if caps else ():
            room = min(cap.room_milli for cap in caps) if cores else self.room_by_model(caps)[model]
            if milli > room:
                return False
            self.take(holder, model=model, milli=milli, cores=cores)
        return True

    def keeps_within(self, queue: int) -> bool:
        """Whether caps would let each job of the queue have what is held for it."""
        for job, parts in self._kept.items():
            if job in self._lifted or parts[0].holder.queue != queue:
                continue
            mark = self.checkpoint()
            self.lift(job)
            fits = self.take_within(parts[0].holder, [(part.model, part.milli, part.cores) for part in parts])
            self.roll_back(mark)
            if not fits:
                return False
        return True

    def lift(self, job: int) -> None:
        """From now on what is held for this job counts no more: it is served, or counted otherwise."""
        if job in self._lifted or job not in self._kept:
            return
        self._lifted[job] = len(self._journal)
        for part in self._kept[job]:
            self.take(part.holder, model=part.model, milli=-part.milli, cores=part.cores)

    def _counted_for(self, job: int, queue: int, *, cores: bool) -> int:
        if job in self._lifted:
            return 0
        mine = (part for part in self._kept.get(job, ()) if part.holder.queue == queue)
        return sum(part.milli for part in mine if part.cores == cores)

    def checkpoint(self) -> int:
        """A mark to roll back to."""
        return len(self._journal)

    def roll_back(self, mark: int) -> None:
        """Undo all takes since the mark."""
        while len(self._journal) > mark:
            touched, queue, cores, milli = self._journal.pop()
            for cap in touched:
                cap.held_milli -= milli
            queue.held[cores] -= milli
        if self._lifted:
            self._lifted = {job: place for job, place in self._lifted.items() if place < mark}

    def room_by_model(self, caps: Iterable[Cap]) -> Ints:
        """Per interned model (last: the unknown one) the milli-device that all these caps leave."""
        room = np.full(len(self._models) + 1, NO_LIMIT, dtype=np.int64)
        for cap in caps:
            where = slice(None) if cap.models is None else cap.models
            room[where] = np.minimum(room[where], cap.room_milli)
        return room

    def _build(self, capacity: Capacity, queues: Sequence[QueueInfo]) -> dict[int, _QueueCaps]:
        total = int(capacity.device_milli.sum())
        devices = _shares(total, {q.queue: q.quota_ppm for q in queues})
        cores = _shares(capacity.core_milli, {q.queue: q.quota_ppm for q in queues})
        by_model = self._model_shares(capacity, queues)
        found = {}
        for queue in queues:
            key = queue.queue
            own = [
                Cap(CapKind.QUEUE, key, milli, queue.devices_booked_milli)
                for milli in (devices.get(key),)
                if milli is not None
            ]
            own += [
                self._of_model(Cap(CapKind.QUEUE, key, milli, 0, model=model), queue.holdings)
                for model, milli in by_model.get(key, ())
            ]
            of_cores = [
                Cap(CapKind.QUEUE, key, milli, queue.cores_booked_milli, of_cores=True)
                for milli in (cores.get(key),)
                if milli is not None
            ]
            teams, members = self._team_caps(queue)
            held = {False: queue.devices_booked_milli, True: queue.cores_booked_milli}
            borrows = queue.borrow and queue.preemptable
            found[key] = _QueueCaps(own, of_cores, teams, members, held, borrows)
        return found

    def _team_caps(self, queue: QueueInfo) -> tuple[dict[int, list[Cap]], dict[tuple[int, int], list[Cap]]]:
        teams: dict[int, list[Cap]] = defaultdict(list)
        members: dict[tuple[int, int], list[Cap]] = defaultdict(list)
        for given in queue.team_caps:
            cap = self._of_model(_cap_of(queue.queue, given), queue.holdings)
            if given.owner is None:
                teams[given.team].append(cap)
            else:
                members[given.team, given.owner].append(cap)
        return teams, members

    def _of_model(self, cap: Cap, holdings: Sequence[Holding]) -> Cap:
        """The cap with the models that its name means, and what is held of them by those it is about."""
        if cap.model is not None:
            name = cap.model
            cap.models = np.array([*(matches(name, m) for m in self._models), False], dtype=np.bool_)
        cap.held_milli = sum(
            held.device_milli
            for held in holdings
            if cap.team in (None, held.team)
            and cap.owner in (None, held.owner)
            and (cap.model is None or (held.model is not None and matches(cap.model, held.model)))
        )
        return cap

    def _model_shares(
        self, capacity: Capacity, queues: Sequence[QueueInfo]
    ) -> dict[int, list[tuple[str, int]]]:
        """Per queue its caps on models, rounded together with those of the other queues on the same devices, by
        whatever name.
        """
        asked: dict[tuple[bool, ...], dict[tuple[int, str], int | None]] = defaultdict(dict)
        for queue in queues:
            for cap in queue.model_caps:
                named = tuple(matches(cap.model, known) for known in self._models)
                asked[named][queue.queue, cap.model] = cap.quota_ppm
        found: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for named, shares in asked.items():
            total = int(capacity.device_milli[np.flatnonzero(np.array(named, dtype=np.bool_))].sum())
            for (queue_id, model), milli in _shares(total, shares).items():
                found[queue_id].append((model, milli))
        return found


def _kept_in(state: ClusterState) -> dict[int, tuple[_Kept, ...]]:
    """The whole places of all holds, by job."""
    found: dict[int, list[_Kept]] = defaultdict(list)
    for hold in (hold for info in state.infos for hold in info.holds):
        cores = not hold.slices
        milli = WHOLE_MILLI * len(hold.cpus) if cores else sum(part.compute_milli for part in hold.slices)
        holder = Holder(hold.queue, hold.team, hold.owner)
        found[hold.job].append(_Kept(holder, model_of(state, hold.slices), milli, cores))
    return {job: tuple(some) for job, some in found.items()}


def _cap_of(queue: int, given: TeamCap) -> Cap:
    kind = CapKind.TEAM if given.owner is None else CapKind.MEMBER
    return Cap(kind, queue, given.quota_milli, 0, given.team, given.owner, given.model)


def _shares(total: int, shares_ppm: Mapping[_Key, int | None]) -> dict[_Key, int]:
    """Whole milli per key (a queue, or one of its caps) that has a share, by largest remainder."""
    capped = {key: share for key, share in shares_ppm.items() if share is not None}
    return dict(zip(capped, split_by_largest_remainder(total, list(capped.values())), strict=True))

"""When a waiting job could start, judged by the expected ends of the placements that run now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduling.engine import filters
from scheduling.engine.columns import usable
from scheduling.engine.frame import whole_frame
from scheduling.engine.ledger import Ledger
from scheduling.engine.partitions import settled
from scheduling.engine.plan import Planner
from scheduling.engine.quantities import Bools, Ints, free_compute_milli_column, free_mib_column
from scheduling.engine.shapes import demand_of
from scheduling.engine.state import ClusterState
from scheduling.engine.types import UNKNOWN, WHOLE_MILLI, DeviceInfo, EnginePolicy, PendingJob, SliceChoice


@dataclass(frozen=True, slots=True)
class Release:
    """The expected end of one running placement and what its node gets back then; `cpus` are logical CPU numbers."""

    at_ms: int
    node: int
    slices: tuple[SliceChoice, ...] = ()
    cpus: tuple[int, ...] = ()
    host_memory_mib: int = 0
    read_bandwidth_mib_s: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """The job fits on `node` from `at_ms` on, once `after` placements of that node ended: those at the places
    `releases` of the given list, ascending. None of them can be left out.
    """

    at_ms: int
    node: int
    after: int
    releases: tuple[int, ...]


def estimate_start(
    state: ClusterState,
    job: PendingJob,
    policy: EnginePolicy,
    releases: Sequence[Release],
    *,
    now_ms: int,
) -> Estimate | None:
    """The first moment at which some node has room for the job; None when these ends give it room nowhere.

    Only the given ends are counted: nobody else is assumed to take the capacity first, and nothing else to change.
    An end that is overdue counts as now. Ends at one moment happen in order of node id, then in the order given; a
    release of a node, device or core that is not here, or not booked, gives nothing back. A job that fits at once
    gets `now_ms` and the first such node by id. Memory that a placement used beyond its booking is assumed to stay,
    the draw to fall by what ended placements were booked.
    A gang needs room for all its replicas; `node` is then where the last of the room came free. Under a cap on the
    draw of all nodes, ends of other nodes count as well, and `node` is the first that a replica goes to.
    """
    wish = _Wish(job, policy)
    ends = _Ends(state, releases, job.job)
    needed = _least(ends, wish)
    if needed is None:
        return None
    if needed == 0:
        row = int(np.flatnonzero(wish.takers(ends.after(ends.order[:0])))[0])
        return Estimate(now_ms, int(state.node.id[row]), 0, ())
    last = releases[int(ends.order[needed - 1])]
    happened = ends.order[:needed].tolist()
    here = [place for place in happened if releases[place].node == last.node]
    node = last.node
    if not wish.of_the_cluster:
        # Nothing fits elsewhere yet, so that the node can be looked at alone.
        alone = ClusterState.build([state.info(node)])
        local = _indispensable(_Ends(alone, [releases[p] for p in here], job.job), wish, range(len(here)))
        kept = tuple(here[place] for place in local)
    elif policy.power_cap_mw is None:
        elsewhere = [place for place in happened if releases[place].node != node]
        kept = _indispensable(ends, wish, here, elsewhere)
    else:
        kept = _indispensable(ends, wish, happened)
        takers = np.flatnonzero(wish.takers(ends.after(ends.order[:needed])))
        node = int(state.node.id[takers[0]])
    return Estimate(max(now_ms, last.at_ms), node, len(kept), tuple(sorted(kept)))


@dataclass(frozen=True, slots=True)
class _Wish:
    """A job and the policy that it would start under."""

    job: PendingJob
    policy: EnginePolicy

    @property
    def of_the_cluster(self) -> bool:
        """Whether more than one node has a say: all replicas start together, and under the cap of all nodes."""
        return self.job.replicas > 1 or self.policy.power_cap_mw is not None

    def takers(self, ledger: Ledger) -> Bools:
        """Nodes that take a replica; none of them when they do not take all together."""
        passed = filters.run(whole_frame(ledger), demand_of(self.job.request, self.policy)).passed()
        if not self.of_the_cluster or not passed.any():
            return passed
        planner = Planner(ledger.state, self.policy, (), ledger=ledger)
        planner.serve(self.job.job)
        taken = np.zeros(len(passed), dtype=np.bool_)
        for placed in planner.would_start(self.job) or ():
            taken[ledger.state.index_of(placed.node)] = True
        return taken


def _least(ends: _Ends, wish: _Wish) -> int | None:
    """How many ends, in order, until there is room: more room never fits worse, so it can be bisected."""
    low, high = 0, len(ends.order)
    if not wish.takers(ends.after(ends.order)).any():
        return None
    while low < high:
        middle = (low + high) // 2
        if wish.takers(ends.after(ends.order[:middle])).any():
            high = middle
        else:
            low = middle + 1
    return low


def _indispensable(
    ends: _Ends, wish: _Wish, places: Iterable[int], beside: Sequence[int] = ()
) -> tuple[int, ...]:
    """Those of these ends (earliest first) that are really needed beside others: each is left out in turn, whole
    runs of them at once where that goes.
    """
    kept = list(places)
    blocks = [kept]
    while blocks:
        block = blocks.pop(0)
        rest = [other for other in kept if other not in block]
        if wish.takers(ends.after(np.array([*rest, *beside], dtype=np.int64))).any():
            kept = rest
        elif len(block) > 1:
            blocks[:0] = [block[: len(block) // 2], block[len(block) // 2 :]]
    return tuple(kept)


class _Ends:
    """The releases as rows of the state's columns; `order` are their places by time, node id and place."""

    def __init__(self, state: ClusterState, releases: Sequence[Release], job: int) -> None:
        self._state, self._job = state, job
        self.node_row = np.array([_row_of(state, r.node) for r in releases], dtype=np.int64)
        here = [i for i in range(len(releases)) if self.node_row[i] != UNKNOWN]
        ordered = sorted(here, key=lambda i: (releases[i].at_ms, releases[i].node, i))
        self.order = np.array(ordered, dtype=np.int64)
        self._host = np.array([r.host_memory_mib for r in releases], dtype=np.int64)
        self._reads = np.array([r.read_bandwidth_mib_s for r in releases], dtype=np.int64)
        self._slices = self._slice_rows(releases)
        self._cpus = self._cpu_rows(releases)
        self._booked = _booked_of(state, np.unique(self._slices[:, 1]))
        self._held = _held_of(state, job, np.unique(self.node_row[self.order]))

    def after(self, happened: Ints) -> Ledger:
        """The cluster as it will be once these releases happened and nothing else."""
        ledger = Ledger(self._state)
        ledger.free_for(self._job)
        counts = np.zeros(len(self._host), dtype=np.bool_)
        counts[happened] = True
        self._free_devices(ledger, counts)
        self._free_cpus(ledger, counts)
        rows = self.node_row[happened]
        back = np.zeros(len(ledger.node), dtype=np.int64)
        np.add.at(back, rows, self._host[happened])
        for row in np.flatnonzero(back).tolist():
            info = self._state.infos[row]
            kept = sum(hold.host_memory_mib for hold in info.holds if hold.job != self._job)
            booked = max(0, info.memory_booked_mib - int(back[row])) + kept
            ledger.node.host_free[row] = max(0, info.memory_mib - booked)
        np.subtract.at(ledger.node.read_bandwidth, rows, self._reads[happened])
        np.maximum(ledger.node.read_bandwidth, 0, out=ledger.node.read_bandwidth)
        return ledger

    def _free_devices(self, ledger: Ledger, counts: Bools) -> None:
        _, rows, memory, milli = self._slices[counts[self._slices[:, 0]]].T
        size = len(ledger.device)
        touched = np.unique(rows)
        memory_back = np.bincount(rows, weights=memory, minlength=size).astype(np.int64)[touched]
        milli_back = np.bincount(rows, weights=milli, minlength=size).astype(np.int64)[touched]
        before_mib, before_milli, used, foreign = self._booked[touched].T
        booked = np.maximum(before_mib - memory_back, 0)
        compute = np.maximum(before_milli - milli_back, 0)
        used = np.where(used == UNKNOWN, UNKNOWN, np.maximum(used - (before_mib - booked), 0))
        allocatable = ledger.device.allocatable[touched]
        free = free_mib_column(
            allocatable=allocatable, booked=booked, compute=compute, used=used, foreign=foreign
        )
        compute_free = free_compute_milli_column(booked=booked, compute=compute)
        self._free_slices(ledger, touched[(booked == 0) & (compute == 0)])
        held_mib, held_milli = self._held[touched].T
        ledger.device.free[touched] = np.maximum(free - held_mib, 0)
        ledger.device.compute_free[touched] = np.maximum(compute_free - held_milli, 0)
        drawn = ledger.device.power_mw[touched] * (before_milli - compute)
        np.subtract.at(ledger.node.draw_uw, self._state.joins().device_node[touched], drawn)

    def _free_slices(self, ledger: Ledger, unbooked: Ints) -> None:
        """Slices take jobs once nobody holds their whole any more."""
        rows = unbooked[~ledger.device.usable[unbooked]]
        ledger.device.usable = ledger.device.usable.copy()
        free = set(ledger.device.id[rows].tolist())
        for node in np.unique(self._state.joins().device_node[rows]).tolist():
            devices = [
                replace(d, memory_booked_mib=0, compute_booked_milli=0) if d.device in free else d
                for d in self._state.infos[node].devices
            ]
            here = slice(int(self._state.offsets.device[node]), int(self._state.offsets.device[node + 1]))
            for_jobs = usable(devices)
            ledger.device.usable[here] = [device in for_jobs for device in ledger.device.id[here].tolist()]

    def _free_cpus(self, ledger: Ledger, counts: Bools) -> None:
        rows = np.unique(self._cpus[counts[self._cpus[:, 0]], 1])
        rows = rows[~ledger.cpu.free[rows]]
        ledger.cpu.free[rows] = True
        node = np.searchsorted(self._state.offsets.cpu, rows, side="right") - 1
        np.add.at(ledger.node.cores_free, node, 1)
        np.subtract.at(ledger.node.draw_uw, node, WHOLE_MILLI * ledger.node.core_mw[node])
        np.add.at(ledger.slot.free, self._state.offsets.slot[node] + ledger.cpu.slot[rows], 1)

    def _slice_rows(self, releases: Sequence[Release]) -> Ints:
        """Release, device row, MiB, milli."""
        row_of = {device: row for row, device in enumerate(self._state.device.id.tolist())}
        owner = self._state.joins().device_node
        found = [
            (i, row_of[s.device], s.memory_mib, s.compute_milli)
            for i, release in enumerate(releases)
            for s in release.slices
            if s.device in row_of and owner[row_of[s.device]] == self.node_row[i]
        ]
        return np.array(found, dtype=np.int64).reshape(len(found), 4)

    def _cpu_rows(self, releases: Sequence[Release]) -> Ints:
        """Release, CPU row; only CPUs that are booked and that jobs may have."""
        booked: dict[int, dict[int, int]] = {}
        found = []
        for i, release in enumerate(releases):
            node = int(self.node_row[i])
            if node == UNKNOWN or not release.cpus:
                continue
            if node not in booked:
                booked[node] = self._booked_cpus(node)
            found += [(i, booked[node][cpu]) for cpu in release.cpus if cpu in booked[node]]
        return np.array(found, dtype=np.int64).reshape(len(found), 2)

    def _booked_cpus(self, node: int) -> dict[int, int]:
        first = int(self._state.offsets.cpu[node])
        cpus = sorted(self._state.infos[node].cpus, key=lambda c: c.cpu)
        holds = self._state.infos[node].holds
        kept = {cpu for hold in holds if hold.job != self._job for cpu in hold.cpus}
        return {
            c.cpu: first + i
            for i, c in enumerate(cpus)
            if c.booked and c.online and not c.reserved and c.cpu not in kept
        }


def _booked_of(state: ClusterState, rows: Ints) -> Ints:
    """Per device row booked MiB, booked milli, used MiB (UNKNOWN if so), foreign MiB; filled for these rows only."""
    table = np.zeros((len(state.device), 4), dtype=np.int64)
    owner = state.joins().device_node
    for node in np.unique(owner[rows]).tolist():
        by_id = {d.device: d for d in settled(state.infos[node].devices)}
        here = rows[owner[rows] == node]
        amounts = [_amounts(by_id[device]) for device in state.device.id[here].tolist()]
        table[here] = np.array(amounts, dtype=np.int64)
    return table


def _held_of(state: ClusterState, job: int, nodes: Ints) -> Ints:
    """Per device row what others' holds name of it: MiB, milli; filled for these nodes only."""
    table = np.zeros((len(state.device), 2), dtype=np.int64)
    for row in nodes.tolist():
        for s in (s for hold in state.infos[row].holds if hold.job != job for s in hold.slices):
            here = slice(int(state.offsets.device[row]), int(state.offsets.device[row + 1]))
            places = np.flatnonzero(state.device.id[here] == s.device) + here.start
            table[places] += (s.memory_mib, s.compute_milli)
    return table


def _amounts(device: DeviceInfo) -> tuple[int, int, int, int]:
    used = UNKNOWN if device.memory_used_mib is None else device.memory_used_mib
    return (device.memory_booked_mib, device.compute_booked_milli, used, device.foreign_mib)


def _row_of(state: ClusterState, node: int) -> int:
    try:
        return state.index_of(node)
    except KeyError:
        return UNKNOWN

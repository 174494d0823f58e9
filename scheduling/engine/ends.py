"""The columns of a cluster as they will be once some of its running placements ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduling.engine.columns import usable
from scheduling.engine.holders import Holder
from scheduling.engine.ledger import Ledger
from scheduling.engine.partitions import settled
from scheduling.engine.quantities import Bools, Ints, free_compute_milli_column, free_mib_column
from scheduling.engine.state import ClusterState
from scheduling.engine.types import UNKNOWN, WHOLE_MILLI, DeviceInfo, SliceChoice


@dataclass(frozen=True, slots=True)
class Release:
    """The expected end of one running placement and what its node gets back then, under the caps of `holder` as
    well; `cpus` are logical CPU numbers.
    """

    at_ms: int
    node: int
    slices: tuple[SliceChoice, ...] = ()
    cpus: tuple[int, ...] = ()
    host_memory_mib: int = 0
    read_bandwidth_mib_s: int = 0
    holder: Holder | None = None


class Ends:
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

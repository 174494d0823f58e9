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
from scheduling.engine.taking import as_far_as_free, held_rows
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

    def __init__(self, state: ClusterState, releases: Sequence[Release]) -> None:
        self._state = state
        self.node_row = np.array([_row_of(state, r.node) for r in releases], dtype=np.int64)
        here = [i for i in range(len(releases)) if self.node_row[i] != UNKNOWN]
        ordered = sorted(here, key=lambda i: (releases[i].at_ms, releases[i].node, i))
        self.order = np.array(ordered, dtype=np.int64)
        self._host = np.array([r.host_memory_mib for r in releases], dtype=np.int64)
        self._reads = np.array([r.read_bandwidth_mib_s for r in releases], dtype=np.int64)
        self._slices = self._slice_rows(releases)
        self._cpus = self._cpu_rows(releases)
        self._booked = _booked_of(state, np.unique(self._slices[:, 1]))

    def after(self, happened: Ints) -> Ledger:
        """The cluster as it will be once these releases happened and nothing else. Holds then keep what is free of all
        that they name, as they would in a state of that moment.
        """
        ledger = Ledger(self._state)
        holding = [int(row) for row in np.unique(self.node_row[happened]) if self._state.infos[row].holds]
        for held in [one for kept in ledger.holds.values() for one in kept if one.node in holding]:
            ledger.give_back(held)
        counts = np.zeros(len(self._host), dtype=np.bool_)
        counts[happened] = True
        self._free_devices(ledger, counts)
        self._free_cpus(ledger, counts)
        rows = self.node_row[happened]
        back = np.zeros(len(ledger.node), dtype=np.int64)
        np.add.at(back, rows, self._host[happened])
        for row in np.flatnonzero(back).tolist():
            info = self._state.infos[row]
            booked = max(0, info.memory_booked_mib - int(back[row]))
            ledger.node.host_free[row] = max(0, info.memory_mib - booked)
        np.subtract.at(ledger.node.read_bandwidth, rows, self._reads[happened])
        np.maximum(ledger.node.read_bandwidth, 0, out=ledger.node.read_bandwidth)
        _keep_again(ledger, holding)
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
        ledger.device.free[touched] = free
        ledger.device.compute_free[touched] = compute_free
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
        return {c.cpu: first + i for i, c in enumerate(cpus) if c.booked and c.online and not c.reserved}


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


def _keep_again(ledger: Ledger, rows: Sequence[int]) -> None:
    """Take the holds of these nodes, of which all was given back, one after the other, as far as there is room."""
    if not rows:
        return
    kept = {job: [one for one in held if one.node not in rows] for job, held in ledger.holds.items()}
    for row in rows:
        for hold in ledger.state.infos[row].holds:
            held = as_far_as_free(ledger, held_rows(ledger.state, row, hold))
            ledger.take(held)
            kept.setdefault(hold.job, []).append(held)
    ledger.holds = {job: tuple(held) for job, held in kept.items()}


def _amounts(device: DeviceInfo) -> tuple[int, int, int, int]:
    used = UNKNOWN if device.memory_used_mib is None else device.memory_used_mib
    return (device.memory_booked_mib, device.compute_booked_milli, used, device.foreign_mib)


def _row_of(state: ClusterState, node: int) -> int:
    try:
        return state.index_of(node)
    except KeyError:
        return UNKNOWN

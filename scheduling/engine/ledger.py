"""The one mutable thing of the engine: free amounts that a plan takes and gives back, with checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from scheduling.engine.allocation import Allocation
from scheduling.engine.columns import CpuTable, DeviceTable, NodeTable, SlotTable
from scheduling.engine.quantities import Ints, drawn_uw
from scheduling.engine.state import ClusterState


class LedgerError(ValueError):
    """A take would make an amount negative, or a give-back was never taken; nothing was changed."""


class Ledger:
    """A working copy of the changing columns of one state; the state itself is never written.

    `versions[i]` changes whenever an amount of node i changes and never takes an earlier value again, so results
    computed from a node may be kept as long as its version stands. `holds` are what the state keeps for jobs: taken
    from the start, given back to their job.
    """

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self.node: NodeTable = replace(
            state.node,
            cores_free=state.node.cores_free.copy(),
            host_free=state.node.host_free.copy(),
            read_bandwidth=state.node.read_bandwidth.copy(),
            draw_uw=state.node.draw_uw.copy(),
        )
        self.device: DeviceTable = replace(
            state.device, free=state.device.free.copy(), compute_free=state.device.compute_free.copy()
        )
        self.slot: SlotTable = replace(state.slot, free=state.slot.free.copy())
        self.cpu: CpuTable = replace(state.cpu, free=state.cpu.free.copy())
        self.rows = _Rows(state)
        self.version = self.first_version = 1
        self.versions = np.ones(len(state), dtype=np.int64)
        self._journal: list[tuple[Allocation, int]] = []
        self._held: set[Allocation] = set()
        self.holds = dict(state.holds())
        self._held.update(held for kept in self.holds.values() for held in kept)

    def take(self, allocation: Allocation) -> None:
        """Book the allocation; LedgerError when anything of it is not free."""
        self._check(allocation)
        self._apply(allocation, 1)
        self._held.add(allocation)
        self._journal.append((allocation, 1))

    def give_back(self, allocation: Allocation) -> None:
        """Undo an allocation that this ledger took; LedgerError otherwise."""
        if allocation not in self._held:
            raise LedgerError("allocation: was not taken here, or was given back already")
        self._held.remove(allocation)
        self._apply(allocation, -1)
        self._journal.append((allocation, -1))

    def free_for(self, job: int) -> None:
        """Give back what is held for this job, for good."""
        for hold in self.holds.pop(job, ()):
            self.give_back(hold)

    def checkpoint(self) -> int:
        """A mark to roll back to."""
        return len(self._journal)

    def roll_back(self, mark: int) -> None:
        """Undo everything since the mark, newest first."""
        if not 0 <= mark <= len(self._journal):
            raise LedgerError(f"mark: must lie between 0 and {len(self._journal)}, not {mark}")
        while len(self._journal) > mark:
            allocation, sign = self._journal.pop()
            self._apply(allocation, -sign)
            if sign > 0:
                self._held.remove(allocation)
            else:
                self._held.add(allocation)

    def _check(self, a: Allocation) -> None:
        memory, milli = a.memory_mib.tolist(), a.compute_milli.tolist()
        if min((0, a.host_memory_mib, a.read_bandwidth_mib_s, *memory, *milli)) < 0:
            raise LedgerError("allocation: negative amount")
        devices, cpus = a.devices.tolist(), a.cpus.tolist()
        if len(set(devices)) != len(devices) or len(set(cpus)) != len(cpus):
            raise LedgerError("allocation: a device or core named twice")
        if not self._belong(devices, self.state.offsets.device, a.node) or not self._belong(
            cpus, self.state.offsets.cpu, a.node
        ):
            raise LedgerError("allocation: a device or core of another node")
        short = (
            (self.device.free[a.devices] < a.memory_mib).any()
            or (self.device.compute_free[a.devices] < a.compute_milli).any()
            or not self.cpu.free[a.cpus].all()
            or self.node.host_free[a.node] < a.host_memory_mib
        )
        if short:
            raise LedgerError("allocation: more than is free")

    @staticmethod
    def _belong(rows: Sequence[int], starts: Ints, node: int) -> bool:
        return not rows or (min(rows) >= starts[node] and max(rows) < starts[node + 1])

    def _apply(self, a: Allocation, sign: int) -> None:
        self.device.free[a.devices] -= sign * a.memory_mib
        self.device.compute_free[a.devices] -= sign * a.compute_milli
        self.cpu.free[a.cpus] = sign < 0
        slots = self.state.offsets.slot[a.node] + self.cpu.slot[a.cpus]
        np.subtract.at(self.slot.free, slots, sign)
        self.node.cores_free[a.node] -= sign * len(a.cpus)
        self.node.host_free[a.node] -= sign * a.host_memory_mib
        self.node.read_bandwidth[a.node] += sign * a.read_bandwidth_mib_s
        self.node.draw_uw[a.node] += sign * drawn_uw(
            limits_mw=self.device.power_mw[a.devices],
            milli=a.compute_milli,
            core_mw=int(self.node.core_mw[a.node]),
            cores=len(a.cpus),
        )
        self.version += 1
        self.versions[a.node] = self.version


def rebased(old: Ledger, state: ClusterState) -> tuple[Ledger, Ints] | None:
    """A fresh ledger of a later state with the same rows, whose versions go on from those of the old one: they are
    new only for nodes that differ from what the old ledger last showed. Beside it the rows of nodes whose facts
    differ. None when the rows are not the same.
    """
    rows = _Rows(state)
    if not rows.same_as(old.rows):
        return None
    pairs = zip(old.rows.infos, rows.infos, strict=True)
    changed = np.flatnonzero(np.array([a is not b and a != b for a, b in pairs], dtype=np.bool_))
    ledger = Ledger(state)
    ledger.version = ledger.first_version = old.version + 1
    ledger.versions = np.where(old.versions > old.first_version, ledger.version, old.versions)
    ledger.versions[changed] = ledger.version
    return ledger, changed


class _Rows:
    """Which rows a state had at one time, whatever is done to it later."""

    def __init__(self, state: ClusterState) -> None:
        self.infos = tuple(state.infos)
        self._ids = state.node.id.copy()
        offsets = state.offsets
        self._starts = (offsets.device, offsets.pool, offsets.slot, offsets.cpu, state.pool.size.copy())

    def same_as(self, other: _Rows) -> bool:
        """Same nodes with as many devices, pools, NUMA slots and CPUs."""
        if not np.array_equal(self._ids, other._ids):
            return False
        return all(np.array_equal(a, b) for a, b in zip(self._starts, other._starts, strict=True))

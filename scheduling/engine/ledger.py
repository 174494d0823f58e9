"""The one mutable thing of the engine: free amounts that a plan takes and gives back, with checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from scheduling.engine.columns import CpuTable, DeviceTable, NodeTable, SlotTable
from scheduling.engine.quantities import Ints
from scheduling.engine.state import ClusterState


class LedgerError(ValueError):
    """A take would make an amount negative, or a give-back was never taken; nothing was changed."""


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """What one placement takes: rows of the state's tables (device and CPU rows at most once) and amounts."""

    node: int
    devices: Ints
    memory_mib: Ints
    compute_milli: Ints
    cpus: Ints
    host_memory_mib: int
    read_bandwidth_mib_s: int


class Ledger:
    """A working copy of the changing columns of one state; the state itself is never written.

    `versions[i]` changes whenever an amount of node i changes and never takes an earlier value again, so results
    computed from a node may be kept as long as its version stands.
    """

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self.node: NodeTable = replace(
            state.node,
            cores_free=state.node.cores_free.copy(),
            host_free=state.node.host_free.copy(),
            read_bandwidth=state.node.read_bandwidth.copy(),
        )
        self.device: DeviceTable = replace(
            state.device, free=state.device.free.copy(), compute_free=state.device.compute_free.copy()
        )
        self.slot: SlotTable = replace(state.slot, free=state.slot.free.copy())
        self.cpu: CpuTable = replace(state.cpu, free=state.cpu.free.copy())
        self.version = 1
        self.versions = np.ones(len(state), dtype=np.int64)
        self._journal: list[tuple[Allocation, int]] = []
        self._held: set[Allocation] = set()

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
        amounts = (a.memory_mib, a.compute_milli, np.array([a.host_memory_mib, a.read_bandwidth_mib_s]))
        if any((amount < 0).any() for amount in amounts):
            raise LedgerError("allocation: negative amount")
        if len(np.unique(a.devices)) != len(a.devices) or len(np.unique(a.cpus)) != len(a.cpus):
            raise LedgerError("allocation: a device or core named twice")
        joins = self.state.joins()
        first, last = self.state.offsets.cpu[a.node], self.state.offsets.cpu[a.node + 1]
        if (joins.device_node[a.devices] != a.node).any() or ((a.cpus < first) | (a.cpus >= last)).any():
            raise LedgerError("allocation: a device or core of another node")
        short = (
            (self.device.free[a.devices] < a.memory_mib).any()
            or (self.device.compute_free[a.devices] < a.compute_milli).any()
            or not self.cpu.free[a.cpus].all()
            or self.node.host_free[a.node] < a.host_memory_mib
        )
        if short:
            raise LedgerError("allocation: more than is free")

    def _apply(self, a: Allocation, sign: int) -> None:
        self.device.free[a.devices] -= sign * a.memory_mib
        self.device.compute_free[a.devices] -= sign * a.compute_milli
        self.cpu.free[a.cpus] = sign < 0
        slots = self.state.offsets.slot[a.node] + self.cpu.slot[a.cpus]
        np.subtract.at(self.slot.free, slots, sign)
        self.node.cores_free[a.node] -= sign * len(a.cpus)
        self.node.host_free[a.node] -= sign * a.host_memory_mib
        self.node.read_bandwidth[a.node] += sign * a.read_bandwidth_mib_s
        self.version += 1
        self.versions[a.node] = self.version

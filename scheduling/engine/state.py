"""The cluster as columns, built whole or replaced node by node; never changed by planning."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import numpy as np

from scheduling.engine.allocation import Allocation
from scheduling.engine.columns import (
    Block,
    CpuTable,
    DeviceTable,
    Interned,
    Interner,
    NodeTable,
    PoolTable,
    SlotTable,
    block_of,
)
from scheduling.engine.holding import hide
from scheduling.engine.quantities import Bools, Ints
from scheduling.engine.types import NodeInfo

T = TypeVar("T")


@dataclass(slots=True)
class Offsets:
    """First row of each node (one more entry than nodes) in every table."""

    device: Ints
    pool: Ints
    slot: Ints
    cpu: Ints


@dataclass(slots=True)
class Joins:
    """Which row belongs to which: derived from the offsets."""

    device_node: Ints
    device_pool: Ints
    device_slot: Ints
    pool_node: Ints
    pool_start: Ints
    slot_node: Ints


class ClusterState:
    """Columns of all nodes, in order of node id. `version` grows with every change."""

    def __init__(self, infos: Iterable[NodeInfo]) -> None:
        self._interned = Interned(Interner(), Interner(), Interner())
        self.infos = sorted(infos, key=lambda info: info.node)
        if len({info.node for info in self.infos}) != len(self.infos):
            raise ValueError("nodes: two nodes have the same id")
        self.version = 1
        self._load([self._block(info) for info in self.infos])
        self._forget_derived()

    @classmethod
    def build(cls, nodes: Iterable[NodeInfo]) -> ClusterState:
        """A state of exactly these nodes, in any order."""
        return cls(nodes)

    def copy(self) -> ClusterState:
        """The same state, which no later update of this one touches."""
        twin = copy(self)
        known = self._interned
        twin._interned = Interned(known.models.copy(), known.node_sets.copy(), known.layouts.copy())
        twin.infos, twin.offsets = list(self.infos), copy(self.offsets)
        for name in ("node", "device", "pool", "slot", "cpu"):
            setattr(twin, name, getattr(self, name).copy())
        twin._forget_derived()
        return twin

    @property
    def interned(self) -> Interned:
        """Numbers of models, node sets and link layouts."""
        return self._interned

    def __len__(self) -> int:
        return len(self.infos)

    def index_of(self, node_id: int) -> int:
        """Row of a node; KeyError when it is not here."""
        row = self._row(node_id)
        if not self._is_at(row, node_id):
            raise KeyError(node_id)
        return row

    def info(self, node_id: int) -> NodeInfo:
        """The node as it was given."""
        return self.infos[self.index_of(node_id)]

    def update(self, info: NodeInfo) -> None:
        """Add the node or replace the one with its id. Not while a plan of this state is being made: ledgers share
        columns.
        """
        row = self._row(info.node)
        known = self._is_at(row, info.node)
        if known and self.infos[row] == info:
            return
        self._replace(row, int(known), self._block(info))
        self.infos[row : row + int(known)] = [info]
        self.version += 1
        self._forget_derived()

    def remove(self, node_id: int) -> None:
        """Take a node out; KeyError when it is not here."""
        row = self.index_of(node_id)
        self._replace(row, 1, None)
        del self.infos[row]
        self.version += 1
        self._forget_derived()

    def joins(self) -> Joins:
        """Row numbers that connect the tables."""
        return self.derived("joins", self._derive)

    def nodes_with(self, kind: str, value: Hashable) -> Bools:
        """Nodes that carry a label ("labels", (key, value)), an image ("images", name) or a dataset ("datasets",
        name).
        """
        return self.derived(
            (kind, value), lambda: np.array([value in getattr(i, kind) for i in self.infos], dtype=np.bool_)
        )

    def derived(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Something computed once per state version."""
        if key not in self._derived:
            self._derived[key] = compute()
        return cast(T, self._derived[key])

    def holds(self) -> dict[int, tuple[Allocation, ...]]:
        """What holds hide, per job, in order of node and as the node lists them."""
        return self.derived("holds", self._derive_holds)

    def _derive_holds(self) -> dict[int, tuple[Allocation, ...]]:
        found: dict[int, tuple[Allocation, ...]] = {}
        for row, info in enumerate(self.infos):
            if info.holds:
                for job, held in hide(block_of(info, self._interned), info):
                    here = replace(
                        held,
                        node=row,
                        devices=held.devices + self.offsets.device[row],
                        cpus=held.cpus + self.offsets.cpu[row],
                    )
                    found[job] = (*found.get(job, ()), here)
        return found

    def _block(self, info: NodeInfo) -> Block:
        block = block_of(info, self._interned)
        if info.holds:
            hide(block, info)
        return block

    def _load(self, blocks: list[Block]) -> None:
        empty = block_of(_NOTHING, Interned(Interner(), Interner(), Interner()))
        self.node: NodeTable = NodeTable.join([empty.node.pick(slice(0, 0)), *(b.node for b in blocks)])
        self.device: DeviceTable = DeviceTable.join([empty.device, *(b.device for b in blocks)])
        self.pool: PoolTable = PoolTable.join([empty.pool, *(b.pool for b in blocks)])
        self.slot: SlotTable = SlotTable.join([empty.slot, *(b.slot for b in blocks)])
        self.cpu: CpuTable = CpuTable.join([empty.cpu, *(b.cpu for b in blocks)])
        self.offsets = Offsets(
            _starts([len(b.device.id) for b in blocks]),
            _starts([len(b.pool.size) for b in blocks]),
            _starts([len(b.slot.numa) for b in blocks]),
            _starts([len(b.cpu.cpu) for b in blocks]),
        )

    def _row(self, node_id: int) -> int:
        return int(np.searchsorted(self.node.id, node_id))

    def _is_at(self, row: int, node_id: int) -> bool:
        return row < len(self.infos) and self.infos[row].node == node_id

    def _replace(self, row: int, count: int, block: Block | None) -> None:
        """Put the block in place of `count` (0 or 1) nodes at this row."""
        for name in ("device", "pool", "slot", "cpu"):
            table, starts = getattr(self, name), getattr(self.offsets, name)
            start, stop = int(starts[row]), int(starts[row + count])
            rows = getattr(block, name) if block is not None else table.pick(slice(0, 0))
            table.splice(start, stop, rows)
            grown = len(rows) - (stop - start)
            added = [] if block is None else [start + len(rows)]
            tail = starts[row + count + 1 :] + grown
            setattr(
                self.offsets, name, np.concatenate([starts[: row + 1], np.array(added, dtype=np.int64), tail])
            )
        node = block.node if block is not None else self.node.pick(slice(0, 0))
        self.node.splice(row, row + count, node)

    def _forget_derived(self) -> None:
        self._derived: dict[Hashable, object] = {}

    def _derive(self) -> Joins:
        rows = np.arange(len(self.infos), dtype=np.int64)
        device_node = np.repeat(rows, np.diff(self.offsets.device))
        base = self.offsets.slot[:-1][device_node]
        return Joins(
            device_node=device_node,
            device_pool=np.repeat(np.arange(len(self.pool.size), dtype=np.int64), self.pool.size),
            device_slot=np.where(self.device.slot >= 0, base + self.device.slot, -1),
            pool_node=np.repeat(rows, np.diff(self.offsets.pool)),
            pool_start=_starts(self.pool.size.tolist())[:-1],
            slot_node=np.repeat(rows, np.diff(self.offsets.slot)),
        )


_NOTHING = NodeInfo(
    node=0,
    name="",
    node_set=None,
    not_ready=None,
    observe_only=False,
    labels=(),
    memory_mib=0,
    memory_booked_mib=0,
    cpus=(),
)


def _starts(lengths: list[int]) -> Ints:
    starts: Ints = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(np.array(lengths, dtype=np.int64), out=starts[1:])
    return starts

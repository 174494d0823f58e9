"""A view of some nodes' columns with local row numbers; filters and scores see nothing else of the cluster."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import cast

import numpy as np

from scheduling.engine.columns import DeviceTable, NodeTable, Picked, PoolTable, SlotTable
from scheduling.engine.ledger import Ledger
from scheduling.engine.quantities import Bools, Ints
from scheduling.engine.state import ClusterState


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Columns of `nodes` (rows of the state); all join columns count within the frame, `devices` and `pools` lead
    back to the state.
    """

    state: ClusterState
    nodes: Ints
    devices: Ints
    pools: Ints
    node: NodeTable
    device: DeviceTable
    pool: PoolTable
    slot: SlotTable
    device_node: Ints
    device_pool: Ints
    device_slot: Ints
    pool_node: Ints
    pool_start: Ints
    slot_node: Ints
    one_pool_each: bool

    def __len__(self) -> int:
        return len(self.nodes)

    def nodes_with(self, kind: str, value: Hashable) -> Bools:
        """Nodes of the frame that carry a label, image or dataset."""
        return self.state.nodes_with(kind, value)[self.nodes]

    def count_by_pool(self, devices: Bools) -> Ints:
        """How many of the marked devices each pool has."""
        return self.sum_by_pool(devices)

    def sum_by_pool(self, amounts: Ints | Bools) -> Ints:
        """Sum over the devices of each pool: neighbours, and at least one."""
        if not len(self.pools):
            return np.zeros(0, dtype=np.int64)
        found: Ints = np.add.reduceat(amounts, self.pool_start, dtype=np.int64)
        return found

    def any_pool(self, pools: Bools) -> Bools:
        """Nodes with at least one marked pool."""
        if self.one_pool_each:
            return pools
        return np.bincount(self.pool_node[pools], minlength=len(self)).astype(np.bool_)


def whole_frame(ledger: Ledger) -> Frame:
    """All nodes; shares the ledger's columns, so it follows every take."""
    state, joins = ledger.state, ledger.state.joins()
    return Frame(
        state=state,
        nodes=np.arange(len(state), dtype=np.int64),
        devices=np.arange(len(ledger.device), dtype=np.int64),
        pools=np.arange(len(state.pool), dtype=np.int64),
        node=ledger.node,
        device=ledger.device,
        pool=state.pool,
        slot=ledger.slot,
        device_node=joins.device_node,
        device_pool=joins.device_pool,
        device_slot=joins.device_slot,
        pool_node=joins.pool_node,
        pool_start=joins.pool_start,
        slot_node=joins.slot_node,
        one_pool_each=_one_each(joins.pool_node, len(state)),
    )


def frame_of(ledger: Ledger, nodes: Ints) -> Frame:
    """These nodes' present columns (rows ascending), picked when they are first asked for: to be used before the next
    take.
    """
    state = ledger.state
    devices, device_node = _spans(state.offsets.device, nodes)
    pools, pool_node = _spans(state.offsets.pool, nodes)
    slots, slot_node = _spans(state.offsets.slot, nodes)
    slots_of = state.offsets.slot[nodes + 1] - state.offsets.slot[nodes]
    size = state.pool.size[pools]
    local_slot = state.device.slot[devices]
    slot_base = (np.cumsum(slots_of) - slots_of)[device_node]
    return Frame(
        state=state,
        nodes=nodes,
        devices=_numbers(devices),
        pools=_numbers(pools),
        node=cast(NodeTable, Picked(ledger.node, nodes, len(nodes))),
        device=cast(DeviceTable, Picked(ledger.device, devices, len(device_node))),
        pool=cast(PoolTable, Picked(state.pool, pools, len(pool_node))),
        slot=cast(SlotTable, Picked(ledger.slot, slots, len(slot_node))),
        device_node=device_node,
        device_pool=np.repeat(np.arange(len(size), dtype=np.int64), size),
        device_slot=np.where(local_slot >= 0, slot_base + local_slot, -1),
        pool_node=pool_node,
        pool_start=np.cumsum(size) - size,
        slot_node=slot_node,
        one_pool_each=_one_each(pool_node, len(nodes)),
    )


def _one_each(pool_node: Ints, nodes: int) -> bool:
    return len(pool_node) == nodes and bool((pool_node == np.arange(nodes)).all())


def _spans(starts: Ints, nodes: Ints) -> tuple[Ints | slice, Ints]:
    """Rows that belong to the nodes, and for each the node's place in `nodes`."""
    if len(nodes) == 1:
        first, last = int(starts[nodes[0]]), int(starts[nodes[0] + 1])
        return slice(first, last), np.zeros(last - first, dtype=np.int64)
    lengths = starts[nodes + 1] - starts[nodes]
    owner = np.repeat(np.arange(len(nodes), dtype=np.int64), lengths)
    within = np.arange(len(owner), dtype=np.int64) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return starts[nodes][owner] + within, owner


def _numbers(rows: Ints | slice) -> Ints:
    return np.arange(rows.start, rows.stop, dtype=np.int64) if isinstance(rows, slice) else rows

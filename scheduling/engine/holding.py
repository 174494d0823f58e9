"""Capacity that holds keep for one job, hidden in the rows of its node."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from scheduling.engine.allocation import Allocation
from scheduling.engine.columns import Block
from scheduling.engine.quantities import drawn_uw
from scheduling.engine.types import Hold, NodeInfo


def hide(block: Block, info: NodeInfo) -> list[tuple[int, Allocation]]:
    """Take the holds of a node out of the free amounts of its fresh rows, one after the other, never more than is
    free. Returns for each the job and what is really kept, in rows of the node.
    """
    device_rows = {device: row for row, device in enumerate(block.device.id.tolist())}
    cpu_rows = {cpu: row for row, cpu in enumerate(block.cpu.cpu.tolist())}
    return [(hold.job, _hide(block, hold, device_rows, cpu_rows)) for hold in info.holds]


def _hide(
    block: Block, hold: Hold, device_rows: Mapping[int, int], cpu_rows: Mapping[int, int]
) -> Allocation:
    slices = {device_rows[s.device]: s for s in hold.slices if s.device in device_rows}
    rows = np.array(list(slices), dtype=np.int64)
    memory = np.array([s.memory_mib for s in slices.values()], dtype=np.int64)
    milli = np.array([s.compute_milli for s in slices.values()], dtype=np.int64)
    cpus = sorted({cpu_rows[cpu] for cpu in hold.cpus if cpu in cpu_rows and block.cpu.free[cpu_rows[cpu]]})
    held = Allocation(
        node=0,
        devices=rows,
        memory_mib=np.minimum(memory, block.device.free[rows]),
        compute_milli=np.minimum(milli, block.device.compute_free[rows]),
        cpus=np.array(cpus, dtype=np.int64),
        host_memory_mib=min(hold.host_memory_mib, int(block.node.host_free[0])),
        read_bandwidth_mib_s=hold.read_bandwidth_mib_s,
    )
    _subtract(block, held)
    return held


def _subtract(block: Block, held: Allocation) -> None:
    rows, node = held.devices, block.node
    block.device.free[rows] -= held.memory_mib
    block.device.compute_free[rows] -= held.compute_milli
    block.cpu.free[held.cpus] = False
    np.subtract.at(block.slot.free, block.cpu.slot[held.cpus], 1)
    node.cores_free[0] -= len(held.cpus)
    node.host_free[0] -= held.host_memory_mib
    node.read_bandwidth[0] += held.read_bandwidth_mib_s
    node.draw_uw[0] += drawn_uw(
        limits_mw=block.device.power_mw[rows],
        milli=held.compute_milli,
        core_mw=int(node.core_mw[0]),
        cores=len(held.cpus),
    )

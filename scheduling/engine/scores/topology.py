"""Topology: well-linked devices (60 %) and cores in the devices' NUMA node (40 %); with at most one device only the
latter counts.
"""

from __future__ import annotations

import numpy as np

from scheduling.engine.columns import layout_number
from scheduling.engine.frame import Frame
from scheduling.engine.links import subset_ppm
from scheduling.engine.quantities import Ints, ratio_ppm
from scheduling.engine.rows import Rows, near_slots
from scheduling.engine.scores.scale import Scale
from scheduling.engine.shapes import Demand
from scheduling.engine.types import PPM


def value(frame: Frame, demand: Demand, rows: Rows, scale: Scale) -> Ints:
    """Per row, in ppm."""
    near = _near_cores(frame, demand, rows)
    if rows.chosen.shape[1] < 2:
        return near
    linked = (60 * _links(frame, rows) + 40 * near) // 100
    return np.where(rows.given.sum(axis=1) > 1, linked, near)


def _near_cores(frame: Frame, demand: Demand, rows: Rows) -> Ints:
    """Share of the job's cores that are free in its devices' NUMA nodes; without devices, in the node's freest NUMA
    node.
    """
    cores = np.full(len(rows), demand.request.cores, dtype=np.int64)
    if not len(frame.slot):
        return np.full(len(rows), PPM, dtype=np.int64)
    if not demand.wants_devices:
        freest = np.zeros(len(frame), dtype=np.int64)
        np.maximum.at(freest, frame.slot_node, frame.slot.free)
        return ratio_ppm(freest[rows.node], cores)
    slots = near_slots(frame, rows)
    free = np.where(slots >= 0, frame.slot.free[slots], 0).sum(axis=1)
    no_preference = ((rows.of_devices(frame.device_slot, absent=0) < 0) & rows.given).any(axis=1)
    return np.where(no_preference, PPM, ratio_ppm(free, cores))


def _links(frame: Frame, rows: Rows) -> Ints:
    layouts = frame.pool.layout[rows.pool].tolist()
    memo: dict[tuple[int, int], int] = {}
    found = np.empty(len(rows), dtype=np.int64)
    for row, key in enumerate(zip(layouts, rows.position_masks(frame), strict=True)):
        value = memo.get(key)
        if value is None:
            value = memo[key] = subset_ppm(layout_number(frame.state.interned, key[0]), key[1])
        found[row] = value
    return found

"""Gangs: replicas that start together, on one machine before several."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from scheduling.engine import filters
from scheduling.engine.frame import whole_frame
from scheduling.engine.ledger import Ledger
from scheduling.engine.quantities import Ints
from scheduling.engine.shapes import Demand
from scheduling.engine.types import PPM, UNKNOWN


def together_ppm(ledger: Ledger, used: Collection[int], room: Ints, missing: int) -> Ints:
    """Per node how well the next replica stands beside the others: full where one of them is, half in a node set
    where one is. While there is none: the share of the missing replicas that the node could take.
    """
    if not used:
        return np.minimum(room, missing) * PPM // missing
    rows = np.array(sorted(used), dtype=np.int64)
    sets = ledger.node.node_set[rows]
    found = np.where(np.isin(ledger.node.node_set, sets[sets != UNKNOWN]), PPM // 2, 0).astype(np.int64)
    found[rows] = PPM
    return found


def room_for(ledger: Ledger, demand: Demand) -> Ints:
    """Per node how many replicas its devices, cores and host memory could take now, one piece per device."""
    frame, request = whole_frame(ledger), demand.request
    filtered = filters.run(frame, demand)
    room = np.where(filtered.passed(), np.iinfo(np.int32).max, 0).astype(np.int64)
    if demand.wants_devices:
        fits = np.zeros(len(frame), dtype=np.int64)
        for cut in filtered.cuts:
            by_pool = np.where(cut.pools, frame.count_by_pool(cut.devices) // cut.count, 0)
            np.maximum(fits, np.bincount(frame.pool_node, by_pool, len(frame)).astype(np.int64), out=fits)
        room = np.minimum(room, fits)
    if request.cores:
        room = np.minimum(room, frame.node.cores_free // request.cores)
    if request.host_memory_mib:
        room = np.minimum(room, frame.node.host_free // request.host_memory_mib)
    return room

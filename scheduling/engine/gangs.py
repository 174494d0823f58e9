"""Gangs: replicas that start together, on one machine before several."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from scheduling.engine import filters
from scheduling.engine.filters.cut import Cut
from scheduling.engine.frame import Frame, whole_frame
from scheduling.engine.ledger import Ledger
from scheduling.engine.quantities import Ints
from scheduling.engine.shapes import Demand
from scheduling.engine.types import PPM, UNKNOWN

_ANY = np.int64(np.iinfo(np.int32).max)


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
    """Per node how many replicas its devices, cores, host memory and read bandwidth could take now, one after the
    other. Power is not counted: what a replica draws depends on the devices that it gets.
    """
    frame, request = whole_frame(ledger), demand.request
    filtered = filters.run(frame, demand)
    room = np.where(filtered.passed(), _ANY, 0)
    if demand.wants_devices:
        fits = np.zeros(len(frame), dtype=np.int64)
        for cut in filtered.cuts:
            pieces = frame.sum_by_pool(np.where(cut.devices, _pieces(frame, demand, cut), 0))
            by_pool = np.where(cut.pools, pieces // cut.count, 0)
            np.maximum(fits, np.bincount(frame.pool_node, by_pool, len(frame)).astype(np.int64), out=fits)
        room = np.minimum(room, fits)
    if request.cores:
        room = np.minimum(room, frame.node.cores_free // request.cores)
    if request.host_memory_mib:
        room = np.minimum(room, frame.node.host_free // request.host_memory_mib)
    if request.read_bandwidth_mib_s:
        left = np.maximum(frame.node.read_total - frame.node.read_bandwidth, 0)
        served = left // request.read_bandwidth_mib_s
        room = np.where(frame.node.read_total < 0, room, np.minimum(room, served))
    return room


def _pieces(frame: Frame, demand: Demand, cut: Cut) -> Ints:
    """Per device how many pieces it could give, one after the other: each must find what the pre-check asks."""
    by_compute = frame.device.compute_free // np.maximum(cut.milli, 1)
    after_first = np.maximum(frame.device.free - cut.need, 0) // np.maximum(cut.memory, 1)
    by_memory = np.where(cut.memory > 0, 1 + after_first, _ANY)
    pieces: Ints = np.minimum(by_compute, by_memory)
    return np.where(cut.alone | demand.whole, 1, pieces)

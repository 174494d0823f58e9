"""Balance: no node overloaded while others idle - cores, host memory and, for heavy readers, read bandwidth and its
node sets.

The mean of the parts, each PPM less the node's load after the placement; parts the job does not ask for are left out.
"""

from __future__ import annotations

import numpy as np

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Ints, ratio_ppm
from scheduling.engine.rows import Rows
from scheduling.engine.scores.scale import Scale
from scheduling.engine.shapes import Demand
from scheduling.engine.types import PPM

# The engine knows no node's bandwidth: booked reads of this size count as half a load.
_HALF_LOAD_MIB_S = 10_240


def value(frame: Frame, demand: Demand, rows: Rows, scale: Scale) -> Ints:
    """Per row, in ppm."""
    node, request = frame.node, demand.request
    parts = [PPM - _load(node.cores_total, node.cores_free, request.cores)]
    if request.host_memory_mib:
        parts.append(PPM - _load(node.host_total, node.host_free, request.host_memory_mib))
    if request.read_bandwidth_mib_s:
        reads = node.read_bandwidth + request.read_bandwidth_mib_s
        parts.append(PPM - ratio_ppm(reads, reads + _HALF_LOAD_MIB_S))
        if scale.policy.high_bandwidth_node_sets:
            parts.append(_high_bandwidth(frame, scale))
    mean: Ints = sum(parts[1:], start=parts[0]) // len(parts)
    return mean[rows.node]


def _load(total: Ints, free: Ints, asked: int) -> Ints:
    return np.where(total > 0, ratio_ppm(total - free + asked, total), 0)


def _high_bandwidth(frame: Frame, scale: Scale) -> Ints:
    named = scale.policy.high_bandwidth_node_sets
    flags = [PPM * (name in named) for name in frame.state.interned.node_sets.values]
    return np.array([*flags, 0], dtype=np.int64)[frame.node.node_set]

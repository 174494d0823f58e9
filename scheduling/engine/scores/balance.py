"""Balance: no node overloaded while others idle - cores, host memory and, for heavy readers, read bandwidth and its
node sets.

The mean of the parts, each PPM less the node's load after the placement; parts the job does not ask for are left out.
A node that lacks the job's datasets keeps an eighth of that: spreading readers is no reason to move data.
"""

from __future__ import annotations

import numpy as np

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Ints, ratio_ppm
from scheduling.engine.rows import Rows
from scheduling.engine.scores.scale import Scale
from scheduling.engine.shapes import Demand
from scheduling.engine.types import PPM

# Where nobody knows the node's bandwidth, booked reads of this size count as half a load.
_HALF_LOAD_MIB_S = 10_240


def value(frame: Frame, demand: Demand, rows: Rows, scale: Scale) -> Ints:
    """Per row, in ppm."""
    node, request = frame.node, demand.request
    parts = [PPM - _load(node.cores_total, node.cores_free, request.cores)]
    if request.host_memory_mib:
        parts.append(PPM - _load(node.host_total, node.host_free, request.host_memory_mib))
    if request.read_bandwidth_mib_s:
        reads = node.read_bandwidth + request.read_bandwidth_mib_s
        whole = np.where(node.read_total >= 0, node.read_total, reads + _HALF_LOAD_MIB_S)
        parts.append(PPM - ratio_ppm(reads, whole))
        if scale.policy.high_bandwidth_node_sets:
            parts.append(_high_bandwidth(frame, scale))
    mean: Ints = sum(parts[1:], start=parts[0]) // len(parts)
    return (mean * _data_ppm(frame, demand) // PPM)[rows.node]


def _data_ppm(frame: Frame, demand: Demand) -> Ints:
    """PPM where all the job's datasets are, an eighth where none is."""
    names = demand.request.datasets
    present = np.zeros(len(frame), dtype=np.int64)
    for name in names:
        present += frame.nodes_with("datasets", name)
    return (PPM + 7 * ratio_ppm(present, np.full(len(frame), len(names), dtype=np.int64))) // 8


def _load(total: Ints, free: Ints, asked: int) -> Ints:
    return np.where(total > 0, ratio_ppm(total - free + asked, total), 0)


def _high_bandwidth(frame: Frame, scale: Scale) -> Ints:
    named = scale.policy.high_bandwidth_node_sets
    flags = [PPM * (name in named) for name in frame.state.interned.node_sets.values]
    return np.array([*flags, 0], dtype=np.int64)[frame.node.node_set]

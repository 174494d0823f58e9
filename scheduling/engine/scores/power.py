"""Power: work goes to nodes that are awake anyway, so that idle nodes can stay idle; computed only when it has a
weight.
"""

from __future__ import annotations

import numpy as np

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Ints
from scheduling.engine.rows import Rows
from scheduling.engine.scores.scale import Scale
from scheduling.engine.shapes import Demand
from scheduling.engine.types import PPM, WHOLE_MILLI


def value(frame: Frame, demand: Demand, rows: Rows, scale: Scale) -> Ints:
    """PPM for a node with any booked core or device, 0 for a wholly idle one."""
    busy_devices = (
        np.bincount(frame.device_node[frame.device.compute_free < WHOLE_MILLI], minlength=len(frame)) > 0
    )
    awake = busy_devices | (frame.node.cores_free < frame.node.cores_total)
    return np.where(awake[rows.node], PPM, 0).astype(np.int64)

"""Power: little is added to the draw. The value falls by what the job may add - its share of each device's limit and
its cores - measured against what is left under the cap of the hour, or against the hungriest node where that is less.
A node that nobody uses counts its idle draw as added, too, since it could have slept on. Unknown limits count nothing.
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
    """Per row, in ppm."""
    on_devices = (rows.of_devices(frame.device.power_mw) * rows.milli).sum(axis=1)
    on_cores = WHOLE_MILLI * frame.node.core_mw[rows.node] * demand.request.cores
    added = on_devices + on_cores + np.where(_asleep(frame), frame.node.idle_uw, 0)[rows.node]
    found: Ints = PPM - np.minimum(added, scale.power_uw) * PPM // scale.power_uw
    return found


def _asleep(frame: Frame) -> Ints:
    busy_devices = np.bincount(
        frame.device_node[frame.device.compute_free < WHOLE_MILLI], minlength=len(frame)
    )
    found: Ints = (busy_devices == 0) & (frame.node.cores_free == frame.node.cores_total)
    return found

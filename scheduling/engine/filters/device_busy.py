"""Whole devices must be unbooked; of shared ones some compute must be left."""

import numpy as np

from scheduling.engine.filters.cut import Cut, lacks_memory
from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.DEVICE_BUSY


def narrow(frame: Frame, demand: Demand, cut: Cut) -> None:
    """Devices that are not taken, and those that are left to the memory filters; how much of its compute a shared one
    has left is asked later.
    """
    cut.keep(frame, unbooked(frame, demand, cut) | lacks_memory(frame, demand, cut), cut.count)


def unbooked(frame: Frame, demand: Demand, cut: Cut) -> Bools:
    """Devices with any compute free; with all of it where one is taken alone. Of such a one no memory may be kept,
    either: a hold that came too late for its compute keeps memory only.
    """
    device, alone = frame.device, cut.alone | demand.whole
    found: Bools = device.compute_free >= np.where(alone, cut.milli, np.minimum(cut.milli, 1))
    return found & (~alone | (device.free + device.foreign >= cut.memory))

"""Whole devices must be unbooked; shared ones must have the compute share left."""

from scheduling.engine.filters.cut import Cut
from scheduling.engine.frame import Frame
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.DEVICE_BUSY


def narrow(frame: Frame, demand: Demand, cut: Cut) -> None:
    """Devices with enough unbooked compute; a device taken alone books all of it, so it must be unbooked."""
    cut.keep(frame, frame.device.compute_free >= cut.milli, cut.count)

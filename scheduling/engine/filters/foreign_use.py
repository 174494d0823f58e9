"""Use that no job owns is respected: it blocks whole devices and takes its part of shared ones."""

from scheduling.engine.filters.cut import Cut
from scheduling.engine.frame import Frame
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.FOREIGN_USE


def narrow(frame: Frame, demand: Demand, cut: Cut) -> None:
    """Devices that also fit beside their foreign use."""
    clean = frame.device.foreign == 0
    if demand.whole:
        cut.keep(frame, clean, cut.count)
    else:
        cut.keep(frame, (cut.alone & clean) | (~cut.alone & (frame.device.free >= cut.need)), cut.count)

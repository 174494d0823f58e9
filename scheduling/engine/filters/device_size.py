"""A device smaller than the request never fits it, however empty; an unknown size is not known to fit."""

from scheduling.engine.filters.cut import Cut
from scheduling.engine.frame import Frame
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.DEVICE_TOO_SMALL


def narrow(frame: Frame, demand: Demand, cut: Cut) -> None:
    """Devices whose nominal (total) memory is at least the piece."""
    if cut.piece is not None:
        cut.keep(frame, frame.device.total >= cut.piece, 1)

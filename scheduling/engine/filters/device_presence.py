"""A job that needs an accelerator needs a node that has one."""

from scheduling.engine.filters.cut import Cut
from scheduling.engine.frame import Frame
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.NO_DEVICES


def narrow(frame: Frame, demand: Demand, cut: Cut) -> None:
    """Every pool has a device by construction; nodes without pools fall out."""
    cut.keep(frame, cut.devices, 1)

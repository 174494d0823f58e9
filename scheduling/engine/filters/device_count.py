"""The devices of one job belong to one node and are of one model."""

from scheduling.engine.filters.cut import Cut
from scheduling.engine.frame import Frame
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.DEVICE_COUNT


def narrow(frame: Frame, demand: Demand, cut: Cut) -> None:
    """Pools with as many devices as the job needs, busy or not."""
    cut.keep(frame, cut.devices, cut.count)

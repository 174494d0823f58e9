"""Nodes that are silent, cordoned, draining or otherwise not ready take no jobs."""

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.NODE_NOT_READY


def keeps(frame: Frame, demand: Demand) -> Bools:
    """Ready nodes."""
    return frame.node.ready

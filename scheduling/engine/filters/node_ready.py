"""Nodes that are silent, cordoned, draining or otherwise not ready take no jobs."""

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.NODE_NOT_READY


def keeps(frame: Frame, demand: Demand) -> Bools:
    """Ready nodes, and those that only a pause or the lack of an agent keeps from it, which have own reasons."""
    return frame.node.ready | frame.node.paused | frame.node.agentless

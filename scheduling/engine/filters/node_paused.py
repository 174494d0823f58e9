"""Nodes whose node set is paused take no jobs until it is resumed."""

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.NODE_PAUSED


def keeps(frame: Frame, demand: Demand) -> Bools:
    """Nodes that are not paused."""
    return ~frame.node.paused

"""Nodes whose agent only watches never run a job."""

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.OBSERVE_ONLY


def keeps(frame: Frame, demand: Demand) -> Bools:
    """Nodes that act."""
    return ~frame.node.observe_only

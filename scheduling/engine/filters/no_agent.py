"""Nodes without an agent are looked at from outside: nothing is there that could run a job."""

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.NO_AGENT


def keeps(frame: Frame, demand: Demand) -> Bools:
    """Nodes with an agent."""
    return ~frame.node.agentless

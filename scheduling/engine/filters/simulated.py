"""A simulated node only pretends to run a job, so it takes those that ask for that by its label and no others."""

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import SIMULATED, ReasonCode

CODE = ReasonCode.SIMULATED


def keeps(frame: Frame, demand: Demand) -> Bools | None:
    """Nodes that really run jobs; the filter of labels keeps simulated ones alone for who names their label."""
    if SIMULATED in demand.request.node_labels:
        return None
    return ~frame.nodes_with("labels", SIMULATED)

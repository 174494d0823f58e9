"""Cores that jobs may have: online and not reserved; then those of them that are not booked."""

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

TOTAL_CODE = ReasonCode.CORES_TOTAL
FREE_CODE = ReasonCode.CORES_FREE


def keeps_total(frame: Frame, demand: Demand) -> Bools:
    """Nodes that could ever give so many cores."""
    return frame.node.cores_total >= demand.request.cores


def keeps_free(frame: Frame, demand: Demand) -> Bools:
    """Nodes that can give them now."""
    return frame.node.cores_free >= demand.request.cores

"""Host memory of the node, all of it and what is not booked."""

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

TOTAL_CODE = ReasonCode.HOST_MEMORY_TOTAL
FREE_CODE = ReasonCode.HOST_MEMORY_FREE


def keeps_total(frame: Frame, demand: Demand) -> Bools | None:
    """Nodes that could ever give so much host memory."""
    asked = demand.request.host_memory_mib
    return frame.node.host_total >= asked if asked else None


def keeps_free(frame: Frame, demand: Demand) -> Bools | None:
    """Nodes that can give it now."""
    asked = demand.request.host_memory_mib
    return frame.node.host_free >= asked if asked else None

"""Host memory of the node, all of it and what is not booked."""

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

TOTAL_CODE = ReasonCode.HOST_MEMORY_TOTAL
FREE_CODE = ReasonCode.HOST_MEMORY_FREE


def keeps_total(frame: Frame, demand: Demand) -> Bools:
    """Nodes that could ever give so much host memory."""
    return frame.node.host_total >= (demand.request.host_memory_mib or 0)


def keeps_free(frame: Frame, demand: Demand) -> Bools:
    """Nodes that can give it now."""
    return frame.node.host_free >= (demand.request.host_memory_mib or 0)

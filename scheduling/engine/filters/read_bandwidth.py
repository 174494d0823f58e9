"""Memory bandwidth: a node whose bandwidth is known takes readers only as long as it can serve them."""

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.READ_BANDWIDTH


def keeps(frame: Frame, demand: Demand) -> Bools | None:
    """Nodes that can serve the job's reads beside the booked ones, and nodes of which nobody knows."""
    asked = demand.request.read_bandwidth_mib_s
    if not asked:
        return None
    total = frame.node.read_total
    return (total < 0) | (frame.node.read_bandwidth + asked <= total)

"""A job with an image runs as a container, for which its node needs an engine."""

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.NO_CONTAINER_ENGINE


def keeps(frame: Frame, demand: Demand) -> Bools | None:
    """Nodes with an engine; jobs without an image need none."""
    return None if demand.request.image is None else frame.node.runs_containers

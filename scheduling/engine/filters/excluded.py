"""Nodes that the job must avoid, for example because it failed there."""

import numpy as np

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.NODE_EXCLUDED


def keeps(frame: Frame, demand: Demand) -> Bools | None:
    """Nodes that are not excluded."""
    excluded = demand.request.excluded_nodes
    if not excluded:
        return None
    return ~np.isin(frame.node.id, np.array(excluded, dtype=np.int64))

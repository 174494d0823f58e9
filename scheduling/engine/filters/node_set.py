"""A job that names node sets runs only there."""

import numpy as np

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.NODE_SET


def keeps(frame: Frame, demand: Demand) -> Bools | None:
    """Nodes of a named node set."""
    named = demand.request.node_sets
    if not named:
        return None
    flags = [name in named for name in frame.state.interned.node_sets.values]
    return np.array([*flags, False], dtype=np.bool_)[frame.node.node_set]

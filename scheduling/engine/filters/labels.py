"""Every label the job names must stand on the node with that value."""

import numpy as np

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.LABELS


def keeps(frame: Frame, demand: Demand) -> Bools | None:
    """Nodes with all the labels."""
    if not demand.request.node_labels:
        return None
    kept = np.ones(len(frame), dtype=np.bool_)
    for pair in demand.request.node_labels:
        kept &= frame.nodes_with("labels", pair)
    return kept

"""Power of a node: what it draws and what the job may add must stay within the node's cap; what is unknown of either
is not counted. What adds nothing may start on a node that is over its cap already.
"""

import numpy as np

from scheduling.engine.filters.cut import Cut
from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools, Ints
from scheduling.engine.shapes import Demand
from scheduling.engine.types import WHOLE_MILLI, ReasonCode

CODE = ReasonCode.NODE_POWER


def matters(frame: Frame) -> bool:
    """Whether any node has a cap."""
    return bool((frame.node.power_cap_mw >= 0).any())


def keeps(frame: Frame, demand: Demand) -> Bools:
    """Nodes that may draw what a job without devices adds."""
    return _room_uw(frame) >= WHOLE_MILLI * frame.node.core_mw * demand.request.cores


def narrow(frame: Frame, demand: Demand, cut: Cut) -> None:
    """Pools whose devices the node may feed at their limit."""
    if len(frame.pools):
        cut.pools = cut.pools & (_room_uw(frame)[frame.pool_node] >= added_uw(frame, demand, cut))


def added_uw(frame: Frame, demand: Demand, cut: Cut) -> Ints:
    """Per pool what the job may add, if it gets the devices with the highest limits."""
    of_device = np.maximum.reduceat(frame.device.power_mw * cut.milli, frame.pool_start)
    cores = WHOLE_MILLI * frame.node.core_mw[frame.pool_node] * demand.request.cores
    added: Ints = cut.count * of_device + cores
    return added


def _room_uw(frame: Frame) -> Ints:
    cap = frame.node.power_cap_mw
    room: Ints = np.maximum(WHOLE_MILLI * cap - frame.node.draw_uw, 0)
    return np.where(cap < 0, np.iinfo(np.int64).max, room)

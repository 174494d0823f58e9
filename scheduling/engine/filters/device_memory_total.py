"""The node's devices together must have the free memory that the pre-check of a shared slice asks for."""

from scheduling.engine.filters.cut import Cut, free_but_for_foreign
from scheduling.engine.frame import Frame
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.DEVICE_MEMORY_TOTAL


def narrow(frame: Frame, demand: Demand, cut: Cut) -> None:
    """Pools whose free memory would suffice if it were in one piece; foreign use is asked about later."""
    if demand.whole or cut.piece is None:
        return
    need = demand.need_mib(cut.piece)
    free = free_but_for_foreign(frame, cut)
    free[cut.alone] = need
    free[~cut.devices] = 0
    cut.pools = cut.pools & (frame.sum_by_pool(free) >= cut.count * need)

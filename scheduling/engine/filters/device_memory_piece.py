"""Each device must have its own piece free: 2 x 20 GiB cannot take 40 GiB in one."""

from scheduling.engine.filters.cut import Cut, free_but_for_foreign
from scheduling.engine.frame import Frame
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.DEVICE_MEMORY_PIECE


def narrow(frame: Frame, demand: Demand, cut: Cut) -> None:
    """Devices with the piece free; foreign use is asked about next."""
    if not demand.whole:
        cut.keep(frame, free_but_for_foreign(frame, cut) >= cut.need, cut.count)

"""A shared piece must find the compute that it books in one device."""

from scheduling.engine.filters.cut import Cut, lacks_memory
from scheduling.engine.frame import Frame
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.DEVICE_COMPUTE


def narrow(frame: Frame, demand: Demand, cut: Cut) -> None:
    """Devices with that much unbooked compute, and those that are left to the memory filters."""
    if not demand.whole:
        kept = (frame.device.compute_free >= cut.milli) | lacks_memory(frame, demand, cut)
        cut.keep(frame, kept, cut.count)

"""Whole devices must be unbooked; shared ones must have the compute share left."""

from scheduling.engine.filters.cut import Cut, free_but_for_foreign
from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.DEVICE_BUSY


def narrow(frame: Frame, demand: Demand, cut: Cut) -> None:
    """Devices with enough unbooked compute; a device taken alone books all of it, so it must be unbooked.

    The compute of a memory-only slice is only its memory in other words: a device that lacks the memory, too, is left
    to the memory filters, which give the truer reason.
    """
    kept = unbooked(frame, demand, cut)
    if not demand.whole and demand.request.device_compute_milli == 0:
        kept = kept | (free_but_for_foreign(frame, cut) < cut.need)
    cut.keep(frame, kept, cut.count)


def unbooked(frame: Frame, demand: Demand, cut: Cut) -> Bools:
    """Devices with the compute free that is asked. Of one that is taken alone no memory may be kept, either: a hold
    that came too late for its compute keeps memory only.
    """
    device = frame.device
    found: Bools = device.compute_free >= cut.milli
    return found & (~(cut.alone | demand.whole) | (device.free + device.foreign >= cut.memory))

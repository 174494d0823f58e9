"""A named model is a hard constraint: A100 means A100 (see modelnames for how names match)."""

from scheduling.engine.filters.cut import Cut
from scheduling.engine.frame import Frame
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.DEVICE_MODEL


def narrow(frame: Frame, demand: Demand, cut: Cut) -> None:
    """Devices of a named model, or all when none is named."""
    if demand.request.models:
        flags = demand.model_flags(frame.state.interned.models)
        cut.keep(frame, flags[frame.device.model], 1)

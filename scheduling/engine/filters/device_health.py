"""Healthy and suspect devices take new jobs; cordoned ones and those the job must avoid do not."""

import numpy as np

from scheduling.engine.filters.cut import Cut
from scheduling.engine.frame import Frame
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

CODE = ReasonCode.DEVICE_HEALTH


def narrow(frame: Frame, demand: Demand, cut: Cut) -> None:
    """Devices that may take this job."""
    usable = frame.device.usable
    if demand.request.excluded_devices:
        usable = usable & ~np.isin(frame.device.id, np.array(demand.request.excluded_devices, dtype=np.int64))
    cut.keep(frame, usable, 1)

"""What the device filters share: for one number of devices, what each device would have to give and which devices are
still in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools, Ints, memory_share_milli_column
from scheduling.engine.shapes import Demand
from scheduling.engine.types import WHOLE_MILLI


@dataclass(slots=True, eq=False)
class Cut:
    """`memory` and `milli` are what a job would book of each device, `need` what it must find free there.

    `alone` marks devices that a shared piece can only have for itself: its pre-check exceeds the device, its own size
    does not. `devices` and `pools` are what the filters so far left, `by_pool` how many of the devices each pool has.
    """

    count: int
    piece: int | None
    need: Ints
    memory: Ints
    milli: Ints
    alone: Bools
    devices: Bools
    pools: Bools
    by_pool: Ints

    def keep(self, frame: Frame, devices: Bools, count: int) -> None:
        """Go on with these devices, and with pools that have at least `count` of them."""
        left = self.devices & devices
        if not np.array_equal(left, self.devices):
            self.devices, self.by_pool = left, frame.count_by_pool(left)
        self.pools = self.pools & (self.by_pool >= count)


def cut_of(frame: Frame, demand: Demand, count: int) -> Cut:
    """A fresh cut in which every device is in."""
    device = frame.device
    size = len(device)
    piece = demand.piece_mib(count)
    allocatable = np.maximum(device.allocatable, 0)
    alone = np.zeros(size, dtype=np.bool_)
    milli = np.full(size, demand.request.device_compute_milli, dtype=np.int64)
    if demand.whole:
        memory = need = allocatable
        milli[:] = WHOLE_MILLI
    elif piece is None:
        memory = need = allocatable * milli // WHOLE_MILLI
    else:
        need_mib = demand.need_mib(piece)
        alone = need_mib > device.allocatable
        if demand.request.device_compute_milli == 0:
            milli = memory_share_milli_column(piece, device.allocatable)
        milli = np.where(alone, WHOLE_MILLI, milli)
        memory = np.where(alone, allocatable, piece)
        need = np.where(alone, allocatable, need_mib)
    everything = np.ones(size, dtype=np.bool_)
    pools = np.ones(len(frame.pools), dtype=np.bool_)
    return Cut(count, piece, need, memory, milli, alone, everything, pools, frame.pool.size)


def lacks_memory(frame: Frame, demand: Demand, cut: Cut) -> Bools:
    """Devices without the memory that a memory-only slice needs. Its compute is only its memory in other words, so that
    the memory filters give the truer reason.
    """
    if demand.whole or demand.request.device_compute_milli:
        return np.zeros(len(frame.device), dtype=np.bool_)
    found: Bools = free_but_for_foreign(frame, cut) < cut.need
    return found


def free_but_for_foreign(frame: Frame, cut: Cut) -> Ints:
    """Free memory if nobody outside used the devices; a device given alone counts as what it must find."""
    own = np.minimum(frame.device.free + frame.device.foreign, np.maximum(frame.device.allocatable, 0))
    return np.where(cut.alone, cut.need, own)

"""What inventory asks of the layers above, which register it when the process starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Upward:
    """`booked_mib` sums the bookings of devices; `declare_lost` gives up the placements of a lost node."""

    booked_mib: Callable[[Sequence[int]], Mapping[int, int]] | None = None
    declare_lost: Callable[[int], object] | None = None


UPWARD = Upward()

"""What inventory asks of the layers above, which register it when the process starts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.accounts.models import User


@dataclass(slots=True)
class Upward:
    """Answers of scheduling, None while nobody registered.

    `booked_mib` sums the bookings of devices; `declare_lost` gives up the placements of a lost node;
    `raise_epoch` makes a node's plan newer than the given epoch;
    `device_bookings` and `node_bookings` tell what a user may see of bookings and placements.
    """

    booked_mib: Callable[[Sequence[int]], Mapping[int, int]] | None = None
    declare_lost: Callable[[int], object] | None = None
    raise_epoch: Callable[[int, int], None] | None = None
    device_bookings: Callable[[Collection[int], User], Mapping[int, Mapping[str, Any]]] | None = None
    node_bookings: Callable[[int, User], Mapping[str, Any]] | None = None


UPWARD = Upward()

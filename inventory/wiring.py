"""What inventory asks of the layers above, which register it when the process starts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.accounts.models import User


@dataclass(frozen=True, slots=True)
class Booked:
    """What live placements book of one device."""

    memory_mib: int
    compute_milli: int


@dataclass(slots=True)
class Upward:
    """Answers of scheduling, None while nobody registered.

    `booked` sums the bookings of devices, leaving out those without;
    `declare_lost` gives up the placements of a lost node; `raise_epoch` makes a node's plan newer than the given epoch;
    `reconcile` moves jobs off what failed or is being emptied, and lets them onto devices again that are back in
    service;
    `book_sizes` books memory for what was booked of devices while nobody knew their size;
    `serves` says whether a device that reports a model serves who asks for it by a name;
    `device_bookings` and `node_bookings` tell what a user may see of bookings and placements.
    """

    booked: Callable[[Sequence[int]], Mapping[int, Booked]] | None = None
    declare_lost: Callable[[int], object] | None = None
    reconcile: Callable[[], object] | None = None
    raise_epoch: Callable[[int, int], None] | None = None
    book_sizes: Callable[[Collection[int]], object] | None = None
    serves: Callable[[str, str | None], bool] | None = None
    device_bookings: Callable[[Collection[int], User], Mapping[int, Mapping[str, Any]]] | None = None
    node_bookings: Callable[[int, User], Mapping[str, Any]] | None = None


UPWARD = Upward()

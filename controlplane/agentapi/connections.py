"""Answers of scheduling to the questions of inventory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models import Sum

from inventory.wiring import UPWARD
from scheduling.backends.agent import raise_epoch
from scheduling.losses import declare_lost
from scheduling.models import Slice
from scheduling.selectors.bookings import device_bookings, node_bookings


def connect() -> None:
    """Called once per process."""
    UPWARD.booked_mib = booked_mib
    UPWARD.declare_lost = declare_lost
    UPWARD.raise_epoch = raise_epoch
    UPWARD.device_bookings = device_bookings
    UPWARD.node_bookings = node_bookings


def booked_mib(device_ids: Sequence[int]) -> Mapping[int, int]:
    """Booked device memory; rows of dead placements do not exist."""
    sums = Slice.objects.filter(device__in=device_ids).values_list("device").annotate(Sum("memory_mib"))
    return dict(sums)

"""Answers of scheduling to the questions of inventory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from django.db.models import Sum

from inventory.wiring import UPWARD, Booked
from scheduling.backends.agent import raise_epoch
from scheduling.engine.modelnames import matches
from scheduling.evacuation import reconcile
from scheduling.losses import declare_lost
from scheduling.models import Slice
from scheduling.selectors.bookings import device_bookings, node_bookings


def connect() -> None:
    """Called once per process."""
    UPWARD.booked = booked
    UPWARD.declare_lost = declare_lost
    UPWARD.reconcile = reconcile
    UPWARD.raise_epoch = raise_epoch
    UPWARD.serves = matches
    UPWARD.device_bookings = device_bookings
    UPWARD.node_bookings = node_bookings


def booked(device_ids: Sequence[int]) -> Mapping[int, Booked]:
    """What is booked of devices, and of their slices where they are partitioned; dead placements have no rows."""
    memory_mib: Counter[int] = Counter()
    milli: Counter[int] = Counter()
    for column in ("device", "device__parent"):
        rows = Slice.objects.filter(**{f"{column}__in": device_ids}).order_by().values_list(column)
        for device_id, mib, compute in rows.annotate(Sum("memory_mib"), Sum("compute_milli")):
            memory_mib[device_id] += mib
            milli[device_id] += compute
    return {device_id: Booked(mib, milli[device_id]) for device_id, mib in memory_mib.items()}

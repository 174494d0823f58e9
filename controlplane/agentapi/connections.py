"""Answers of scheduling to the questions of inventory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import connection

from inventory.wiring import UPWARD, Booked
from scheduling.backends.agent import raise_epoch
from scheduling.bookings import book_sizes
from scheduling.engine.modelnames import matches
from scheduling.evacuation import reconcile
from scheduling.losses import declare_lost
from scheduling.selectors.bookings import device_bookings, node_bookings

# All live slices are few beside the devices that are asked for, thousands at once.
BOOKED = """
SELECT booked.id, sum(slice.memory_mib), sum(slice.compute_milli)
FROM scheduling_slice AS slice JOIN inventory_device AS device ON device.id = slice.device_id
CROSS JOIN LATERAL (VALUES (device.id), (device.parent_id)) AS booked (id)
WHERE booked.id = ANY(%s) GROUP BY booked.id
"""


def connect() -> None:
    """Called once per process."""
    UPWARD.booked = booked
    UPWARD.declare_lost = declare_lost
    UPWARD.reconcile = reconcile
    UPWARD.raise_epoch = raise_epoch
    UPWARD.book_sizes = book_sizes
    UPWARD.serves = matches
    UPWARD.device_bookings = device_bookings
    UPWARD.node_bookings = node_bookings


def booked(device_ids: Sequence[int]) -> Mapping[int, Booked]:
    """What is booked of devices, and of their slices where they are partitioned; dead placements have no rows."""
    with connection.cursor() as cursor:
        cursor.execute(BOOKED, [list(device_ids)])
        return {
            device_id: Booked(int(memory_mib), int(milli))
            for device_id, memory_mib, milli in cursor.fetchall()
        }

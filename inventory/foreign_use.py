"""Device memory in use that nobody booked: found from the latest readings, written only when it crosses a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection, transaction

from controlplane.base.arrays import array_literal
from inventory.revisions import nodes_changed

STEP_MIB = 256
# A driver's own use of an idle device (contexts, a desktop) lies below this; more is somebody's.
FLOOR_MIB = 512

# Only devices whose use no booking covers, or did not when last looked at: of most nothing has to be known.
SUSPECTS = """
SELECT device.id, device.foreign_mib, reading.unbooked_mib, reading.memory_used_mib, booked.mib,
       coalesce(device.memory_reserved_mib, 0)
FROM unnest(%s::bigint[], %s::bigint[]) AS booked (device_id, mib)
JOIN inventory_devicereading AS reading ON reading.device_id = booked.device_id
JOIN inventory_device AS device ON device.id = booked.device_id
WHERE reading.memory_used_mib IS NOT NULL
  AND (reading.memory_used_mib - booked.mib > %s OR device.foreign_mib > 0 OR reading.unbooked_mib > 0)
ORDER BY device.id
"""
UPDATE_UNBOOKED = """
UPDATE inventory_devicereading AS reading SET unbooked_mib = new.unbooked_mib
FROM unnest(%s::bigint[], %s::bigint[]) AS new (device_id, unbooked_mib) WHERE reading.device_id = new.device_id
"""
# Whose row somebody else holds is looked at again with its next reading: of this nobody waits for anybody.
UPDATE_FOREIGN = """
WITH held AS (
    SELECT device.id, new.foreign_mib
    FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS new (device_id, before_mib, foreign_mib)
    JOIN inventory_device AS device ON device.id = new.device_id AND device.foreign_mib = new.before_mib
    ORDER BY device.id FOR UPDATE OF device SKIP LOCKED
)
UPDATE inventory_device AS device SET foreign_mib = held.foreign_mib FROM held WHERE device.id = held.id
RETURNING device.node_id
"""


@dataclass(frozen=True, slots=True)
class _Suspect:
    """A device with what was found last time, and what is used and booked now."""

    device_id: int
    foreign_mib: int
    unbooked_mib: int | None
    used_mib: int
    booked_mib: int
    reserved_mib: int


def update_foreign(device_ids: Sequence[int], booked_mib: Mapping[int, int]) -> None:
    """Each write lets scheduling look again. Foreign use grows only when two readings in a row show it: the first after
    a job's end may still show that job's memory.
    """
    booked = [booked_mib.get(device_id, 0) for device_id in device_ids]
    with connection.cursor() as cursor:
        cursor.execute(SUSPECTS, [array_literal(device_ids), array_literal(booked), FLOOR_MIB])
        suspects = [_Suspect(*row) for row in cursor.fetchall()]
    measured: dict[int, int] = {}
    changed: list[tuple[int, int, int]] = []
    for one in suspects:
        unbooked_mib = foreign_use(one.used_mib, one.booked_mib, one.reserved_mib)
        if unbooked_mib != (one.unbooked_mib or 0):
            measured[one.device_id] = unbooked_mib
        foreign_mib = unbooked_mib
        if unbooked_mib > one.foreign_mib:
            foreign_mib = max(one.foreign_mib, min(unbooked_mib, one.unbooked_mib or 0))
        if foreign_mib != one.foreign_mib:
            changed.append((one.device_id, one.foreign_mib, foreign_mib))
    _write_foreign(changed)
    if measured:
        with connection.cursor() as cursor:
            columns = [array_literal(list(measured)), array_literal(list(measured.values()))]
            cursor.execute(UPDATE_UNBOOKED, columns)


def _write_foreign(changed: Sequence[tuple[int, int, int]]) -> None:
    """Rows of device, MiB before and MiB now, all at once."""
    if not changed:
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(UPDATE_FOREIGN, [array_literal(column) for column in zip(*changed, strict=True)])
            nodes = {row[0] for row in cursor.fetchall()}
        nodes_changed(nodes)


def foreign_use(used_mib: int, booked_mib: int, reserved_mib: int) -> int:
    """MiB in use that nobody booked, rounded up to a step; 0 when it may be the driver's own."""
    beyond_mib = used_mib - booked_mib
    if beyond_mib <= max(FLOOR_MIB, reserved_mib):
        return 0
    return -(-beyond_mib // STEP_MIB) * STEP_MIB

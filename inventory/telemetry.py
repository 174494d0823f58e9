"""The only writer of readings: the latest of each host and device by the server's time of receipt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog
from django.db import DatabaseError, connection, transaction

from agent.protocol import DeviceSample, NodeSample
from controlplane.base.failures import DATABASE_GONE
from controlplane.base.tx import Topic, after_commit
from inventory import plausible, streams
from inventory.identifiers import normal_identity
from inventory.models import Device, DeviceReading
from inventory.revisions import node_changed

log = structlog.get_logger(__name__)

BATCH = 2_000
MAX_BATCHES = 20
FOREIGN_STEP_MIB = 256
# A driver's own use of an idle device (contexts, a desktop) lies below this; more is somebody's.
FOREIGN_FLOOR_MIB = 512

BookedReader = Callable[[Sequence[int]], Mapping[int, int]]

UPSERT_DEVICES = """
INSERT INTO inventory_devicereading AS old (device_id, at, memory_used_mib, utilization_pct, temperature_c, power_mw)
SELECT DISTINCT ON (device.id) device.id, new.at,
    CASE WHEN new.used > device.memory_total_mib THEN NULL ELSE new.used END,
    new.util, new.temp, new.power
FROM unnest(%s::bigint[], %s::text[], %s::timestamptz[], %s::bigint[], %s::smallint[], %s::smallint[], %s::bigint[])
    AS new (node_id, identity, at, used, util, temp, power)
JOIN LATERAL (
    SELECT id, identity, memory_total_mib FROM inventory_device
    WHERE node_id = new.node_id AND (identity = new.identity OR pci_bus_id = new.identity)
    ORDER BY identity = new.identity DESC, health = 'missing', id LIMIT 1
) device ON true
ORDER BY device.id, new.at DESC, new.identity = device.identity DESC
ON CONFLICT (device_id) DO UPDATE SET at = excluded.at, memory_used_mib = excluded.memory_used_mib,
    utilization_pct = excluded.utilization_pct, temperature_c = excluded.temperature_c, power_mw = excluded.power_mw
WHERE old.at < excluded.at
RETURNING device_id
"""
UPSERT_NODES = """
INSERT INTO inventory_nodereading AS old (node_id, at, cpu_used_milli, memory_used_mib, load1_milli, power_mw)
SELECT node.id, new.at, new.cpu, CASE WHEN new.used > node.memory_mib THEN NULL ELSE new.used END, new.load, new.power
FROM unnest(%s::bigint[], %s::timestamptz[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
    AS new (node_id, at, cpu, used, load, power)
JOIN inventory_node node ON node.id = new.node_id
ORDER BY node.id
ON CONFLICT (node_id) DO UPDATE SET at = excluded.at, cpu_used_milli = excluded.cpu_used_milli,
    memory_used_mib = excluded.memory_used_mib, load1_milli = excluded.load1_milli, power_mw = excluded.power_mw
WHERE old.at < excluded.at
"""
UPDATE_UNBOOKED = """
UPDATE inventory_devicereading reading SET unbooked_mib = new.unbooked_mib
FROM unnest(%s::bigint[], %s::bigint[]) AS new (device_id, unbooked_mib) WHERE reading.device_id = new.device_id
"""


@dataclass(frozen=True, slots=True)
class Flushed:
    """What one flush did."""

    entries: int
    devices: int


def flush(booked_reader: BookedReader | None) -> Flushed:
    """Stores what waits in the stream; with the bookings that `booked_reader` knows, unbooked use is noticed."""
    entries = devices = 0
    for _ in range(MAX_BATCHES):
        ids, readings = streams.take(BATCH)
        if not ids:
            break
        devices += _store_batch(readings, booked_reader)
        streams.forget(ids)
        entries += len(ids)
        if len(ids) < BATCH:
            break
    return Flushed(entries, devices)


def _store_batch(readings: Sequence[streams.Reading], booked_reader: BookedReader | None) -> int:
    """One reading that the database refuses is dropped alone: kept, it would hold up all that come after it."""
    try:
        return store(readings, booked_reader)
    except DATABASE_GONE:
        raise
    except DatabaseError as error:
        log.warning("readings-refused", error=type(error).__name__, reports=len(readings))
    return sum(_store_one(reading, booked_reader) for reading in readings)


def _store_one(reading: streams.Reading, booked_reader: BookedReader | None) -> int:
    try:
        return store([reading], booked_reader)
    except DATABASE_GONE:
        raise
    except DatabaseError as error:
        log.warning("reading-dropped", error=str(error), node=reading.node)
        return 0


def store(readings: Iterable[streams.Reading], booked_reader: BookedReader | None) -> int:
    """Upserts the latest reading of each host and device; returns the number of devices that got a newer one."""
    hosts: dict[int, tuple[datetime, NodeSample]] = {}
    devices: dict[tuple[int, str], tuple[datetime, DeviceSample]] = {}
    for reading in sorted(readings, key=lambda one: one.received_at_ms):
        at = datetime.fromtimestamp(reading.received_at_ms / 1000, UTC)
        if reading.host is not None:
            hosts[reading.node] = (at, reading.host)
        for sample in reading.devices:
            devices[reading.node, normal_identity(sample.device)] = (at, sample)
    with transaction.atomic():
        _store_hosts(hosts)
        stored = _store_devices(devices)
        if hosts or stored:
            # Not the map itself: every look at the overview would follow each flush.
            after_commit(Topic.HINT, ("readings",))
    if booked_reader is not None and stored:
        update_foreign(stored, booked_reader(stored))
    return len(stored)


def _store_hosts(hosts: Mapping[int, tuple[datetime, NodeSample]]) -> None:
    rows = [
        (
            node_id,
            at,
            plausible.CPU_USED_MILLI.clean(sample.cpu_used_milli),
            plausible.HOST_USED_MIB.clean(sample.memory_used_mib),
            plausible.LOAD_MILLI.clean(sample.load1_milli),
            plausible.NODE_POWER_MW.clean(sample.power_mw),
        )
        for node_id, (at, sample) in sorted(hosts.items())
    ]
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(UPSERT_NODES, [list(column) for column in zip(*rows, strict=True)])


def _store_devices(devices: Mapping[tuple[int, str], tuple[datetime, DeviceSample]]) -> list[int]:
    rows = [
        (
            node_id,
            identity,
            at,
            plausible.DEVICE_USED_MIB.clean(sample.memory_used_mib),
            plausible.UTILIZATION_PCT.clean(sample.utilization_pct),
            plausible.TEMPERATURE_C.clean(sample.temperature_c),
            plausible.DEVICE_POWER_MW.clean(sample.power_mw),
        )
        for (node_id, identity), (at, sample) in sorted(devices.items())
        if "\x00" not in identity
    ]
    if not rows:
        return []
    with connection.cursor() as cursor:
        cursor.execute(UPSERT_DEVICES, [list(column) for column in zip(*rows, strict=True)])
        return [row[0] for row in cursor.fetchall()]


def update_foreign(device_ids: Sequence[int], booked_mib: Mapping[int, int]) -> None:
    """Use that no booking covers, written only when it crosses a step, since each write lets scheduling look again.

    It grows only when two readings in a row show it: the first after a job's end may still show that job's memory.
    """
    readings = DeviceReading.objects.filter(device__in=device_ids, memory_used_mib__isnull=False)
    measured: dict[int, int] = {}
    for reading in readings.select_related("device").order_by("device_id"):
        device = reading.device
        unbooked_mib = foreign_use(
            reading.memory_used_mib or 0, booked_mib.get(device.pk, 0), device.memory_reserved_mib or 0
        )
        if unbooked_mib != reading.unbooked_mib:
            measured[device.pk] = unbooked_mib
        foreign_mib = unbooked_mib
        if unbooked_mib > device.foreign_mib:
            foreign_mib = max(device.foreign_mib, min(unbooked_mib, reading.unbooked_mib or 0))
        _write_foreign(device, foreign_mib)
    if measured:
        with connection.cursor() as cursor:
            cursor.execute(UPDATE_UNBOOKED, [list(measured), list(measured.values())])


def _write_foreign(device: Device, foreign_mib: int) -> None:
    if foreign_mib == device.foreign_mib:
        return
    with transaction.atomic():
        if Device.objects.filter(pk=device.pk, foreign_mib=device.foreign_mib).update(
            foreign_mib=foreign_mib
        ):
            node_changed(device.node_id)


def foreign_use(used_mib: int, booked_mib: int, reserved_mib: int) -> int:
    """MiB in use that nobody booked, rounded up to a step; 0 when it may be the driver's own."""
    beyond_mib = used_mib - booked_mib
    if beyond_mib <= max(FOREIGN_FLOOR_MIB, reserved_mib):
        return 0
    return -(-beyond_mib // FOREIGN_STEP_MIB) * FOREIGN_STEP_MIB

"""The only writer of readings: the latest of each host and device, and all of them into the history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.db import DatabaseError, connection, transaction

from agent.protocol import DeviceSample, NodeSample
from controlplane.base import clock
from controlplane.base.arrays import array_literal
from controlplane.base.failures import DATABASE_GONE
from controlplane.base.tx import Topic, after_commit
from controlplane.policy.active import active_policy
from inventory import plausible, streams
from inventory.foreign_use import update_foreign
from inventory.history import partitions
from inventory.history.metrics import Grain
from inventory.history.rollup import mark_due
from inventory.identifiers import normal_identity
from inventory.wiring import Booked

log = structlog.get_logger(__name__)

# Small enough that the first of many do not wait for the last to be stored.
BATCH = 500
MAX_BATCHES = 80

# A card that is there has a better claim to its address than one that left.
RESOLVE = """
SELECT pair.node_id, pair.identity, device.id, device.identity = pair.identity
FROM unnest(%s::bigint[], %s::text[]) AS pair (node_id, identity)
JOIN LATERAL (
    SELECT id, identity FROM inventory_device
    WHERE node_id = pair.node_id AND (identity = pair.identity OR pci_bus_id = pair.identity)
    ORDER BY identity = pair.identity DESC, health = 'missing', id LIMIT 1
) AS device ON true
"""
# Latest state and history in one pass. A reading that says nothing at all is no row of the history.
STORE_DEVICES = """
WITH new AS MATERIALIZED (
    SELECT device.id, new.at, CASE WHEN new.used > device.memory_total_mib THEN NULL ELSE new.used END AS used,
           new.util, new.temp, new.power, new.booked_mib, new.booked_milli
    FROM unnest(%(device)s::bigint[], %(at)s::timestamptz[], %(used)s::int[], %(util)s::int[], %(temp)s::int[],
                %(power)s::int[], %(booked_mib)s::int[], %(booked_milli)s::int[])
        AS new (device_id, at, used, util, temp, power, booked_mib, booked_milli)
    JOIN inventory_device AS device ON device.id = new.device_id
), history AS (
    INSERT INTO inventory_devicehistory_raw
        (device_id, at, memory_used_mib, utilization_pct, temperature_c, power_mw, booked_mib, booked_milli)
    SELECT id, at, used, util, temp, power, booked_mib, booked_milli FROM new
    WHERE at >= %(oldest)s AND num_nonnulls(used, util, temp, power) > 0
    ON CONFLICT (device_id, at) DO NOTHING
)
INSERT INTO inventory_devicereading AS old (device_id, at, memory_used_mib, utilization_pct, temperature_c, power_mw)
SELECT DISTINCT ON (id) id, at, used, util, temp, power FROM new ORDER BY id, at DESC
ON CONFLICT (device_id) DO UPDATE SET at = excluded.at, memory_used_mib = excluded.memory_used_mib,
    utilization_pct = excluded.utilization_pct, temperature_c = excluded.temperature_c, power_mw = excluded.power_mw
WHERE old.at < excluded.at
RETURNING device_id
"""
STORE_NODES = """
WITH new AS MATERIALIZED (
    SELECT node.id, new.at, new.cpu, CASE WHEN new.used > node.memory_mib THEN NULL ELSE new.used END AS used,
           new.load, new.power
    FROM unnest(%(node)s::bigint[], %(at)s::timestamptz[], %(cpu)s::int[], %(used)s::int[], %(load)s::int[],
                %(power)s::int[])
        AS new (node_id, at, cpu, used, load, power)
    JOIN inventory_node AS node ON node.id = new.node_id
), history AS (
    INSERT INTO inventory_nodehistory_raw (node_id, at, cpu_used_milli, memory_used_mib, load1_milli, power_mw)
    SELECT id, at, cpu, used, load, power FROM new
    WHERE at >= %(oldest)s AND num_nonnulls(cpu, used, load, power) > 0
    ON CONFLICT (node_id, at) DO NOTHING
)
INSERT INTO inventory_nodereading AS old (node_id, at, cpu_used_milli, memory_used_mib, load1_milli, power_mw)
SELECT DISTINCT ON (id) id, at, cpu, used, load, power FROM new ORDER BY id, at DESC
ON CONFLICT (node_id) DO UPDATE SET at = excluded.at, cpu_used_milli = excluded.cpu_used_milli,
    memory_used_mib = excluded.memory_used_mib, load1_milli = excluded.load1_milli, power_mw = excluded.power_mw
WHERE old.at < excluded.at
"""


BookedReader = Callable[[Sequence[int]], Mapping[int, Booked]]
NOTHING_BOOKED = Booked(0, 0)


@dataclass(frozen=True, slots=True)
class Flushed:
    """What one flush did."""

    entries: int
    devices: int


def flush(booked_reader: BookedReader | None, *, goes_on: Callable[[], bool] = lambda: True) -> Flushed:
    """Stores what waits in the stream, as long as it `goes_on`; with the bookings that `booked_reader` knows, unbooked
    use is noticed.

    Killed between storing and forgetting it stores the same again, which changes nothing.
    """
    entries = devices = 0
    for _ in range(MAX_BATCHES):
        ids, readings = streams.take(BATCH)
        if not ids:
            break
        devices += _store_batch(readings, booked_reader)
        streams.keep_uses(readings)
        streams.forget(ids)
        entries += len(ids)
        if len(ids) < BATCH or not goes_on():
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


def store(readings: Sequence[streams.Reading], booked_reader: BookedReader | None) -> int:
    """Latest state and history; the number of devices whose latest reading is now a newer one."""
    hosts = _host_columns(readings)
    samples = _resolved(readings)
    device_ids = sorted({device_id for device_id, _at in samples})
    booked = None if booked_reader is None else booked_reader(device_ids)
    devices = _device_columns(samples, booked)
    oldest = partitions.oldest_kept(clock.now(), active_policy().retention)
    kept = [at for at in {*hosts["at"], *devices["at"]} if at >= oldest]
    partitions.ensure({partitions.start_of(at, 60) for at in kept})
    with transaction.atomic():
        if kept:
            mark_due(Grain.MINUTE, kept)
        stored = _store_columns(hosts, devices, oldest)
        if hosts["at"] or stored:
            # Not the map itself: every look at the overview would follow each flush.
            after_commit(Topic.HINT, ("readings",))
    if booked is not None and stored:
        update_foreign(stored, {device_id: one.memory_mib for device_id, one in booked.items()})
    return len(stored)


def _store_columns(hosts: dict[str, list[Any]], devices: dict[str, list[Any]], oldest: datetime) -> list[int]:
    """Two statements; the devices whose latest reading is now a newer one."""
    with connection.cursor() as cursor:
        if hosts["at"]:
            cursor.execute(STORE_NODES, {**_literals(hosts), "oldest": oldest})
        if not devices["at"]:
            return []
        cursor.execute(STORE_DEVICES, {**_literals(devices), "oldest": oldest})
        return [row[0] for row in cursor.fetchall()]


def _literals(columns: Mapping[str, list[Any]]) -> dict[str, str]:
    return {name: array_literal(values) for name, values in columns.items()}


def _host_columns(readings: Sequence[streams.Reading]) -> dict[str, list[Any]]:
    """Columns of the hosts' readings, one per node and moment."""
    samples: dict[tuple[int, int], NodeSample] = {
        (reading.node, reading.received_at_ms): reading.host
        for reading in readings
        if reading.host is not None
    }
    ordered = sorted(samples.items())
    return {
        "node": [node for (node, _at), _sample in ordered],
        "at": [clock.from_ms(at_ms) for (_node, at_ms), _sample in ordered],
        "cpu": [plausible.CPU_USED_MILLI.clean(sample.cpu_used_milli) for _key, sample in ordered],
        "used": [plausible.HOST_USED_MIB.clean(sample.memory_used_mib) for _key, sample in ordered],
        "load": [plausible.LOAD_MILLI.clean(sample.load1_milli) for _key, sample in ordered],
        "power": [plausible.NODE_POWER_MW.clean(sample.power_mw) for _key, sample in ordered],
    }


def _resolved(readings: Sequence[streams.Reading]) -> dict[tuple[int, int], DeviceSample]:
    """Samples by device id and time of receipt; one named by its UUID has a better claim than one by its address."""
    named = [
        (reading.node, normal_identity(sample.device), reading.received_at_ms, sample)
        for reading in readings
        for sample in reading.devices
    ]
    pairs = {(node, identity) for node, identity, _at, _sample in named if "\x00" not in identity}
    if not pairs:
        return {}
    with connection.cursor() as cursor:
        nodes, identities = zip(*sorted(pairs), strict=True)
        cursor.execute(RESOLVE, [array_literal(nodes), list(identities)])
        known = {(node, identity): (device, exact) for node, identity, device, exact in cursor.fetchall()}
    found: dict[tuple[int, int], tuple[bool, DeviceSample]] = {}
    for node, identity, at_ms, sample in named:
        if (node, identity) in known:
            device_id, exact = known[node, identity]
            if exact or not found.get((device_id, at_ms), (False,))[0]:
                found[device_id, at_ms] = (exact, sample)
    return {key: sample for key, (_exact, sample) in sorted(found.items())}


def _device_columns(
    samples: Mapping[tuple[int, int], DeviceSample], booked: Mapping[int, Booked] | None
) -> dict[str, list[Any]]:
    """Columns of the devices' readings, with what is booked of each now; unknown bookings are null."""
    bookings = [
        None if booked is None else booked.get(device_id, NOTHING_BOOKED) for device_id, _at in samples
    ]
    values = samples.values()
    return {
        "device": [device_id for device_id, _at in samples],
        "at": [clock.from_ms(at_ms) for _device, at_ms in samples],
        "used": [plausible.DEVICE_USED_MIB.clean(sample.memory_used_mib) for sample in values],
        "util": [plausible.UTILIZATION_PCT.clean(sample.utilization_pct) for sample in values],
        "temp": [plausible.TEMPERATURE_C.clean(sample.temperature_c) for sample in values],
        "power": [plausible.DEVICE_POWER_MW.clean(sample.power_mw) for sample in values],
        "booked_mib": [one and one.memory_mib for one in bookings],
        "booked_milli": [one and one.compute_milli for one in bookings],
    }

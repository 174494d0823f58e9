"""Accelerators by model, hosts and queues for Prometheus; five queries however large the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import connection
from prometheus_client.core import GaugeMetricFamily

from controlplane.base import clock
from queues.models import JobStatus, Queue
from scheduling.selectors.shares import live_counts, wait_stats

# Readings older than this say nothing about now.
FRESH = timedelta(minutes=2)
# So many models have labels of their own, those with most devices; the rest are one. So a name that somebody makes up
# cannot make series without end.
MOST_MODELS = 40
OTHER, UNKNOWN = "other", "unknown"
MIB = 1 << 20

DEVICES = """
SELECT coalesce(device.vendor, ''), coalesce(nullif(device.model, ''), %(unknown)s), device.health,
       count(*), sum(device.memory_total_mib), sum(slices.mib), sum(slices.milli),
       sum(fresh.memory_used_mib), sum(fresh.power_mw), max(fresh.temperature_c), count(fresh.utilization_pct),
       sum(fresh.utilization_pct)
FROM inventory_device AS device
LEFT JOIN inventory_devicereading AS fresh ON fresh.device_id = device.id AND fresh.at >= %(since)s
LEFT JOIN (SELECT coalesce(unit.parent_id, unit.id) AS device_id, sum(part.memory_mib) AS mib,
                  sum(part.compute_milli) AS milli
           FROM scheduling_slice AS part JOIN inventory_device AS unit ON unit.id = part.device_id GROUP BY 1) AS slices
    ON slices.device_id = device.id
WHERE device.parent_id IS NULL
GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3
"""
MARKS = """
SELECT avg(utilization_pct), percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY utilization_pct),
       avg(temperature_c), percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY temperature_c)
FROM inventory_devicereading WHERE at >= %(since)s
"""
HOSTS = """
SELECT sum(node.cpu_count) FILTER (WHERE fresh.cpu_used_milli IS NOT NULL), sum(fresh.cpu_used_milli),
       sum(node.memory_mib) FILTER (WHERE fresh.memory_used_mib IS NOT NULL), sum(fresh.memory_used_mib),
       sum(fresh.power_mw), max(abs(contact.clock_offset_us))
FROM inventory_node AS node
LEFT JOIN inventory_nodereading AS fresh ON fresh.node_id = node.id AND fresh.at >= %(since)s
LEFT JOIN inventory_nodecontact AS contact ON contact.node_id = node.id
"""
STATS = ("mean", "p50", "p95", "p99")
# Columns of DEVICES that add up, with the metric that each becomes and what one of them is in the unit of its name.
SUMS = (
    (4, "device_memory_bytes", "Memory of accelerators.", MIB),
    (5, "device_memory_booked_bytes", "Memory of accelerators that jobs book.", MIB),
    (6, "device_booked_ratio_sum", "Booked accelerators, shares added up.", 0.001),
    (7, "device_memory_used_bytes", "Memory in use as measured in the last 2 minutes.", MIB),
    (8, "device_power_watts", "Power drawn as measured in the last 2 minutes.", 0.001),
)


def families() -> Iterator[GaugeMetricFamily]:
    """What is unknown is left out, never 0."""
    since = {"since": clock.now() - FRESH, "unknown": UNKNOWN}
    yield from _devices(_rows(DEVICES, since))
    yield from _marks(_rows(MARKS, since)[0])
    yield from _hosts(_rows(HOSTS, since)[0])
    yield from _queues()


def _rows(sql: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall()


def _devices(rows: Sequence[tuple[Any, ...]]) -> Iterator[GaugeMetricFamily]:
    counts = _family(
        "device_models", "Accelerators by vendor, model and health.", ["vendor", "model", "health"]
    )
    named = set(list(dict.fromkeys((vendor, model) for vendor, model, *_ in rows))[:MOST_MODELS])
    by_health: dict[tuple[str, str, str], int] = {}
    by_model: dict[tuple[str, str], list[list[Any]]] = {}
    for row in rows:
        vendor, model = (row[0], row[1]) if (row[0], row[1]) in named else (OTHER, OTHER)
        key = (vendor, model, row[2])
        by_health[key] = by_health.get(key, 0) + row[3]
        by_model.setdefault((vendor, model), []).append(list(row))
    for labels, count in by_health.items():
        counts.add_metric(list(labels), count)
    yield counts
    for column, name, text, unit in SUMS:
        family = _family(name, text, ["vendor", "model"])
        for pair, parts in by_model.items():
            _add(family, pair, _total(parts, column), unit)
        yield family
    yield from _measured(by_model)


def _measured(by_model: Mapping[tuple[str, str], list[list[Any]]]) -> Iterator[GaugeMetricFamily]:
    util = _family("device_utilization_ratio", "Mean measured use.", ["vendor", "model"])
    heat = _family("device_temperature_max_celsius", "The hottest accelerator.", ["vendor", "model"])
    for pair, parts in by_model.items():
        count, total = _total(parts, 10), _total(parts, 11)
        if count:
            util.add_metric(list(pair), float(total or 0) / float(count) / 100)
        _add(heat, pair, max((part[9] for part in parts if part[9] is not None), default=None), 1)
    yield from (util, heat)


def _total(parts: Sequence[Sequence[Any]], column: int) -> Any:
    known = [part[column] for part in parts if part[column] is not None]
    return sum(known) if known else None


def _marks(row: tuple[Any, ...]) -> Iterator[GaugeMetricFamily]:
    for name, text, mean, marks, unit in (
        ("utilization_ratio", "Measured use of all accelerators.", row[0], row[1], 0.01),
        ("temperature_celsius", "Temperature of all accelerators.", row[2], row[3], 1),
    ):
        family = _family(f"devices_{name}", text, ["stat"])
        for stat, value in zip(STATS, (mean, *(marks or (None,) * 3)), strict=True):
            _add(family, (stat,), value, unit)
        yield family


def _hosts(row: tuple[Any, ...]) -> Iterator[GaugeMetricFamily]:
    for name, text, value, unit in (
        ("host_cpu_cores", "Logical CPUs of hosts that report their use.", row[0], 1),
        ("host_cpu_used_cores", "Logical CPUs in use.", row[1], 0.001),
        ("host_memory_bytes", "Memory of hosts that report their use.", row[2], MIB),
        ("host_memory_used_bytes", "Memory of hosts in use.", row[3], MIB),
        ("host_power_watts", "Power drawn by hosts that measure it.", row[4], 0.001),
        ("clock_offset_max_seconds", "The largest clock offset of a node.", row[5], 0.000001),
    ):
        family = _family(name, text, [])
        _add(family, (), value, unit)
        yield family


def _queues() -> Iterator[GaugeMetricFamily]:
    depth = _family("queue_jobs", "Jobs of a queue that are not over, by status.", ["queue", "status"])
    waits = _family("queue_wait_seconds", "Waits of jobs started in the last 24 hours.", ["queue", "stat"])
    counts, stats = live_counts(), wait_stats()
    for queue, name in Queue.objects.filter(closed=False).order_by("name").values_list("id", "name"):
        for status in (JobStatus.PENDING, JobStatus.STARTING, JobStatus.RUNNING):
            depth.add_metric([name, status.value], counts.get(queue, {}).get(status, 0))
        for stat in STATS:
            _add(waits, (name, stat), stats.get(queue, {}).get(stat), 1)
    yield from (depth, waits)


def _family(name: str, text: str, labels: list[str]) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"headrace_{name}", text, labels=labels)


def _add(family: GaugeMetricFamily, labels: Sequence[str], value: Any, unit: float) -> None:
    if value is not None:
        family.add_metric(list(labels), float(value) * unit)

"""What Prometheus reads: the status, and counts of nodes, devices and jobs; read anew for each scrape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import Count
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST as CONTENT_TYPE
from prometheus_client.registry import Collector

from inventory import streams
from inventory.models import Device, Node
from queues.models import LIVE_STATUSES, Job
from scheduling import fleet_metrics
from scheduling.selectors.status import status

__all__ = ["CONTENT_TYPE", "exposition"]


def exposition() -> bytes:
    """All metrics in the text format. What is unknown is left out, never 0."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures())
    return generate_latest(registry)


class _Figures(Collector):
    def collect(self) -> Iterator[GaugeMetricFamily]:
        found = status()
        yield from _cycle(found["cycle"])
        yield _labelled("worker_queue_waiting", "Messages that no worker has taken yet.", "queue", [
            (row["name"], row["waiting"]) for row in found["workers"]
        ])  # fmt: skip
        yield _labelled("agents", "Nodes by whether their agents report.", "state", [
            (name, found["agents"][name]) for name in ("online", "silent")
        ])  # fmt: skip
        size_mib = found["database"]["size_mib"]
        yield _plain("database_size_bytes", "Size of the database.", size_mib and size_mib << 20)
        yield _plain("broker_up", "Whether Valkey answers.", int(found["valkey"]["ok"]))
        yield _labelled("nodes", "Nodes by state.", "state", _counts(Node.objects.all(), "state"))
        yield _labelled(
            "devices", "Devices by health.", "health", _counts(Device.objects.filter(parent=None), "health")
        )
        live = Job.objects.filter(status__in=LIVE_STATUSES)
        yield _labelled("jobs", "Jobs that are not over, by status.", "status", _counts(live, "status"))
        yield _plain(
            "readings_waiting", "Reports whose readings no worker has stored yet.", streams.waiting()
        )
        yield from fleet_metrics.families()


def _cycle(cycle: dict[str, Any]) -> Iterator[GaugeMetricFamily]:
    marks = [(name, cycle["wall_ms"][name]) for name in ("mean", "p50", "p95", "p99")]
    seconds = [(name, None if value is None else value / 1000) for name, value in marks]
    yield _labelled("cycle_wall_seconds", "Time of a cycle over the last hour.", "stat", seconds)
    for name, text in (
        ("looks_1h", "Looks for waiting jobs in the last hour."),
        ("count_1h", "Looks that found waiting jobs in the last hour."),
        ("skipped_1h", "Looks that came to nothing in the last hour."),
        ("decisions_per_s", "Decisions per second of cycle time in the last hour."),
        ("cache_hit_percent", "Scores that were still right in the last hour."),
        ("cpu_percent", "Processor time of cycles in the last hour, of one core."),
        ("longest_gap_s", "Longest time between two looks in the last hour."),
    ):
        yield _plain(f"cycle_{name}", text, cycle[name])


def _counts(rows: Any, column: str) -> Iterable[tuple[str, int]]:
    return list(rows.order_by().values_list(column).annotate(n=Count("pk")))


def _plain(name: str, text: str, value: float | None) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"headrace_{name}", text)
    if value is not None:
        family.add_metric([], value)
    return family


def _labelled(
    name: str, text: str, label: str, rows: Iterable[tuple[str, float | None]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"headrace_{name}", text, labels=[label])
    for value, number in rows:
        if number is not None:
            family.add_metric([value], number)
    return family

"""Which containers found their image on the node, and how long the others waited for it; writes ImageStart."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import Count, Q

from controlplane.base import clock
from inventory.images.names import canonical
from inventory.models import Image, ImageStart, Node

_HISTORY = """
SELECT image, count(*) AS starts, count(*) FILTER (WHERE pull_ms IS NULL) AS hits, round(avg(pull_ms)) AS mean,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY pull_ms), percentile_disc(0.95) WITHIN GROUP (ORDER BY pull_ms),
       percentile_disc(0.99) WITHIN GROUP (ORDER BY pull_ms)
FROM inventory_imagestart WHERE at >= %s AND image = ANY(%s) GROUP BY image
"""


def note_start(node: int, image: str, *, pull_ms: int | None) -> None:
    """A container of this image started; simulated nodes fetch nothing."""
    if Node.objects.filter(pk=node, simulated=False).exists():
        name = canonical(image)
        Image.objects.bulk_create([Image(name=name)], ignore_conflicts=True)
        ImageStart.objects.create(node_id=node, image=name, pull_ms=pull_ms)


def starts_since(days: int) -> dict[str, dict[int, int]]:
    """How often each image started on each node lately."""
    rows = ImageStart.objects.filter(at__gte=clock.now() - timedelta(days=days)).values_list(
        "image", "node_id"
    )
    found: dict[str, dict[int, int]] = {}
    for image, node in rows.iterator():
        nodes = found.setdefault(image, {})
        nodes[node] = nodes.get(node, 0) + 1
    return found


def history_of(images: Collection[str], *, days: int) -> dict[str, dict[str, Any]]:
    """Per image starts, hits and the pull times of the others (ms; None when none was fetched)."""
    with connection.cursor() as cursor:
        cursor.execute(_HISTORY, [clock.now() - timedelta(days=days), list(images)])
        return {
            image: {
                "starts": starts,
                "hits": hits,
                "pull_ms": None if mean is None else {"mean": int(mean), "p50": p50, "p95": p95, "p99": p99},
            }
            for image, starts, hits, mean, p50, p95, p99 in cursor.fetchall()
        }


def hits_of_all(days: int) -> tuple[int, int]:
    """Starts of containers, and those that found their image on the node."""
    recent = ImageStart.objects.filter(at__gte=clock.now() - timedelta(days=days))
    found = recent.aggregate(starts=Count("id"), hits=Count("id", filter=Q(pull_ms=None)))
    return found["starts"], found["hits"]


def forget_old(days: int) -> int:
    """Delete what is older."""
    return ImageStart.objects.filter(at__lt=clock.now() - timedelta(days=days)).delete()[0]

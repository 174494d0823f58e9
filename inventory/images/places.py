"""Where images are: the nodes that told of them, and those on which they are wanted or were fetched by our wish."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from controlplane.base import clock
from inventory.images.names import spellings
from inventory.models import ImagePush, ImageStart, Node, PushState

_HAVING = """
SELECT meant.name, count(DISTINCT node.id)
FROM inventory_node AS node CROSS JOIN LATERAL jsonb_array_elements_text(node.facts -> 'images') AS told(spelling)
JOIN unnest(%s::text[], %s::text[]) AS meant(spelling, name) ON meant.spelling = told.spelling GROUP BY meant.name
"""
NONE = {"nodes": 0, "wanted": 0, "fetched": 0}


def counts_of(names: Collection[str]) -> dict[str, dict[str, int]]:
    """Per image (canonical name) the nodes that have it, those that are to fetch it, and those that did by our wish."""
    if not names:
        return {}
    spelled = [(spelling, name) for name in names for spelling in spellings(name)]
    with connection.cursor() as cursor:
        cursor.execute(_HAVING, [[one for one, _name in spelled], [name for _one, name in spelled]])
        having: dict[str, int] = dict(cursor.fetchall())
    open_ = Q(stage__in=(PushState.WANTED, PushState.RUNNING, PushState.FAILED))
    pushed = ImagePush.objects.filter(image__in=names).order_by().values("image")
    rows = pushed.annotate(
        wanted=Count("id", filter=open_), fetched=Count("id", filter=Q(stage=PushState.DONE))
    )
    found = {row["image"]: {"wanted": row["wanted"], "fetched": row["fetched"]} for row in rows}
    return {name: NONE | {"nodes": having.get(name, 0)} | found.get(name, {}) for name in names}


def nodes_with(name: str) -> QuerySet[Node]:
    """Nodes that have an image, are to fetch it, or did so by our wish."""
    own = ImagePush.objects.filter(node=OuterRef("pk"), image=name)
    told = Q(facts__images__has_any_keys=spellings(name))
    return Node.objects.defer("facts").annotate(here=told).filter(Q(here=True) | Exists(own))


def place_views(name: str, nodes: Sequence[Node], *, days: int) -> list[dict[str, Any]]:
    """One image on nodes of `nodes_with`: whether it is there, what is done about it, and the starts of some days."""
    ids = [node.pk for node in nodes]
    pushes = {push.node_id: push for push in ImagePush.objects.filter(image=name, node_id__in=ids)}
    starts = _starts(name, ids, days)
    return [
        {
            "node": node.pk,
            "node_name": node.name,
            "here": node.here,  # type: ignore[attr-defined]
            "push": pushes.get(node.pk),
            "starts": starts.get(node.pk, (0, 0))[0],
            "hits": starts.get(node.pk, (0, 0))[1],
        }
        for node in nodes
    ]


def _starts(name: str, nodes: Collection[int], days: int) -> dict[int, tuple[int, int]]:
    since = clock.now() - timedelta(days=days)
    rows = ImageStart.objects.filter(image=name, at__gte=since, node_id__in=nodes).order_by()
    counted = rows.values("node_id").annotate(starts=Count("id"), hits=Count("id", filter=Q(pull_ms=None)))
    return {row["node_id"]: (row["starts"], row["hits"]) for row in counted}


def waits_for(name: str) -> QuerySet[ImageStart]:
    """The starts that had to wait until the image was fetched."""
    return (
        ImageStart.objects.filter(image=name, pull_ms__isnull=False)
        .select_related("node")
        .order_by(F("id").desc())
    )

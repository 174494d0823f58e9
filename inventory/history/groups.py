"""Groups of devices whose readings are rolled up together: one node set and one model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection

from inventory.history.metrics import GROUP
from inventory.history.reading import Window, totals

GROUPS = """
SELECT kin.id, node_set.name, kin.model FROM inventory_devicegroup AS kin
LEFT JOIN inventory_nodeset AS node_set ON node_set.id = kin.node_set_id
WHERE (%(node_set)s::text IS NULL OR node_set.name = %(node_set)s)
  AND (%(model)s::text IS NULL OR kin.model = %(model)s)
ORDER BY node_set.name NULLS LAST, kin.model NULLS LAST, kin.id
"""


@dataclass(frozen=True, slots=True)
class Kin:
    """What the devices of a group have in common; None is "in no node set" and "model unknown"."""

    node_set: str | None
    model: str | None


def groups_of(*, node_set: str | None = None, model: str | None = None) -> dict[int, Kin]:
    """Groups by id, in the order people read them; one query."""
    with connection.cursor() as cursor:
        cursor.execute(GROUPS, {"node_set": node_set, "model": model})
        return {group: Kin(name, kin) for group, name, kin in cursor.fetchall()}


def group_totals(groups: Mapping[int, Kin], window: Window, metrics: Iterable[str]) -> list[dict[str, Any]]:
    """One row per group that was seen in the window; two queries."""
    found = totals(GROUP, list(groups), window, metrics)
    return [
        {"node_set": kin.node_set, "model": kin.model, **found[group]}
        for group, kin in groups.items()
        if any(found[group].values())
    ]

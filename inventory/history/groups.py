"""Groups of devices whose readings are rolled up together: one node set and one model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection

from inventory.history.metrics import GROUP
from inventory.history.reading import Window, totals

GROUPS = """
FROM inventory_devicegroup AS device_group
LEFT JOIN inventory_nodeset AS node_set ON node_set.id = device_group.node_set_id
WHERE (%(node_set)s::text IS NULL OR node_set.name = %(node_set)s)
  AND (%(model)s::text IS NULL OR device_group.model = %(model)s)
"""
IDS = f"SELECT device_group.id {GROUPS}"
SEEN = f"""
SELECT device_group.id, node_set.name, device_group.model, count(*) OVER () {GROUPS}
  AND EXISTS (SELECT FROM {{table}} WHERE group_id = device_group.id AND at >= %(start)s AND at < %(end)s)
ORDER BY node_set.name NULLS LAST, device_group.model NULLS LAST, device_group.id LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Groups:
    """Which groups are meant: those of a node set, of a model, of both, or (with neither) all."""

    node_set: str | None = None
    model: str | None = None

    def ids(self) -> list[int]:
        """One query."""
        with connection.cursor() as cursor:
            cursor.execute(IDS, {"node_set": self.node_set, "model": self.model})
            return [row[0] for row in cursor.fetchall()]


@dataclass(frozen=True, slots=True)
class GroupTotals:
    """The first groups in the order people read them, and how many there are in all. None as a node set or model is
    "in no node set" and "model unknown".
    """

    total: int
    results: list[dict[str, Any]]


def group_totals(groups: Groups, window: Window, metrics: Iterable[str], *, limit: int) -> GroupTotals:
    """Those that were seen in the window, at most `limit`; three queries."""
    given: dict[str, Any] = {"node_set": groups.node_set, "model": groups.model, "limit": limit}
    with connection.cursor() as cursor:
        sql = SEEN.format(table=GROUP.table(window.grain))
        cursor.execute(sql, {**given, "start": window.start, "end": window.end})
        rows = cursor.fetchall()
    found = totals(GROUP, [row[0] for row in rows], window, metrics)
    results = [{"node_set": name, "model": model, **found[group]} for group, name, model, _total in rows]
    return GroupTotals(rows[0][3] if rows else 0, results)

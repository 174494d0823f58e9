"""The encoded resource map, kept as long as every row that it is made of is the same."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

import msgspec
from django.conf import settings
from django.db import connection

from controlplane.accounts.models import Team, User
from controlplane.accounts.scoping import sees_everything, visible_teams
from controlplane.base import clock
from controlplane.base.api import etag_of
from inventory.models import Device, DeviceReading, Node, NodeReading, NodeSet
from queues.models import Queue
from scheduling.models import LIVE_PHASES, CoreBooking, Placement, Slice
from scheduling.selectors.resource_map import DEVICE_COLUMNS, NODE_COLUMNS, resource_map

# Slugs of the teams whose names the document may hold; None: of all. Who has the same scope reads the same document.
Scope = tuple[str, ...] | None

SOURCES = (Node, NodeReading, NodeSet, Device, DeviceReading, Slice, CoreBooking, Queue, Team)
# Of jobs only team and queue are read, which never change.
LIVE = f"{Placement._meta.db_table} WHERE phase = ANY(%(live)s)"
# PostgreSQL writes a changed row as another one elsewhere: place and transaction name its version, whoever wrote it.
VERSION = "SELECT " + ", ".join(
    f"(SELECT sum(hashtidextended(ctid, xmin::text::bigint)) FROM {source})"
    for source in (*(model._meta.db_table for model in SOURCES), LIVE)
)
MOST_KEPT = 16


@dataclass(frozen=True, slots=True)
class MapDocument:
    """`body` is a JSON object without its time."""

    etag: str
    body: bytes

    def stamped(self) -> bytes:
        """The document with the time at which it was found to be so in front."""
        at = clock.now().isoformat().replace("+00:00", "Z")
        return f'{{"at":"{at}",'.encode() + self.body[1:]


_kept: OrderedDict[Scope, MapDocument] = OrderedDict()
# All consoles ask at the same moment, after a hint: one makes what the others wait for.
_making = Lock()


def map_document(user: User) -> MapDocument:
    """The map as this user may see it: one query while nothing changed, two for who sees not all teams."""
    scope = scope_of(user)
    etag = _etag(scope)
    kept = _kept.get(scope)
    if kept is not None and kept.etag == etag:
        return kept
    with _making:
        kept = _kept.get(scope)
        if kept is None or kept.etag != etag:
            kept = _keep(scope, MapDocument(etag, msgspec.json.encode(resource_map(scope))))
        return kept


def scope_of(user: User) -> Scope:
    """What of the map depends on who looks."""
    return (
        None if sees_everything(user) else tuple(sorted(visible_teams(user).values_list("slug", flat=True)))
    )


def _etag(scope: Scope) -> str:
    """Asked before the document is made: a change meanwhile makes the next version, and at worst a reading too many."""
    with connection.cursor() as cursor:
        cursor.execute(VERSION, {"live": [phase.value for phase in LIVE_PHASES]})
        version = cursor.fetchone()
    return etag_of("map", settings.VERSION, NODE_COLUMNS, DEVICE_COLUMNS, scope, version)


def _keep(scope: Scope, document: MapDocument) -> MapDocument:
    _kept[scope] = document
    _kept.move_to_end(scope)
    while len(_kept) > MOST_KEPT:
        _kept.popitem(last=False)
    return document

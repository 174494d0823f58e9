"""What cycles promised: read before a round, stored after it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from django.db import transaction

from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit
from scheduling.engine.types import Reservation
from scheduling.models import Promise
from scheduling.requests import OFFERED


def load_promises() -> tuple[Reservation, ...]:
    """The promises to jobs that still wait and may start, in the order in which they were made; one query."""
    offered = {f"job__{name}": value for name, value in OFFERED.items()}
    places = Promise.objects.filter(**offered).order_by("pk").values_list("place", flat=True)
    return tuple(msgspec.convert(place, Reservation) for place in places)


def store_promises(now: Sequence[Reservation]) -> None:
    """Keep what a round promised, and drop what no longer is; one query where nothing changed."""
    places = [msgspec.json.decode(msgspec.json.encode(one)) for one in now]
    if list(Promise.objects.order_by("pk").values_list("place", flat=True)) == places:
        return
    with transaction.atomic():
        Promise.objects.all().delete()
        Promise.objects.bulk_create(
            Promise(
                job_id=one.job,
                node_id=one.node,
                replica=one.replica,
                starts_at=clock.from_ms(one.starts_at_ms),
                place=place,
            )
            for one, place in zip(now, places, strict=True)
        )
        after_commit(Topic.HINT, ("reasons",))

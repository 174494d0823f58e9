"""What cycles promised: read before a round, stored after it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from django.db import transaction

from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit
from queues.models import Intent, JobStatus
from scheduling.engine.types import Reservation
from scheduling.models import Promise


def load_promises() -> tuple[Reservation, ...]:
    """The promises to jobs that still wait, in the order in which they were made; one query."""
    waiting = Promise.objects.filter(job__status=JobStatus.PENDING, job__intent=Intent.RUN).order_by("pk")
    return tuple(msgspec.convert(place, Reservation) for place in waiting.values_list("place", flat=True))


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

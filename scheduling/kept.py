"""Places kept for jobs while their victims leave: the only writer of these rows. Whoever keeps or drops one raises the
epoch of its node, so that every view of the cluster learns of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from controlplane.base import clock
from scheduling.backends.agent import bump_epoch
from scheduling.engine.types import Reservation
from scheduling.models import Hold


def keep(places: Sequence[Reservation], *, until: datetime) -> None:
    """Keep these places for their job; inside the transaction that asks the victims."""
    Hold.objects.bulk_create(
        Hold(
            beneficiary_id=place.job,
            node_id=place.node,
            replica=place.replica,
            place=msgspec.json.decode(msgspec.json.encode(place)),
            until=until,
        )
        for place in places
    )
    bump_epoch({place.node for place in places})


def drop_holds(job: int) -> bool:
    """Keep nothing for this job any more; whether anything was. Inside the transaction that says why."""
    nodes = set(Hold.objects.filter(beneficiary_id=job).values_list("node_id", flat=True))
    if not nodes:
        return False
    Hold.objects.filter(beneficiary_id=job).delete()
    bump_epoch(nodes)
    return True


def expire(job: int | None) -> None:
    """What is kept for this job is over; the next cycle drops it."""
    Hold.objects.filter(beneficiary_id=job).update(until=clock.now())

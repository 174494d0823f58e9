"""The wish to have the next cycle recorded whatever it costs: made by an admin, gone when it is fulfilled."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from controlplane.accounts import audit
from controlplane.accounts.audit import Who
from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit
from scheduling.models import RecordingWish


def wish_recording(who: Who, *, reason: str) -> dict[str, Any]:
    """Record the next cycle that looks at waiting jobs, and have one at once; a second wish takes the first one's
    place.
    """
    values = {"reason": reason, "actor": audit.name_of(who), "since": clock.now()}
    with transaction.atomic():
        RecordingWish.objects.update_or_create(id=1, defaults=values)
        audit.record(who, "recording-wish", target=("recording", ""), details={"reason": reason})
        after_commit(Topic.CYCLE_WAKE)
    return wish_view()


def wish_view() -> dict[str, Any]:
    """Whether the next cycle is to be recorded, and who wants it. One query."""
    row = RecordingWish.objects.values("reason", "actor", "since").first()
    return {"wanted": row is not None, **(row or {"reason": None, "actor": None, "since": None})}


def is_wished() -> bool:
    """One query."""
    return RecordingWish.objects.exists()


def fulfil_wish() -> None:
    """The cycle was recorded, or could not be: it is not tried again in every cycle."""
    RecordingWish.objects.all().delete()

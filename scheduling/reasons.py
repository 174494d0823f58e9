"""Why each shape waits, stored once per shape and rewritten only when it has something new to say."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit
from scheduling.engine.types import Refusal
from scheduling.models import Cycle, ShapeReason
from scheduling.sheets import encode_sheet

NUMBERS_KEPT = timedelta(minutes=1)


def store_reasons(refusals: Mapping[str, Refusal], cycle: Cycle | None) -> None:
    """Bring the stored reasons in line with all refusals of a cycle, by shape; other shapes no longer wait."""
    now = clock.now()
    known = {reason.shape: reason for reason in ShapeReason.objects.all()}
    changed = [
        _row(shape, refusal, known.get(shape), now, cycle)
        for shape, refusal in refusals.items()
        if _is_news(refusal, known.get(shape), now)
    ]
    if changed:
        ShapeReason.objects.bulk_create(
            changed,
            update_conflicts=True,
            unique_fields=["shape"],
            update_fields=["code", "refusal", "cycle", "since", "updated_at"],
        )
    gone = known.keys() - refusals.keys()
    if gone:
        ShapeReason.objects.filter(shape__in=gone).delete()
    if changed or gone:
        after_commit(Topic.HINT, ("reasons",))


def _is_news(refusal: Refusal, known: ShapeReason | None, now: datetime) -> bool:
    return known is None or known.code != refusal.code.value or now - known.updated_at >= NUMBERS_KEPT


def _row(
    shape: str, refusal: Refusal, known: ShapeReason | None, now: datetime, cycle: Cycle | None
) -> ShapeReason:
    code = refusal.code.value
    since = known.since if known is not None and known.code == code else now
    return ShapeReason(
        shape=shape, code=code, refusal=encode_sheet(refusal), cycle=cycle, since=since, updated_at=now
    )

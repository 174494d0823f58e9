"""How long a node has been silent, by the server's time of receipt only. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

# The beat table ticks with it, and what counts as a gap follows from it.
PROBE_INTERVAL_S = 10
GAP = timedelta(seconds=3 * PROBE_INTERVAL_S)


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which silence did not count."""

    started_at: datetime
    ended_at: datetime


def counted(received_at: datetime, now: datetime, spans: Iterable[Span]) -> timedelta:
    """Silence since `received_at` without the given times, which may overlap; never negative."""
    start = received_at
    total = timedelta()
    for span in sorted(spans, key=lambda one: one.started_at):
        if span.started_at > start:
            total += max(min(span.started_at, now) - start, timedelta())
        start = max(start, span.ended_at)
    return total + max(now - start, timedelta())


def is_gap(last_beat_at: datetime | None, now: datetime) -> bool:
    """Whether the probe cycle itself stood still: three beats are missing."""
    return last_beat_at is not None and now - last_beat_at > GAP


def is_mass(silent: int, present: int, *, percent: int) -> bool:
    """Whether so many nodes are silent that the fault is rather between them and us; never for one alone."""
    return silent >= 2 and silent * 100 > percent * present

"""Noting that the scheduler looked; the only writer of pulses."""

from __future__ import annotations

from django.db import connection

# Times are the database's own, so that looks of several processes are in one order.
NOTE = """
INSERT INTO scheduling_pulse AS pulse (minute, looks, skipped, first_at, last_at, longest_gap_ms)
VALUES (date_trunc('minute', clock_timestamp()), 1, %(skipped)s, clock_timestamp(), clock_timestamp(), 0)
ON CONFLICT (minute) DO UPDATE SET
    looks = pulse.looks + 1,
    skipped = pulse.skipped + excluded.skipped,
    longest_gap_ms = greatest(
        pulse.longest_gap_ms, (extract(epoch FROM excluded.last_at - pulse.last_at) * 1000)::bigint
    ),
    last_at = greatest(pulse.last_at, excluded.last_at)
"""


def note_look(*, skipped: bool) -> None:
    """Count one look of this minute; `skipped` when it came to nothing. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(NOTE, {"skipped": int(skipped)})

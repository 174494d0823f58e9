"""The valley window of deferrable jobs: wall-clock hours of a time zone, on days of 23 and 25 hours, too."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_MINUTE_MS = 60_000
# A window that lies in an hour which a day skips opens a day later.
_MINUTES_AHEAD = 3 * 1440


@dataclass(frozen=True, slots=True)
class Valley:
    """Open from `start` until `end` (exclusive) by the clocks of `zone`; across midnight when end <= start.

    Deferrable jobs start earlier when less than `early_below_percent` of the devices has been booked for
    `early_after_ms` while nobody else waited.
    """

    start: time
    end: time
    zone: ZoneInfo
    early_below_percent: int = 60
    early_after_ms: int = 1_800_000

    @classmethod
    def parse(cls, text: str, zone: str) -> Valley:
        """`22:00-08:00` and a zone name; ValueError says what is wrong."""
        first, dash, last = text.partition("-")
        try:
            start, end = time.fromisoformat(first.strip()), time.fromisoformat(last.strip())
        except ValueError:
            start = end = time()
        if not dash or start == end or not (_is_minute(start) and _is_minute(end)):
            raise ValueError(f"{text!r} is no window; write it like 22:00-08:00")
        return cls(start, end, zone_of(zone))

    def is_open(self, at_ms: int) -> bool:
        """Whether the window is open at this instant."""
        clock = self._local(at_ms).time()
        if self.start < self.end:
            return self.start <= clock < self.end
        return clock >= self.start or clock < self.end

    def next_change_ms(self, at_ms: int) -> int:
        """The first instant after this one at which it opens or closes, to the minute."""
        opened = self.is_open(at_ms)
        first = at_ms // _MINUTE_MS + 1
        minutes = range(first, first + _MINUTES_AHEAD)
        return next(m * _MINUTE_MS for m in minutes if self.is_open(m * _MINUTE_MS) != opened)

    def _local(self, at_ms: int) -> datetime:
        return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(self.zone)


def zone_of(name: str) -> ZoneInfo:
    """The time zone of this name; ValueError says what is wrong."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"{name!r} is no time zone; write it like Europe/Berlin") from error


def _is_minute(edge: time) -> bool:
    return edge.second == edge.microsecond == 0 and edge.tzinfo is None

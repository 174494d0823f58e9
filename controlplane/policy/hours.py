"""Times of day by the clocks of a time zone: which hours a moment lies in, also on days of 23 and 25 hours. Pure."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from controlplane.policy.document import Power

MINUTES_OF_DAY = 24 * 60


def is_time_zone(name: str) -> bool:
    """Whether there is a time zone of this name."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def minute_of_day(text: str) -> int:
    """Minutes since midnight of a time such as 08:30."""
    hour, minute = text.split(":")
    return 60 * int(hour) + int(minute)


def minutes_between(first: str, last: str) -> frozenset[int]:
    """The minutes of the day from first (inclusive) to last (exclusive), over midnight where last is earlier; none
    when they are equal.
    """
    start = minute_of_day(first)
    length = (minute_of_day(last) - start) % MINUTES_OF_DAY
    return frozenset((start + passed) % MINUTES_OF_DAY for passed in range(length))


def power_cap_w(power: Power, at: datetime) -> int | None:
    """The cap in force at this moment (aware), in watts; None without one. What the clocks show decides: an hour that
    they skip has no cap, one that they show twice has its cap twice.
    """
    local = at.astimezone(ZoneInfo(power.time_zone))
    now = 60 * local.hour + local.minute
    for hours in power.hours:
        if now in minutes_between(hours.from_, hours.to):
            return hours.cap_w
    return power.cap_w

"""The only place where the server reads the wall clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now() -> datetime:
    """Current time, timezone-aware UTC."""
    return datetime.now(UTC)


def now_ms() -> int:
    """Current time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def to_ms(moment: datetime) -> int:
    """Unix milliseconds of an aware datetime."""
    return int(moment.timestamp() * 1000)


def from_ms(unix_ms: int) -> datetime:
    """The moment of these Unix milliseconds, aware UTC."""
    return datetime.fromtimestamp(unix_ms / 1000, UTC)


def monotonic_s() -> float:
    """Seconds of a clock that never steps; for measuring durations only."""
    return time.monotonic()

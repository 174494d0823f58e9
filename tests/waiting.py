"""Waiting for other processes and threads: the one place of the tests that polls."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 60.0
POLL_S = 0.02


def eventually(
    read: Callable[[], T | None],
    *,
    within_s: float = PATIENCE_S,
    what: str | Callable[[], str] = "what was expected",
) -> T:
    """The first true value of `read`; AssertionError that tells `what` when there is none in time."""
    ends_at = time.monotonic() + within_s
    while True:
        value = read()
        if value:
            return value
        if time.monotonic() > ends_at:
            raise AssertionError(f"waited {within_s:.0f} s for {what if isinstance(what, str) else what()}")
        time.sleep(POLL_S)

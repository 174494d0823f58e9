"""Talking to Valkey where the answer does not matter: short tries, and none at all for a moment after one failed."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from controlplane.base import clock

log = structlog.get_logger(__name__)

PAUSE_S = 2.0
# The broker's queues, each a list under the prefix and its name.
QUEUES = ("cycle", "upkeep", "remote", "replay")
KEY_PREFIX = "headrace."


class Breaker:
    """After a failure nothing is tried for a moment, so that a request with many hints waits for a dead server once."""

    def __init__(self) -> None:
        self.retry_at_s = 0.0

    def attempt(self, what: str, do: Callable[[], object]) -> bool:
        """Run `do`; False when it failed or was not tried."""
        if clock.monotonic_s() < self.retry_at_s:
            return False
        try:
            do()
        except Exception as error:
            self.retry_at_s = clock.monotonic_s() + PAUSE_S
            log.warning("broker-unreachable", what=what, error=repr(error))
            return False
        return True


breaker = Breaker()

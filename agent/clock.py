"""Offset between this node's clock and the server's, from the time stamps of report exchanges."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

from agent.protocol import ClockSample

KEPT_EXCHANGES = 8
JUMP_US = 5_000
SERVER_RESOLUTION_US = 1_000


@dataclass(frozen=True)
class Stamp:
    """One moment on the wall clock and on the clock nobody sets."""

    wall_us: int
    steady_us: int


def now() -> Stamp:
    """This moment."""
    return Stamp(time.time_ns() // 1000, time.monotonic_ns() // 1000)


class OffsetEstimator:
    """Keeps the last exchanges and answers with the one of least round trip, whose offset is the surest."""

    def __init__(self) -> None:
        self._exchanges: deque[tuple[int, int]] = deque(maxlen=KEPT_EXCHANGES)  # (round trip, offset)
        self._skew_us: int | None = None

    def add(self, sent: Stamp, received: Stamp, *, server_received_ms: int, server_sent_ms: int) -> None:
        """Take in one exchange; after a jump of our own clock the older ones say nothing any more."""
        skew_us = received.wall_us - received.steady_us
        jumped = abs(skew_us - (sent.wall_us - sent.steady_us)) > JUMP_US
        if jumped or (self._skew_us is not None and abs(skew_us - self._skew_us) > JUMP_US):
            self._exchanges.clear()
        self._skew_us = skew_us
        round_trip_us = (received.steady_us - sent.steady_us) - (server_sent_ms - server_received_ms) * 1000
        if jumped or round_trip_us < -SERVER_RESOLUTION_US or server_sent_ms < server_received_ms:
            return
        there = sent.wall_us - server_received_ms * 1000
        back = received.wall_us - server_sent_ms * 1000
        self._exchanges.append((max(0, round_trip_us), (there + back) // 2))

    def best(self) -> ClockSample | None:
        """Node clock minus server clock with half the round trip as uncertainty; None before the first exchange."""
        if not self._exchanges:
            return None
        round_trip_us, offset_us = min(self._exchanges)
        return ClockSample(offset_us=offset_us, uncertainty_us=round_trip_us // 2 + SERVER_RESOLUTION_US)

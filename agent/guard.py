"""When a job comes near what it booked of memory, or grows towards it without end. Pure: time and use are told.

Near has a hysteresis: it begins at a share of the booking and ends some points below. A leak is growth of what a job
never gives back: the least use of every quarter of a window above that of the quarter before, so steep that it reaches
the booking soon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from agent.protocol import GuardRules, Pressure, PressureKind

QUARTERS = 4
HOUR_S = 3600


@dataclass(frozen=True)
class Watched:
    """One memory that a job booked: of a device (its UUID, else PCI address) or, with None, of the host. `used_mib` is
    unknown where nobody tells how much of it is the job's.
    """

    device: str | None
    booked_mib: int
    limit_percent: int
    used_mib: int | None


@dataclass
class _Track:
    """What is known of one memory of one job; `lows` are the least uses by number of quarter."""

    near: Pressure | None = None
    leak: Pressure | None = None
    lows: dict[int, int] = field(default_factory=dict)


class Guard:
    """The state of one job: judge it with every look."""

    def __init__(self) -> None:
        self._tracks: dict[str | None, _Track] = {}

    def judge(self, memories: Sequence[Watched], rules: GuardRules, *, now_s: float) -> list[Pressure]:
        """What is wrong now; a pressure keeps the figures of the moment in which it began. Where the use is unknown
        nothing is concluded, and what was stays.
        """
        found = []
        for memory in memories:
            track = self._tracks.setdefault(memory.device, _Track())
            if memory.used_mib is not None and memory.booked_mib > 0:
                _judge_near(track, memory, memory.used_mib, rules)
                _judge_leak(track, memory, memory.used_mib, rules, now_s)
            found += [pressure for pressure in (track.near, track.leak) if pressure is not None]
        return found


def _judge_near(track: _Track, memory: Watched, used_mib: int, rules: GuardRules) -> None:
    share = 100 * used_mib
    if share >= memory.booked_mib * memory.limit_percent:
        track.near = track.near or _pressure(PressureKind.NEAR, memory, used_mib)
    elif share < memory.booked_mib * (memory.limit_percent - rules.clear_percent):
        track.near = None


def _judge_leak(track: _Track, memory: Watched, used_mib: int, rules: GuardRules, now_s: float) -> None:
    """Only whole quarters are compared, and the use of now."""
    quarter_s = max(1.0, rules.leak_window_s / QUARTERS)
    quarter = int(now_s // quarter_s)
    lows = track.lows
    lows[quarter] = min(used_mib, lows.get(quarter, used_mib))
    for old in [number for number in lows if number < quarter - QUARTERS]:
        del lows[old]
    whole = [lows.get(quarter - back) for back in range(QUARTERS, 0, -1)]
    known = [low for low in whole if low is not None]
    grows = len(known) == QUARTERS and all(a < b for a, b in pairwise(known))
    if not grows or used_mib < known[-1]:
        track.leak = None
        return
    mib_per_hour = round((known[-1] - known[0]) * HOUR_S / (quarter_s * (QUARTERS - 1)))
    left_mib = max(0, memory.booked_mib - used_mib)
    if mib_per_hour * rules.leak_within_s >= left_mib * HOUR_S:
        track.leak = track.leak or _pressure(PressureKind.LEAK, memory, used_mib, mib_per_hour=mib_per_hour)


def _pressure(
    kind: PressureKind, memory: Watched, used_mib: int, *, mib_per_hour: int | None = None
) -> Pressure:
    return Pressure(kind, used_mib, memory.booked_mib, device=memory.device, mib_per_hour=mib_per_hour)

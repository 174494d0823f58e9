"""How long jobs should run: as it will be, or as a cluster could know it, from those of their kind that started before.

A job's kind are the jobs of its team and queue with the same request and replicas.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from enum import StrEnum

from scheduling.engine.types import EnginePolicy
from scheduling.simulator.jobs import SimJob

# The last of a kind to start tell how long the next will run.
LAST = 20
# One that still runs is taken to be so many times as long as it has run.
OF_ITS_AGE = 2
REFRESH_MS = 600_000


class Knows(StrEnum):
    """What is known of run times. DURATIONS: all of them. HISTORY: only of what ended, and for how long the rest has
    run.
    """

    DURATIONS = "durations"
    HISTORY = "history"


@dataclass(slots=True)
class _Start:
    job: int
    at_ms: int
    ran_ms: int | None = None


class RunTimes:
    """What is known at each moment; as the live estimates, which the database makes."""

    def __init__(self, knows: Knows, policy: EnginePolicy) -> None:
        self._knows = knows
        self._assumed_ms = policy.patience.unknown_ms if policy.patience else 0
        self._starts: dict[object, deque[_Start]] = defaultdict(lambda: deque(maxlen=LAST))
        self._running: dict[int, _Start] = {}
        self._known: dict[object, int | None] = {}
        self._known_at_ms: int | None = None

    def started(self, job: SimJob, now_ms: int) -> None:
        """From now on it tells something."""
        if self._knows is Knows.HISTORY:
            start = self._running[job.job] = _Start(job.job, now_ms)
            self._starts[_kind(job)].append(start)

    def left(self, job: SimJob, now_ms: int) -> None:
        """It ended, or failed."""
        start = self._running.pop(job.job, None)
        if start is not None:
            start.ran_ms = now_ms - start.at_ms

    def renewed(self, now_ms: int) -> bool:
        """Whether what was said may have changed: looked at every REFRESH_MS."""
        if self._knows is not Knows.HISTORY:
            return False
        if self._known_at_ms is not None and now_ms - self._known_at_ms < REFRESH_MS:
            return False
        self._known, self._known_at_ms = {}, now_ms
        return True

    def runs_ms(self, job: SimJob, left_ms: int, now_ms: int) -> int | None:
        """How long the job should run; None while none of its kind has started."""
        if self._knows is Knows.DURATIONS:
            return left_ms
        kind = _kind(job)
        if kind not in self._known:
            self._known[kind] = self._usual_ms(kind, now_ms)
        return self._known[kind]

    def _usual_ms(self, kind: object, now_ms: int) -> int | None:
        """The middle one, of two the lesser."""
        ran = sorted(self._ran_ms(start, now_ms) for start in self._starts.get(kind, ()))
        return ran[(len(ran) - 1) // 2] if ran else None

    def _ran_ms(self, start: _Start, now_ms: int) -> int:
        if start.ran_ms is not None:
            return start.ran_ms
        return max(self._assumed_ms, OF_ITS_AGE * (now_ms - start.at_ms))


def _kind(job: SimJob) -> object:
    return job.team, job.queue, job.request, job.replicas

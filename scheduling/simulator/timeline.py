"""How a run went over time: means over equal steps, whose width doubles when there would be too many."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scheduling.engine.types import PPM

MOST_STEPS = 512
_FIRST_STEP_MS = 60_000


def percent(part: int, whole: int) -> float | None:
    """part / whole in %, three decimals; None where there is no whole."""
    return None if whole <= 0 else round(100 * part / whole, 3)


@dataclass(slots=True)
class Step:
    """Amounts times ms within one step; `busy` is milli x PPM x ms."""

    span_ms: int = 0
    capacity: int = 0
    booked: int = 0
    busy: int = 0
    waiting: int = 0

    def add(self, other: Step, ms: int) -> None:
        """The state `other`, for so long."""
        self.span_ms += other.span_ms * ms
        self.capacity += other.capacity * ms
        self.booked += other.booked * ms
        self.busy += other.busy * ms
        self.waiting += other.waiting * ms


@dataclass(slots=True)
class Timeline:
    """Steps since the first submission."""

    step_ms: int = _FIRST_STEP_MS
    steps: list[Step] = field(default_factory=list)
    _at_ms: int = 0

    def pass_time(self, span_ms: int, now: Step) -> None:
        """The cluster stood like this for so long; `now` has amounts, and 1 as its span."""
        end_ms = self._at_ms + span_ms
        while end_ms > MOST_STEPS * self.step_ms:
            self._halve()
        while self._at_ms < end_ms:
            number = self._at_ms // self.step_ms
            until_ms = min(end_ms, (number + 1) * self.step_ms)
            if number == len(self.steps):
                self.steps.append(Step())
            self.steps[number].add(now, until_ms - self._at_ms)
            self._at_ms = until_ms

    def _halve(self) -> None:
        for number in range(len(self.steps) // 2):
            self.steps[2 * number].add(self.steps[2 * number + 1], 1)
        self.steps = self.steps[::2]
        self.step_ms *= 2

    def figures(self) -> dict[str, Any]:
        """Of each step: booked and measured use in % (None without capacity), and the mean number of waiting jobs."""
        return {
            "step_s": self.step_ms // 1000,
            "booked_percent": [percent(step.booked, step.capacity) for step in self.steps],
            "measured_percent": [percent(step.busy // PPM, step.capacity) for step in self.steps],
            "waiting_jobs": [round(step.waiting / step.span_ms, 3) for step in self.steps],
        }

"""What is still to happen in a run, in order of time; what has come to mean nothing is passed over."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from enum import IntEnum

from scheduling.simulator.execution import Running
from scheduling.simulator.pending import Pending


class Kind(IntEnum):
    """Kinds of entries, in their order within one instant."""

    END = 0
    REPAIR = 1
    FAIL = 2
    WINDOW = 3
    LATEST = 4
    CYCLE = 5
    PATIENT = 6


class Agenda:
    """Entries by time, kind and subject: a job (END, LATEST, PATIENT) or a node (REPAIR, FAIL).

    `window_at` is the moment at which held jobs are looked at again; an earlier one takes its place.
    """

    def __init__(self, running: Mapping[int, Running], pending: Pending) -> None:
        self._running, self._pending = running, pending
        self._heap: list[tuple[int, Kind, int, int]] = []
        self._latest: set[int] = set()
        self._patient: set[int] = set()
        self._repairs = 0
        self.window_at: int | None = None
        self.cycle_due = False

    def push(self, at: int, kind: Kind, subject: int = 0, version: int = 0) -> None:
        """Add one entry; `version` is that of the running job whose end it is."""
        match kind:
            case Kind.REPAIR:
                self._repairs += 1
            case Kind.WINDOW:
                self.window_at = at
            case Kind.LATEST:
                self._latest.add(subject)
            case Kind.PATIENT:
                self._patient.add(subject)
            case Kind.CYCLE:
                self.cycle_due = True
        heapq.heappush(self._heap, (at, kind, subject, version))

    def pop(self, at: int) -> tuple[Kind, int] | None:
        """Take the next entry of this instant: its kind and subject; None when there is no more."""
        if self.next_ms() != at:
            return None
        _, kind, subject, _ = heapq.heappop(self._heap)
        match kind:
            case Kind.REPAIR:
                self._repairs -= 1
            case Kind.WINDOW:
                self.window_at = None
            case Kind.LATEST:
                self._latest.discard(subject)
            case Kind.PATIENT:
                self._patient.discard(subject)
            case Kind.CYCLE:
                self.cycle_due = False
        return kind, subject

    def next_ms(self) -> int | None:
        """When the next thing happens; None when nothing does."""
        while self._heap and self._is_stale(*self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def started(self, job: int) -> None:
        """How long it waits is no matter any more."""
        self._latest.discard(job)
        self._patient.discard(job)

    def helps(self) -> bool:
        """Whether something to come could let a waiting job start, be it that nothing runs and nobody arrives."""
        return self._helps_held() or self._repairs > 0

    def only_repairs(self) -> bool:
        """Whether nothing runs and only repairs could let a waiting job start."""
        return not self._running and not self._helps_held()

    def _helps_held(self) -> bool:
        window = self.window_at is not None and self._pending.held > 0
        return window or bool(self._latest) or self.cycle_due

    def _is_stale(self, at: int, kind: Kind, subject: int, version: int) -> bool:
        match kind:
            case Kind.END:
                run = self._running.get(subject)
                return run is None or run.version != version
            case Kind.WINDOW:
                return at != self.window_at
            case Kind.LATEST:
                return subject not in self._latest
            case Kind.PATIENT:
                return subject not in self._patient
        return False

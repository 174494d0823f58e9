"""Checkpoints of jobs that are over: the agent asks now and then of which jobs that is so, and removes theirs.

The server alone knows whether a job may go on one day, so nothing is removed by age or size alone.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable

from agent.runners.base import Runner

logger = logging.getLogger("headrace.agent.pruning")
ASK_EVERY_S = 3600.0
MOST_ASKED = 500


class Pruning:
    """What to ask with the next report, and what to do about the answer. `busy` are the jobs that have a task here.

    Folders may lie on a network that hangs, so they are read and removed by a thread that nobody waits for.
    """

    def __init__(
        self,
        runner: Runner,
        *,
        every_s: float = ASK_EVERY_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runner = runner
        self._every_s = every_s
        self._monotonic = monotonic
        self._due_s = monotonic()
        self._after = 0
        self._kept: list[int] | None = None
        self._asked: frozenset[int] = frozenset()
        self._worker: threading.Thread | None = None

    def question(self, busy: Collection[int]) -> list[int]:
        """The jobs to ask about, empty until it is time; of many some at a time, round and round."""
        if self._monotonic() < self._due_s:
            return []
        if self._kept is None:
            self._begin(self._look)
            return []
        kept = sorted(set(self._kept) - set(busy))
        asked = [job for job in kept if job > self._after][:MOST_ASKED] or kept[:MOST_ASKED]
        self._asked = frozenset(asked)
        if not asked:
            self._rest()
        return asked

    def answered(self, over: Iterable[int], busy: Collection[int]) -> None:
        """The server took the question: what was asked about, is over and still has no task here is removed."""
        gone = sorted((self._asked & set(over)) - set(busy))
        self._after = max(self._asked) if len(self._asked) == MOST_ASKED else 0
        self._rest()
        if gone:
            self._begin(lambda: self._remove(gone))

    def _rest(self) -> None:
        self._due_s, self._kept, self._asked = self._monotonic() + self._every_s, None, frozenset()

    def _begin(self, work: Callable[[], None]) -> None:
        if self._worker is None or not self._worker.is_alive():
            self._worker = threading.Thread(target=work, name="pruning", daemon=True)
            self._worker.start()

    def _look(self) -> None:
        self._kept = self._runner.kept_jobs()

    def _remove(self, jobs: list[int]) -> None:
        logger.info("removing the checkpoints of %d jobs that are over", len(jobs))
        self._runner.prune(jobs)

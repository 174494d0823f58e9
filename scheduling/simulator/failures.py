"""When nodes fail and come back: exponential times of each node, drawn from one seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class FailureModel:
    """Mean time between failures of one node and mean time to repair, in hours."""

    mtbf_h: float
    repair_h: float


MOST_FAILURES = 1_000_000


def check_number(model: FailureModel, *, nodes: int, span_ms: int) -> None:
    """ValueError where so many nodes would fail more often in this time than can be simulated."""
    span_h = span_ms / _HOUR_MS
    expected = nodes * span_h / (model.mtbf_h + model.repair_h)
    if expected > MOST_FAILURES:
        least_h = nodes * span_h / MOST_FAILURES
        raise ValueError(
            f"--mtbf-h: {model.mtbf_h:g} h make {expected:.3g} failures of {nodes} nodes in {span_h:.0f} h; give at"
            f" least {least_h:.3g}, or stop sooner with --hours"
        )


class TooManyFailures(ValueError):
    """A run that took much longer than was to be expected."""

    def __init__(self) -> None:
        super().__init__(
            f"--mtbf-h: nodes failed more than {MOST_FAILURES} times; give more, or stop sooner with --hours"
        )


class Failures:
    """Draws; each node has a stream of its own, so a failure of one never moves those of others."""

    def __init__(self, model: FailureModel, nodes: Sequence[int], *, seed: int) -> None:
        self._model = model
        self._dice = {node: np.random.default_rng([seed, node]) for node in nodes}
        self._drawn = 0

    def next_failure_ms(self, node: int) -> int:
        """From being ready to the next failure; TooManyFailures beyond the bound."""
        self._drawn += 1
        if self._drawn > MOST_FAILURES + len(self._dice):
            raise TooManyFailures
        return self._draw(node, self._model.mtbf_h)

    def repair_ms(self, node: int) -> int:
        """From a failure to being ready again."""
        return self._draw(node, self._model.repair_h)

    def _draw(self, node: int, mean_h: float) -> int:
        return max(1, int(self._dice[node].exponential(mean_h * _HOUR_MS)))

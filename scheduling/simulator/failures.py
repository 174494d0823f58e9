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


class Failures:
    """Draws; each node has a stream of its own, so a failure of one never moves those of others."""

    def __init__(self, model: FailureModel, nodes: Sequence[int], *, seed: int) -> None:
        self._model = model
        self._dice = {node: np.random.default_rng([seed, node]) for node in nodes}

    def next_failure_ms(self, node: int) -> int:
        """From being ready to the next failure."""
        return self._draw(node, self._model.mtbf_h)

    def repair_ms(self, node: int) -> int:
        """From a failure to being ready again."""
        return self._draw(node, self._model.repair_h)

    def _draw(self, node: int, mean_h: float) -> int:
        return max(1, int(self._dice[node].exponential(mean_h * _HOUR_MS)))

"""What every node could do for one shape: verdicts, devices, scores; kept between jobs and renewed only for nodes
that changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scheduling.engine import filters, scores
from scheduling.engine.filters import Filtered
from scheduling.engine.fitting import fit
from scheduling.engine.frame import Frame, frame_of, whole_frame
from scheduling.engine.ledger import Ledger
from scheduling.engine.quantities import Ints
from scheduling.engine.rows import Rows, near_slots
from scheduling.engine.scores.scale import Scale
from scheduling.engine.shapes import Demand
from scheduling.engine.types import UNKNOWN

_NO_SCORE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One candidate row in the state's numbers: device rows with what each gives, NUMA slots near them, values of the
    terms in use.
    """

    node: int
    score_ppm: int
    values_ppm: tuple[int, ...]
    devices: Ints
    memory: Ints
    milli: Ints
    slots: tuple[int, ...]


class Board:
    """One line per pool of the cluster (per node for a CPU-only shape), in order of node id and pool; `verdicts` per
    node.
    """

    def __init__(self, ledger: Ledger, demand: Demand, scale: Scale) -> None:
        self.demand = demand
        self._ledger, self._scale = ledger, scale
        state = ledger.state
        size = len(state.pool) if demand.wants_devices else len(state)
        largest = int(state.pool.size.max(initial=0))
        width = demand.device_counts(largest)[-1] if demand.wants_devices else 0
        self._nodes = (
            state.joins().pool_node if demand.wants_devices else np.arange(len(state), dtype=np.int64)
        )
        self._score = np.full(size, _NO_SCORE, dtype=np.int64)
        self._values = np.zeros((len(scores.terms_in_use(scale.policy.weights_ppm)), size), dtype=np.int64)
        self._chosen = np.full((size, width), UNKNOWN, dtype=np.int64)
        self._memory = np.zeros((size, width), dtype=np.int64)
        self._milli = np.zeros((size, width), dtype=np.int64)
        self._slots = np.full((size, width), UNKNOWN, dtype=np.int64)
        self.verdicts = np.full(len(state), UNKNOWN, dtype=np.int64)
        self._seen = 0

    def renew(self) -> None:
        """Bring all lines up to the ledger's present version."""
        if self._seen == self._ledger.version:
            return
        changed = np.flatnonzero(self._ledger.versions > self._seen)
        if 2 * len(changed) >= len(self._ledger.versions):
            frame = whole_frame(self._ledger)
        else:
            frame = frame_of(self._ledger, changed)
        self._write(frame)
        self._seen = self._ledger.version

    def counts(self) -> Ints:
        """How many nodes each filter removed; the last entry counts those that passed."""
        return filters.counts(self.verdicts)

    def best(self, wanted: int) -> list[Choice]:
        """The best line of each of the `wanted` best nodes. Order: score (high first), node id, pool."""
        found: list[Choice] = []
        score = self._score
        while len(score) and len(found) < wanted:
            line = int(np.argmax(score))
            if score[line] == _NO_SCORE:
                break
            found.append(self._choice(line))
            if len(found) < wanted:
                score = np.where(self._nodes == self._nodes[line], _NO_SCORE, score)
        return found

    def _choice(self, line: int) -> Choice:
        given = self._chosen[line] >= 0
        return Choice(
            node=int(self._nodes[line]),
            score_ppm=int(self._score[line]),
            values_ppm=tuple(self._values[:, line].tolist()),
            devices=self._chosen[line][given],
            memory=self._memory[line][given],
            milli=self._milli[line][given],
            slots=tuple(slot for slot in self._slots[line].tolist() if slot >= 0),
        )

    def _write(self, frame: Frame) -> None:
        filtered: Filtered = filters.run(frame, self.demand)
        self.verdicts[frame.nodes] = filtered.verdicts
        lines = frame.pools if self.demand.wants_devices else frame.nodes
        self._score[lines] = _NO_SCORE
        rows = fit(frame, self.demand, filtered)
        if not len(rows):
            return
        values, total = scores.score(frame, self.demand, rows, self._scale)
        at = lines[rows.pool] if self.demand.wants_devices else lines[rows.node]
        self._score[at] = total
        self._values[:, at] = values
        self._write_devices(frame, rows, at)

    def _write_devices(self, frame: Frame, rows: Rows, at: Ints) -> None:
        width = rows.chosen.shape[1]
        if width == 0:
            return
        self._chosen[at], self._memory[at], self._milli[at], self._slots[at] = UNKNOWN, 0, 0, UNKNOWN
        columns = slice(0, width)
        self._chosen[at, columns] = rows.of_devices(frame.devices, absent=UNKNOWN)
        self._memory[at, columns] = rows.memory
        self._milli[at, columns] = rows.milli
        if len(frame.slot):
            slots = near_slots(frame, rows)
            first = self._ledger.state.offsets.slot[frame.nodes[rows.node]]
            local = np.searchsorted(frame.slot_node, rows.node)
            self._slots[at, columns] = np.where(slots >= 0, slots - local[:, None] + first[:, None], UNKNOWN)

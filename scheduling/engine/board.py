"""What every node could do for one shape: verdicts, devices, scores; kept between jobs and renewed only for nodes
that changed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from scheduling.engine import filters, scores
from scheduling.engine.columns import Interner
from scheduling.engine.filters import Filtered, node_power
from scheduling.engine.fitting import fit
from scheduling.engine.frame import Frame, frame_of, whole_frame
from scheduling.engine.ledger import Ledger
from scheduling.engine.quantities import Bools, Ints
from scheduling.engine.rows import Rows, near_slots
from scheduling.engine.scores.scale import Scale
from scheduling.engine.shapes import Demand
from scheduling.engine.types import PPM, UNKNOWN, WHOLE_MILLI, ReasonCode, Term

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
        self._width = demand.device_counts(largest)[-1] if demand.wants_devices else 0
        self._nodes = (
            state.joins().pool_node if demand.wants_devices else np.arange(len(state), dtype=np.int64)
        )
        self._score = np.full(size, _NO_SCORE, dtype=np.int64)
        self._terms = scores.terms_in_use(scale.policy.weights_ppm)
        # What every node refuses needs no room for what a node would give.
        self._size(0)
        self._added_uw = np.zeros(size, dtype=np.int64)
        self.verdicts = np.full(len(state), UNKNOWN, dtype=np.int64)
        self._before: Ints | None = None
        self._seen = 0

    def _size(self, lines: int) -> None:
        self._values = np.zeros((len(self._terms), lines), dtype=np.int64)
        self._chosen = np.full((lines, self._width), UNKNOWN, dtype=np.int64)
        self._memory = np.zeros((lines, self._width), dtype=np.int64)
        self._milli = np.zeros((lines, self._width), dtype=np.int64)
        self._slots = np.full((lines, self._width), UNKNOWN, dtype=np.int64)

    def renew(self) -> int:
        """Bring all lines up to the ledger's present version; how many nodes that took."""
        if self._seen == self._ledger.version:
            return 0
        changed = np.flatnonzero(self._ledger.versions > self._seen)
        if 2 * len(changed) >= len(self._ledger.versions):
            frame = whole_frame(self._ledger)
        else:
            frame = frame_of(self._ledger, changed)
        self._write(frame)
        self._seen = self._ledger.version
        return len(frame)

    def rebase(self, ledger: Ledger, scale: Scale) -> None:
        """Go on with another ledger over the same rows, whose versions go on from those of the old one."""
        self._ledger, self._scale, self._before = ledger, scale, None

    @property
    def size_bytes(self) -> int:
        """Memory of the lines."""
        return (
            self._values.nbytes
            + 4 * self._chosen.nbytes
            + self._score.nbytes
            + self._added_uw.nbytes
            + 2 * self.verdicts.nbytes
        )

    def verdicts_within(self, room_uw: int | None) -> Ints:
        """Verdicts per node, with those that no line's power leaves room for under the cap of all nodes."""
        if room_uw is None:
            return self.verdicts
        return self.verdicts_of(self.candidates(room_uw), self.verdicts, ReasonCode.POWER_CAP)

    def verdicts_of(self, lines: Bools, before: Ints, code: ReasonCode) -> Ints:
        """Verdicts per node where only these lines may be taken: `code` for those that have none of them."""
        within = np.zeros(len(before), dtype=np.bool_)
        within[self._nodes[lines]] = True
        over = (before == filters.PASSED) & ~within
        return np.where(over, filters.number_of(code), before)

    def candidates(self, room_uw: int | None) -> Bools:
        """The lines that take the job now."""
        passed: Bools = self._score != _NO_SCORE
        return passed if room_uw is None else passed & (self._added_uw <= room_uw)

    @property
    def lines(self) -> int:
        """How many there are."""
        return len(self._score)

    def lines_beside(self, lines: Bools | None, nodes: Collection[int]) -> Bools:
        """Those of these lines (None: of all) that are on none of the nodes, given by their ids."""
        beside: Bools = ~np.isin(self._ledger.node.id[self._nodes], list(nodes))
        return beside if lines is None else lines & beside

    @property
    def interned_models(self) -> Interner:
        """The models that `line_models` numbers."""
        return self._ledger.state.interned.models

    def line_models(self) -> Ints:
        """The interned model of each line's pool, -1 where it is unknown."""
        return self._ledger.state.pool.model

    @property
    def most_milli(self) -> int:
        """No line books more of devices for one replica."""
        return self._width * WHOLE_MILLI

    def costs_milli(self) -> Ints:
        """What each line books of devices for one replica; 0 where it takes none."""
        if not len(self._milli):
            return np.zeros(self.lines, dtype=np.int64)
        costs: Ints = np.where(self._chosen >= 0, self._milli, 0).sum(axis=1)
        return costs

    def least_added_uw(self) -> tuple[int, int] | None:
        """The line that adds least to the draw, as its node and what it adds; None when no node passed."""
        if not (self._score != _NO_SCORE).any():
            return None
        added = np.where(self._score == _NO_SCORE, np.iinfo(np.int64).max, self._added_uw)
        line = int(np.argmin(added))
        return int(self._nodes[line]), int(added[line])

    def best(
        self,
        wanted: int,
        *,
        room_uw: int | None = None,
        lines: Bools | None = None,
        together_ppm: Ints | None = None,
    ) -> list[Choice]:
        """The best line of each of the `wanted` best nodes. Order: score (high first), node id, pool.

        `room_uw` is what may still be drawn, `lines` (None: all) are those that may be taken; `together_ppm`, per node,
        stands for half of the topology of a gang.
        """
        score, values = self._score, self._values
        if together_ppm is not None and values.shape[1]:
            values = self._values_together(together_ppm)
            weights = [self._scale.policy.weights_ppm[term] for term, _ in self._terms]
            total: Ints = np.array(weights, dtype=np.int64) @ values // PPM
            score = np.where(score == _NO_SCORE, _NO_SCORE, total)
        if room_uw is not None:
            score = np.where(self._added_uw > room_uw, _NO_SCORE, score)
        if lines is not None:
            score = np.where(lines, score, _NO_SCORE)
        found: list[Choice] = []
        while len(score) and len(found) < wanted:
            line = int(np.argmax(score))
            if score[line] == _NO_SCORE:
                break
            found.append(self._choice(line, int(score[line]), values))
            if len(found) < wanted:
                first, last = self._span(line)
                if score is self._score:
                    score = score.copy()
                score[first:last] = _NO_SCORE
        return found

    def _values_together(self, together_ppm: Ints) -> Ints:
        values = self._values.copy()
        for number, (term, _) in enumerate(self._terms):
            if term is Term.TOPOLOGY:
                values[number] = (values[number] + together_ppm[self._nodes]) // 2
        return values

    def _span(self, line: int) -> tuple[int, int]:
        """The lines of the same node."""
        node = int(self._nodes[line])
        if not self.demand.wants_devices:
            return node, node + 1
        starts = self._ledger.state.offsets.pool
        return int(starts[node]), int(starts[node + 1])

    def _choice(self, line: int, score: int, values: Ints) -> Choice:
        given = self._chosen[line] >= 0
        return Choice(
            node=int(self._nodes[line]),
            score_ppm=score,
            values_ppm=tuple(values[:, line].tolist()),
            devices=self._chosen[line][given],
            memory=self._memory[line][given],
            milli=self._milli[line][given],
            slots=tuple(slot for slot in self._slots[line].tolist() if slot >= 0),
        )

    def _write(self, frame: Frame) -> None:
        if self._before is None:
            self._before = filters.before_devices(whole_frame(self._ledger), self.demand)
        filtered: Filtered = filters.run(frame, self.demand, self._before[frame.nodes])
        self.verdicts[frame.nodes] = filtered.verdicts
        lines = frame.pools if self.demand.wants_devices else frame.nodes
        self._score[lines] = _NO_SCORE
        rows = fit(frame, self.demand, filtered)
        if not len(rows):
            return
        if not self._values.shape[1]:
            self._size(len(self._score))
        values, total = scores.score(frame, self.demand, rows, self._scale, self._terms)
        at = lines[rows.pool] if self.demand.wants_devices else lines[rows.node]
        self._score[at] = total
        if self._scale.policy.power_cap_mw is not None:
            self._added_uw[at] = self._added(frame, filtered, rows)
        self._values[:, at] = values
        self._write_devices(frame, rows, at)

    def _added(self, frame: Frame, filtered: Filtered, rows: Rows) -> Ints:
        """What each row may add to the draw, whichever devices of its pool it gets."""
        if not self.demand.wants_devices:
            return WHOLE_MILLI * frame.node.core_mw[rows.node] * self.demand.request.cores
        added, count = np.zeros(len(rows), dtype=np.int64), rows.given.sum(axis=1)
        for cut in filtered.cuts:
            of_pool = node_power.added_uw(frame, self.demand, cut)[rows.pool]
            added = np.where(count == cut.count, of_pool, added)
        return added

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

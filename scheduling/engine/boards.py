"""The boards of all shapes in use, within a bound of memory, with counters of what the cache was good for."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.board import Board
from scheduling.engine.ledger import Ledger
from scheduling.engine.scores.scale import Scale
from scheduling.engine.shapes import Demand

BOARD_BYTES = 128 * 1024 * 1024


@dataclass(slots=True)
class CacheCounters:
    """A hit is a board that was there, a miss one that had to be made. `lines_kept` and `lines_renewed` count the
    nodes that were still right and those that had to be computed, over hits and misses.
    """

    hits: int = 0
    misses: int = 0
    lines_kept: int = 0
    lines_renewed: int = 0


class Boards:
    """One board per shape; the one that was not used for longest goes first when there are too many."""

    def __init__(self, ledger: Ledger, scale: Scale, *, most_bytes: int) -> None:
        self._ledger, self._scale = ledger, scale
        self._most_bytes, self._bytes = most_bytes, 0
        self._boards: dict[int, Board] = {}
        self.counters = CacheCounters()

    def of(self, shape: int, demand: Demand) -> Board:
        """The board of this shape, up to date."""
        board = self._boards.pop(shape, None)
        if board is None:
            self.counters.misses += 1
            board = Board(self._ledger, demand, self._scale)
            self.counters.lines_renewed += board.renew()
        else:
            self.counters.hits += 1
            self._bytes -= board.size_bytes
            renewed = board.renew()
            self.counters.lines_renewed += renewed
            self.counters.lines_kept += len(self._ledger.versions) - renewed
        self._bytes += board.size_bytes
        self._boards[shape] = board
        self._drop_oldest()
        return board

    def rebase(self, ledger: Ledger, scale: Scale) -> None:
        """Go on with another ledger over the same rows."""
        self._ledger, self._scale = ledger, scale
        for board in self._boards.values():
            board.rebase(ledger, scale)

    def _drop_oldest(self) -> None:
        while self._bytes > self._most_bytes and self._boards:
            oldest = next(iter(self._boards))
            self._bytes -= self._boards.pop(oldest).size_bytes

"""Which hints a socket still owes its reader. Pure: equal hints count once, too many become one `resync`."""

from __future__ import annotations

RESYNC = ("resync",)
MAX_PENDING = 64

Hint = tuple[object, ...]


class Pending:
    """An ordered set of hints, bounded: a reader that is too slow is told to read everything again."""

    def __init__(self, limit: int = MAX_PENDING) -> None:
        self._limit = limit
        self._hints: dict[Hint, None] = {}

    def add(self, hint: Hint) -> None:
        """Notes one hint."""
        if RESYNC in self._hints:
            return
        self._hints[hint] = None
        if len(self._hints) > self._limit:
            self._hints = {RESYNC: None}

    def take(self) -> list[Hint]:
        """All hints in the order in which they came first; none are left."""
        hints, self._hints = list(self._hints), {}
        return hints

    def __bool__(self) -> bool:
        return bool(self._hints)

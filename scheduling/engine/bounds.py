"""Which numbers the engine takes: beyond them its sums would not be exact. Refused where objects are built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

MOST_MIB = 1 << 40
MOST_MILLI = 1_000_000
# 2 MW of one device, core or node idling; 2 TW of all nodes together.
MOST_MW = (1 << 31) - 1
MOST_CAP_MW = 1 << 51
LEAST_ID, MOST_ID = -(1 << 63), (1 << 63) - 1
# Of a moment or a span, so that their sums fit into a column.
MOST_MS = 1 << 60


def check_bound(name: str, value: object, least: int, most: int, *, optional: bool = False) -> None:
    """ValueError naming the field unless the value is a whole number of this range (or None where it may be)."""
    if value is None and optional:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name}: must be a whole number, not {value!r:.60}")
    if not least <= value <= most:
        raise ValueError(f"{name}: must lie between {least} and {most}, not {value!r:.60}")


class Bounds:
    """Ranges of several fields of one class."""

    def __init__(self, *ranges: tuple[str, int, int], optional: Sequence[str] = ()) -> None:
        self._ranges, self._optional = ranges, frozenset(optional)

    def check(self, owner: object) -> None:
        """ValueError naming the first field that is out of its range."""
        for name, least, most in self._ranges:
            value: Any = getattr(owner, name)
            if type(value) is int and least <= value <= most:
                continue
            check_bound(name, value, least, most, optional=name in self._optional)


def check_ids(name: str, ids: Sequence[int]) -> None:
    """ValueError naming the field when an id does not fit into a column."""
    for one in ids:
        check_bound(name, one, LEAST_ID, MOST_ID)


def check_once(name: str, ids: Sequence[int]) -> None:
    """ValueError naming the field when an id stands there twice."""
    if len(set(ids)) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise ValueError(f"{name}: {twice} stands there twice")

"""How what an agent says is made safe to store: bounded texts, numbers that can be true, a warning for what was not.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from controlplane.base.texts import without_control_characters
from inventory import plausible
from inventory.warnings import warning

MAX_CPUS = 4096


@dataclass(slots=True)
class Cleaner:
    """Collects a warning for everything that was dropped."""

    warnings: list[dict[str, Any]] = field(default_factory=list)

    def warn(self, code: str, **params: object) -> None:
        """Notes what is odd."""
        self.warnings.append(warning(code, **params))

    def number(self, name: str, value: int | None, limits: plausible.Range) -> int | None:
        """The value where it can be true, else None with a warning."""
        cleaned = limits.clean(value)
        if value is not None and cleaned is None:
            self.warn("impossible-number", field=name, value=value)
        return cleaned

    def upto(self, name: str, items: Sequence[Any], limit: int) -> Sequence[Any]:
        """The first `limit` items, with a warning where there are more."""
        if len(items) > limit:
            self.warn("too-many", field=name, count=len(items), limit=limit)
        return items[:limit]


def text(value: str | None, limit: int, *, allowed: str = "") -> str | None:
    """Bounded text without characters that cannot be stored or seen, other than those allowed; empty is unknown."""
    # Cut before and after: a megabyte of noise is not looked at character by character.
    return without_control_characters((value or "")[: 2 * limit], allowed=allowed)[:limit].strip() or None


def cpu_ids(values: Iterable[int]) -> list[int]:
    """Numbers that can be logical CPUs, sorted, each once."""
    return sorted({value for value in values if plausible.CPU_ID.clean(value) is not None})[:MAX_CPUS]

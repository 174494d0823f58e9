"""Long columns of numbers and moments for statements that store many rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime


def array_literal(values: Sequence[int | datetime | None]) -> str:
    """PostgreSQL's text of an array, NULL for None; the driver's own way looks for what to escape in each element,
    which takes ten times as long.
    """
    texts = (value.isoformat() if isinstance(value, datetime) else str(value) for value in values)
    return "{" + ",".join("NULL" if text == "None" else text for text in texts) + "}"

"""Mean and percentiles of a few thousand present values."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def percent_marks(values: Iterable[int]) -> dict[str, float | None] | None:
    """Mean, P50, P95 and P99, rounded to tenths; None when nothing was measured."""
    measured = np.fromiter(values, dtype=np.float64)
    if not len(measured):
        return None
    p50, p95, p99 = np.percentile(measured, (50, 95, 99))
    marks = {"mean": measured.mean(), "p50": p50, "p95": p95, "p99": p99}
    return {name: round(float(mark), 1) for name, mark in marks.items()}

"""Percentiles of small samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def summary(values: Sequence[float]) -> dict[str, Any]:
    """Count, mean, P50, P95, P99 and maximum (nearest rank); nulls when there is nothing."""
    ordered = sorted(values)
    if not ordered:
        return {"count": 0, "mean": None, "p50": None, "p95": None, "p99": None, "max": None}

    def rank(share: float) -> float:
        return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 3)

    mean = round(sum(ordered) / len(ordered), 3)
    return {
        "count": len(ordered),
        "mean": mean,
        "p50": rank(0.5),
        "p95": rank(0.95),
        "p99": rank(0.99),
        "max": rank(1),
    }

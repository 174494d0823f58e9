"""From the start of Headrace on an empty state, and on one with data, to its ready address; and how long it stops."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from bench.instance import own_instance
from bench.statistics import summary

TARGET_SECOND_S = 15


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--starts", type=int, default=5, help="how many starts after the first (default 5)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds; the first start makes the database, its schema and the first rows (it is timed whole, with this
    machine's node ready and a token made).
    """
    began_ns = time.monotonic_ns()
    starts: list[float] = []
    stops: list[float] = []
    with own_instance() as instance:
        first_ms = (time.monotonic_ns() - began_ns) / 1e6
        for _number in range(options.starts):
            stops.append(_timed(instance.stop))
            starts.append(_timed(instance.start))
    return {
        "first_to_ready_node_ms": round(first_ms),
        "target_second_start_s": TARGET_SECOND_S,
        "second_start_ms": summary(starts),
        "stop_ms": summary(stops),
    }


def _timed(work: Callable[[], object]) -> float:
    began_ns = time.monotonic_ns()
    work()
    return (time.monotonic_ns() - began_ns) / 1e6

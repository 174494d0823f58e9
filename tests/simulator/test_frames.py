"""Script time per frame out of a browser's trace, as the console's benchmark counts it."""

from typing import Any

import pytest

from bench.frames import frame_times

PAGE = {"pid": 1, "tid": 1}
OTHER = {"pid": 2, "tid": 9}


def task(name: str, *, at_ms: int, ms: int, where: dict[str, int] = PAGE) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": at_ms * 1000, "dur": ms * 1000, "tdur": ms * 500, **where}


def test_a_frame_counts_what_ran_since_the_last_one_once():
    events = [
        task("FireAnimationFrame", at_ms=0, ms=9),
        task("EventDispatch", at_ms=20, ms=4),
        task("FunctionCall", at_ms=21, ms=2),
        task("TimerFire", at_ms=22, ms=50, where=OTHER),
        task("FireAnimationFrame", at_ms=30, ms=8),
        task("FunctionCall", at_ms=31, ms=6),
        task("Paint", at_ms=39, ms=3),
        task("FireAnimationFrame", at_ms=50, ms=1),
    ]
    assert frame_times(reversed(events)) == ([12.0, 1.0], [6.0, 0.5])


def test_a_trace_without_frames_is_refused():
    with pytest.raises(RuntimeError, match="no animation frame"):
        frame_times([task("Paint", at_ms=0, ms=1)])

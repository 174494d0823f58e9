"""How long scripts ran in each frame of a page, out of a trace of Chromium."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

CATEGORIES = (
    "-*",
    "devtools.timeline",
    "disabled-by-default-devtools.timeline",
    "v8.execute",
    "blink.user_timing",
    "__metadata",
)
# Outermost tasks that run scripts or work made by them at once; what they contain is not counted twice.
SCRIPT = frozenset(
    {
        "EvaluateScript", "EventDispatch", "FireAnimationFrame", "FireIdleCallback", "FunctionCall", "RunMicrotasks",
        "TimerFire", "V8.GCScavenger", "MajorGC", "MinorGC", "v8.run", "XHRLoad", "XHRReadyStateChange",
    }
)  # fmt: skip
FRAME = "FireAnimationFrame"
US_PER_MS = 1000


def frame_times(events: Iterable[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    """Per frame, from one animation frame's end to the next one's, the milliseconds of script: as the clock ran, and of
    processor time.
    """
    whole = [event for event in events if event.get("ph") == "X" and event["name"] in SCRIPT]
    threads = Counter((event["pid"], event["tid"]) for event in whole if event["name"] == FRAME)
    if not threads:
        raise RuntimeError("the trace has no animation frame")
    page = threads.most_common(1)[0][0]
    tasks = sorted((event for event in whole if (event["pid"], event["tid"]) == page), key=_start)
    wall_ms, cpu_ms = [], []
    wall = cpu = 0.0
    for task in _outermost(tasks):
        wall += task["dur"] / US_PER_MS
        cpu += task.get("tdur", 0) / US_PER_MS
        if task["name"] == FRAME:
            wall_ms.append(wall)
            cpu_ms.append(cpu)
            wall = cpu = 0.0
    return wall_ms[1:], cpu_ms[1:]


def _start(event: Mapping[str, Any]) -> tuple[int, int]:
    return event["ts"], -event["dur"]


def _outermost(tasks: Sequence[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    ends_at = -1
    for task in tasks:
        if task["ts"] >= ends_at:
            ends_at = task["ts"] + task["dur"]
            yield task

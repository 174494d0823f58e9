"""Memory and CPU use of running tasks, summed over everything below their supervisors."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass

from agent.task import TaskKey

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class ProcessRow:
    """What one /proc/PID/stat says."""

    parent: int
    ticks: int
    rss_bytes: int


@dataclass(frozen=True)
class Use:
    """Use of one task; CPU is unknown until there are two readings."""

    memory_mib: int
    cpu_milli: int | None


class UseMeter:
    """Keeps the CPU ticks of the last reading per task."""

    def __init__(self) -> None:
        self._last: dict[TaskKey, tuple[int, float]] = {}

    def read(
        self, supervisors: Mapping[TaskKey, int], containers: Mapping[TaskKey, int] | None = None
    ) -> dict[TaskKey, Use]:
        """Use of every task, by the pid of its supervisor (whose own use is left out) or of its container's first
        process.
        """
        first = containers or {}
        rows = process_table() if supervisors or first else {}
        now_s = time.monotonic()
        result, last = {}, {}
        for key, root in {**supervisors, **first}.items():
            below = descendants(rows, root) | ({root} & rows.keys() if key in first else set())
            ticks = sum(rows[pid].ticks for pid in below)
            last[key] = (ticks, now_s)
            result[key] = Use(
                sum(rows[pid].rss_bytes for pid in below) >> 20, self._cpu_milli(key, ticks, now_s)
            )
        self._last = last
        return result

    def _cpu_milli(self, key: TaskKey, ticks: int, now_s: float) -> int | None:
        before = self._last.get(key)
        if before is None or now_s <= before[1]:
            return None
        return max(0, round((ticks - before[0]) * 1000 / TICKS_PER_S / (now_s - before[1])))


def process_table() -> dict[int, ProcessRow]:
    """All processes: parent, CPU ticks with those of ended children, resident bytes."""
    rows = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as source:
                    fields = source.read().rpartition(")")[2].split()
            except OSError:
                continue
            rows[int(name)] = ProcessRow(
                int(fields[1]), sum(map(int, fields[11:15])), int(fields[21]) * PAGE_BYTES
            )
    return rows


def descendants(rows: Mapping[int, ProcessRow], root: int) -> set[int]:
    """Pids below `root`, itself left out."""
    children: dict[int, list[int]] = {}
    for pid, row in rows.items():
        children.setdefault(row.parent, []).append(pid)
    found: set[int] = set()
    queue = [root]
    while queue:
        for pid in children.get(queue.pop(), ()):
            if pid not in found:
                found.add(pid)
                queue.append(pid)
    return found


def start_ticks(pid: int) -> int:
    """Start time of a process in clock ticks since boot; with the pid it names a process for good. 0 if there
    is none.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as source:
            fields = source.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[19]) if fields and fields[0] not in "ZX" else 0

"""Memory and CPU use of running tasks, summed over everything below their supervisors."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.fact_files import number
from agent.host.files import read_text
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
    """Use of one task; CPU is unknown until there are two readings. `pids` are its processes, `first` one of them."""

    memory_mib: int
    cpu_milli: int | None
    pids: frozenset[int] = frozenset()
    first: int | None = None


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
            one = root if key in first else min(below, default=None)
            of_group = None if one is None else group_memory_mib(one)
            resident_mib = sum(rows[pid].rss_bytes for pid in below) >> 20
            result[key] = Use(
                resident_mib if of_group is None else of_group,
                self._cpu_milli(key, ticks, now_s),
                frozenset(below),
                one,
            )
        self._last = last
        return result

    def _cpu_milli(self, key: TaskKey, ticks: int, now_s: float) -> int | None:
        before = self._last.get(key)
        if before is None or now_s <= before[1]:
            return None
        return max(0, round((ticks - before[0]) * 1000 / TICKS_PER_S / (now_s - before[1])))


def memory_now_mib(pids: Collection[int], first: int | None) -> int | None:
    """Memory of a task whose processes are known, without a look at all others; None when none of them is left."""
    of_group = None if first is None else group_memory_mib(first)
    if of_group is not None:
        return of_group
    pages = [found for pid in pids if (found := _resident_pages(pid)) is not None]
    return sum(pages) * PAGE_BYTES >> 20 if pages else None


def group_memory_mib(pid: int, root: Path = Path("/")) -> int | None:
    """What the control group of a process uses, without the file cache that the kernel takes back at once; None where
    the process has no group of its own beside ours, or nobody counts there.
    """
    own, theirs = _groups("self", root), _groups(str(pid), root)
    for controller, usage, cache in (
        ("", "memory.current", "inactive_file"),
        ("memory", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        path = theirs.get(controller)
        if path is None or path == own.get(controller) or path == "/":
            continue
        folder = root / "sys/fs/cgroup" / controller / path.lstrip("/")
        used = number(read_text(folder / usage))
        if used is not None:
            return max(0, used - _stat(folder / "memory.stat", cache)) >> 20
    return None


def _groups(pid: str, root: Path) -> dict[str, str]:
    """Path of a process's group by controller; "" is the one hierarchy of version 2."""
    found: dict[str, str] = {}
    for line in (read_text(root / f"proc/{pid}/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        found |= dict.fromkeys(controllers.split(","), path)
    return found


def _stat(file: Path, name: str) -> int:
    for line in (read_text(file) or "").splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return number(value) or 0
    return 0


def _resident_pages(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as source:
            return int(source.read().split()[1])
    except (OSError, IndexError, ValueError):
        return None


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

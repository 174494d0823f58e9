"""On which of a task's cores its processes are, and what they use of them: data loaders belong on the loader set,
everything else on the work set.

A task has all its cores until one of its processes is known as a loader; from then on it is split, to its end: one
that has no loaders, or does not show them, would else leave the loader set idle. Affinity is a property of threads,
and new ones have that of whoever made them; so every look goes over all threads and moves those that are astray.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from agent.protocol import CpuUse
from agent.runners.memory import DeviceMemory, device_name, is_whole
from agent.runners.usage import TICKS_PER_S
from agent.task import Record, TaskKey

logger = logging.getLogger("headrace.agent.cores")
# What PyTorch calls the workers of its DataLoader; whatever they fork is called so, too.
LOADER_NAMES = frozenset({"pt_data_worker"})
FULL = 0.9


@dataclass(frozen=True)
class _Process:
    parent: int
    name: str
    ticks: int
    born: int


@dataclass
class _Sums:
    """Over the looks at one task, in seconds of time and of CPU."""

    time_s: float = 0.0
    used_s: float = 0.0
    loader_s: float = 0.0
    full_s: float = 0.0
    device_time_s: float = 0.0
    device_s: float = 0.0


@dataclass
class _Task:
    work: frozenset[int]
    loader: frozenset[int]
    devices: tuple[str | None, ...]
    has_loaders: bool = False
    is_split: bool = False
    may_move: bool = True
    before: dict[tuple[int, int], int] = field(default_factory=dict)
    looked_s: float | None = None
    sums: _Sums = field(default_factory=_Sums)


class CoreWatch:
    """Looks at the processes of the tasks it follows, whenever it is told which they are."""

    def __init__(self) -> None:
        self._tasks: dict[TaskKey, _Task] = {}
        self._devices: Mapping[str, DeviceMemory] = {}

    def follow(self, record: Record) -> None:
        """Look after a task from now on."""
        assignment = record.assignment
        loader = frozenset(assignment.loader_cpus)
        devices = tuple(device_name(device) for device in assignment.devices if is_whole(device))
        cores = frozenset(assignment.cpus) | loader
        if cores:
            self._tasks.setdefault(record.key, _Task(cores - loader, loader, devices))

    def forget(self, key: TaskKey) -> None:
        """The task is over."""
        self._tasks.pop(key, None)

    def see(self, devices: Mapping[str, DeviceMemory] | None) -> None:
        """The last look at the devices (None: the one before still counts)."""
        self._devices = self._devices if devices is None else devices

    def look(self, pids: Mapping[TaskKey, Collection[int]]) -> None:
        """Put the processes of every task where they belong, and count what they used since the last look."""
        for key, own in pids.items():
            task = self._tasks.get(key)
            if task is None:
                continue
            found = {pid: process for pid in own if (process := _read(pid)) is not None}
            loaders = loaders_among(found, task.loader)
            task.has_loaders = task.has_loaders or bool(loaders)
            task.is_split = task.has_loaders and bool(task.loader and task.work)
            if task.is_split and task.may_move:
                task.may_move = _place(task, found, loaders, key)
            self._count(task, found, loaders, time.monotonic())

    def use(self, key: TaskKey) -> CpuUse | None:
        """What a task used so far; None until there were two looks, and of one that has no cores of its own."""
        task = self._tasks.get(key)
        if task is None or task.sums.time_s <= 0:
            return None
        sums = task.sums
        known = task.devices and sums.device_time_s > 0
        return CpuUse(
            seconds=round(sums.time_s),
            used_milli=round(1000 * sums.used_s / sums.time_s),
            loader_milli=round(1000 * sums.loader_s / sums.time_s) if task.has_loaders else None,
            full_pct=round(100 * sums.full_s / sums.time_s),
            device_pct=round(sums.device_s / sums.device_time_s) if known else None,
        )

    def _count(
        self, task: _Task, found: Mapping[int, _Process], loaders: Collection[int], now_s: float
    ) -> None:
        before, looked_s = task.before, task.looked_s
        task.before = {(pid, process.born): process.ticks for pid, process in found.items()}
        task.looked_s = now_s
        if looked_s is None or now_s <= looked_s:
            return
        passed_s, sums = now_s - looked_s, task.sums
        # What ended meanwhile counts for whoever waited for it, so only the sum of all is whole.
        used_s = max(0, sum(task.before.values()) - sum(before.values())) / TICKS_PER_S
        loader_s = _since(before, {pid: found[pid] for pid in loaders})
        filled_s, cores = (
            (loader_s, task.loader) if task.is_split and loaders else (used_s, task.work | task.loader)
        )
        sums.time_s += passed_s
        sums.used_s += used_s
        sums.loader_s += loader_s
        sums.full_s += passed_s if filled_s >= FULL * len(cores) * passed_s else 0
        busy = self._busy_pct(task.devices)
        if busy is not None:
            sums.device_time_s += passed_s
            sums.device_s += busy * passed_s

    def _busy_pct(self, names: Iterable[str | None]) -> float | None:
        """Mean over the devices; None where that of any is unknown."""
        seen = [self._devices.get(name) if name is not None else None for name in names]
        known = [one.utilization_pct for one in seen if one is not None and one.utilization_pct is not None]
        return sum(known) / len(known) if known and len(known) == len(seen) else None


def loaders_among(found: Mapping[int, _Process], loader: Collection[int]) -> set[int]:
    """The processes that load data: those that bear a loader's name, those that went to the loader cores by themselves,
    and all below them.
    """
    own = {
        pid
        for pid, process in found.items()
        if process.name in LOADER_NAMES or (loader and _cores(pid) <= set(loader))
    }
    return {pid for pid in found if _is_below(pid, own, found)}


def _is_below(pid: int, roots: Collection[int], found: Mapping[int, _Process]) -> bool:
    seen: set[int] = set()
    while pid in found and pid not in seen:
        if pid in roots:
            return True
        seen.add(pid)
        pid = found[pid].parent
    return False


def _since(before: Mapping[tuple[int, int], int], now: Mapping[int, _Process]) -> float:
    """Seconds of CPU; one that was not there before used all it has since."""
    ticks = [max(0, process.ticks - before.get((pid, process.born), 0)) for pid, process in now.items()]
    return sum(ticks) / TICKS_PER_S


def _place(task: _Task, found: Collection[int], loaders: Collection[int], key: TaskKey) -> bool:
    """Move every thread that is astray; False where the agent may not."""
    for pid in found:
        try:
            _keep_to(pid, task.loader if pid in loaders else task.work)
        except PermissionError:
            logger.warning("the cores of placement %s cannot be split: no right to", key.placement)
            return False
        except OSError:
            continue
    return True


def _keep_to(pid: int, cores: frozenset[int]) -> None:
    """A thread that chose some of the cores it may have keeps its choice."""
    for name in os.listdir(f"/proc/{pid}/task"):
        try:
            has = os.sched_getaffinity(int(name))
            if not has <= cores:
                os.sched_setaffinity(int(name), (has & cores) or cores)
        except ProcessLookupError:
            continue


def _cores(pid: int) -> set[int]:
    try:
        return os.sched_getaffinity(pid)
    except OSError:
        return {-1}


def _read(pid: int) -> _Process | None:
    """Parent, name, CPU ticks with those of ended children, and start of a process; None once it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as source:
            head, _, rest = source.read().rpartition(")")
    except OSError:
        return None
    fields = rest.split()
    if not fields or fields[0] in "ZX":
        return None
    return _Process(int(fields[1]), head.partition("(")[2], sum(map(int, fields[11:15])), int(fields[19]))

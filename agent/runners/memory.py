"""What running tasks use of memory, watched from outside: of the host by their processes or control groups, of devices
by what the vendors' tools tell of processes.

Every round looks at all processes; in between only those already known are asked, so that a job that grows fast is
seen in time at little cost.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.guard import Guard, Watched
from agent.protocol import AssignedDevice, Assignment, DeviceUse, GuardRules, Pressure
from agent.runners.usage import Use, UseMeter, memory_now_mib
from agent.task import Record, TaskKey

logger = logging.getLogger("headrace.agent.memory")
LOOK_S = 2.0
WHOLE_MILLI = 1000


@dataclass(frozen=True)
class DeviceMemory:
    """One look at one device: all that is used of it, by process what the tool tells (None: it does not say), and how
    busy the device is.
    """

    used_mib: int | None = None
    reserved_mib: int = 0
    by_pid: Mapping[int, int | None] = field(default_factory=dict)
    utilization_pct: int | None = None


@dataclass
class _Task:
    assignment: Assignment
    guard: Guard = field(default_factory=Guard)
    pressures: tuple[Pressure, ...] = ()


class MemoryWatch:
    """Watches the tasks it was told to follow; `on_pressure` is called, from a thread, when that of one changes."""

    def __init__(self, on_pressure: Callable[[TaskKey], None], *, look_s: float = LOOK_S) -> None:
        self._on_pressure = on_pressure
        self._look_s = look_s
        self._meter = UseMeter()
        self._tasks: dict[TaskKey, _Task] = {}
        self._use: dict[TaskKey, Use] = {}
        self._devices: Mapping[str, DeviceMemory] = {}
        self._rules: GuardRules | None = None
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, record: Record) -> None:
        """Watch a task from now on."""
        with self._lock:
            self._tasks.setdefault(record.key, _Task(record.assignment))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="guard", daemon=True)
                self._thread.start()

    def forget(self, key: TaskKey) -> None:
        """The task is over."""
        with self._lock:
            self._tasks.pop(key, None)
            self._use.pop(key, None)

    def set(self, rules: GuardRules | None, devices: Mapping[str, DeviceMemory] | None) -> None:
        """By what rules to judge, and the last look at the devices (None: the one before still counts)."""
        with self._lock:
            self._rules = rules
            self._devices = self._devices if devices is None else devices

    def measure(self, supervisors: Mapping[TaskKey, int], containers: Mapping[TaskKey, int]) -> None:
        """One look at all processes, by the pid of each task's supervisor or of its container's first process."""
        with self._lock:
            self._use = self._meter.read(supervisors, containers)
            for key in self._use:
                self._judge(key)

    def use(self, key: TaskKey) -> Use | None:
        """The host's side, as last seen."""
        return self._use.get(key)

    def device_use(self, key: TaskKey) -> tuple[DeviceUse, ...]:
        """The devices' side, as last seen."""
        with self._lock:
            task = self._tasks.get(key)
            if task is None:
                return ()
            pids = self._pids(key)
            return tuple(
                DeviceUse(name, self._of_device(device, name, pids))
                for device in task.assignment.devices
                if (name := device_name(device)) is not None
            )

    def pressures(self, key: TaskKey) -> tuple[Pressure, ...]:
        """What is wrong with a task's memory."""
        task = self._tasks.get(key)
        return () if task is None else task.pressures

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()

    def _run(self) -> None:
        while not self._closed.wait(self._look_s):
            try:
                changed = self._look()
            except Exception:
                logger.exception("memory of jobs could not be looked at")
                continue
            for key in changed:
                self._on_pressure(key)

    def _look(self) -> list[TaskKey]:
        """Ask the processes that are known; the tasks whose pressures changed."""
        changed = []
        with self._lock:
            if self._rules is None:
                return []
            for key, use in list(self._use.items()):
                task = self._tasks.get(key)
                if task is None or task.assignment.memory_mib is None:
                    continue
                used_mib = memory_now_mib(use.pids, use.first)
                if used_mib is None:
                    continue
                self._use[key] = replace(use, memory_mib=used_mib)
                before = task.pressures
                self._judge(key)
                if task.pressures != before:
                    changed.append(key)
        return changed

    def _judge(self, key: TaskKey) -> None:
        task, rules = self._tasks.get(key), self._rules
        if task is None or rules is None:
            return
        memories = [*self._host(key, task, rules), *self._of_devices(key, task, rules)]
        task.pressures = tuple(task.guard.judge(memories, rules, now_s=time.monotonic()))

    def _host(self, key: TaskKey, task: _Task, rules: GuardRules) -> Sequence[Watched]:
        booked_mib, use = task.assignment.memory_mib, self._use.get(key)
        if booked_mib is None:
            return ()
        return [Watched(None, booked_mib, rules.host_percent, None if use is None else use.memory_mib)]

    def _of_devices(self, key: TaskKey, task: _Task, rules: GuardRules) -> Sequence[Watched]:
        pids, found = self._pids(key), []
        for device in task.assignment.devices:
            name = device_name(device)
            if name is not None:
                limit = rules.whole_percent if is_whole(device) else rules.shared_percent
                used_mib = self._of_device(device, name, pids)
                found.append(Watched(name, device.memory_mib, limit, used_mib))
        return found

    def _pids(self, key: TaskKey) -> frozenset[int]:
        use = self._use.get(key)
        return frozenset() if use is None else use.pids

    def _of_device(self, device: AssignedDevice, name: str, pids: frozenset[int]) -> int | None:
        """The task's part of a device: of a whole one all that is used, of a shared one what its processes are known to
        use; nothing that is told of them is no proof that they use nothing.
        """
        seen = self._devices.get(name)
        if seen is None:
            return None
        own = [seen.by_pid[pid] for pid in pids & seen.by_pid.keys()]
        known = [used_mib for used_mib in own if used_mib is not None]
        if own and len(known) == len(own):
            return sum(known)
        if is_whole(device) and seen.used_mib is not None:
            return max(0, seen.used_mib - seen.reserved_mib)
        return None


def is_whole(device: AssignedDevice) -> bool:
    """Whether the job has the device for itself."""
    return device.compute_milli >= WHOLE_MILLI


def device_name(device: AssignedDevice) -> str | None:
    """As samples name it."""
    return device.uuid or device.pci_bus_id

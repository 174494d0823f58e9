"""Simulated jobs: they take the time they say, write lines, and exit with a code; no process is started."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import logging
import math
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.fact_files import number, read_facts
from agent.host.files import parse_count
from agent.journal import Journal
from agent.protocol import Assignment, Checkpoint, ExitReason, GuardRules, Notice, TaskPhase
from agent.runners.base import OnChange, Progress
from agent.runners.memory import DeviceMemory
from agent.runners.task_files import read_exit, size_of, write_exit, write_private
from agent.simulation_spec import SimNode
from agent.task import Outcome, Record, TaskKey

logger = logging.getLogger("headrace.agent.simulation")
DEFAULT_SECONDS = 30.0
# Each line is a request to the server: short jobs talk often, long ones seldom.
LINE_EVERY_S = 5.0
MOST_LINES = 8
_SLEEP = re.compile(r"\bsleep\s+(\d+(?:\.\d+)?)")
_EXIT = re.compile(r"\bexit\s+(\d+)")


class Timetable:
    """One thread that makes all calls of all simulated nodes when they are due."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._closed = False
        threading.Thread(target=self._run, name="timetable", daemon=True).start()

    def call_in(self, delay_s: float, call: Callable[[], None]) -> None:
        """Call once after `delay_s`."""
        with self._changed:
            heapq.heappush(self._entries, (time.monotonic() + delay_s, next(self._order), call))
            self._changed.notify()

    def close(self) -> None:
        """Forget what is left."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._closed and (not self._entries or self._entries[0][0] > time.monotonic()):
                    self._changed.wait(
                        max(0.0, self._entries[0][0] - time.monotonic()) if self._entries else None
                    )
                if self._closed:
                    return
                call = heapq.heappop(self._entries)[2]
            try:
                call()
            except Exception:
                logger.exception("a simulated event failed")


@dataclass
class SimTask:
    """A simulated job that runs."""

    record: Record
    started_at_ms: int
    seconds: float
    outcome: Outcome | None = None
    lines: int = 0
    checkpoint: Checkpoint | None = None


class SimRunner:
    """Jobs that take the time they say (`HEADRACE_SIM_SECONDS` or `sleep N` in the command), write lines and
    exit with a code.
    """

    isolates_users = True
    warnings: tuple[Notice, ...] = ()

    def __init__(self, node: SimNode, journal: Journal, timetable: Timetable) -> None:
        self._node = node
        self._journal = journal
        self._timetable = timetable
        self._tasks: dict[TaskKey, SimTask] = {}
        self.on_change: OnChange = lambda key: None

    def reserve(self, assignment: Assignment) -> int | None:
        """A made-up uid of the range of real ones."""
        return 61184 + assignment.placement % 4000

    def start(self, record: Record) -> None:
        """Begin; the time of it goes to disk, so a restarted simulation goes on."""
        if record.key in self._tasks:
            return
        folder = self._journal.folder(record.key)
        started_at_ms = (
            number(read_facts(folder / "started").get("started_at_ms")) or time.time_ns() // 1_000_000
        )
        write_private(folder / "started", f"started_at_ms={started_at_ms}\n".encode())
        task = self._tasks[record.key] = SimTask(record, started_at_ms, job_seconds(record.assignment))
        self._say(
            task,
            f"{record.assignment.name} runs (simulated) on {self._node.name}, cores {record.assignment.cpus}",
        )
        self._schedule(task)
        self._timetable.call_in(0.0, lambda: self.on_change(record.key))

    def adopt(self, record: Record) -> None:
        """Go on where an earlier run left off."""
        folder = self._journal.folder(record.key)
        started_at_ms = number(read_facts(folder / "started").get("started_at_ms"))
        if started_at_ms is None:
            return
        task = SimTask(
            record, started_at_ms, job_seconds(record.assignment), outcome=read_exit(folder, record)
        )
        self._tasks[record.key] = task
        if task.outcome is None:
            self._schedule(task)

    def sweep(self, known: Collection[TaskKey]) -> None:
        """Nothing to do: there are no work folders."""

    def stop(self, record: Record) -> None:
        """End soon, as a job that heeds SIGTERM."""
        if record.key not in self._tasks:
            write_exit(self._journal.folder(record.key), ExitReason.STOPPED, "stopped before it was started")
            self._timetable.call_in(0.0, lambda: self.on_change(record.key))
            return
        self._timetable.call_in(0.2, lambda: self._end(record.key, ExitReason.STOPPED, signal=15))

    def checkpoint(self, record: Record, asked: int) -> None:
        """Made at once."""
        task = self._tasks.get(record.key)
        if task is not None and (task.checkpoint is None or task.checkpoint.asked != asked):
            now_ms = time.time_ns() // 1_000_000
            task.checkpoint = Checkpoint(path="simulated", made_at_ms=now_ms, asked=asked)
            self._timetable.call_in(0.2, lambda: self.on_change(record.key))

    def progress(self, record: Record) -> Progress:
        """How it stands."""
        task = self._tasks.get(record.key)
        folder = self._journal.folder(record.key)
        outcome = (task.outcome if task else None) or read_exit(folder, record)
        phase = TaskPhase.ENDED if outcome else None
        if outcome is None and task is not None:
            phase = TaskPhase.STOPPING if record.stop_wanted else TaskPhase.RUNNING
        return Progress(
            phase=phase,
            started_at_ms=task.started_at_ms if task else None,
            cpus=tuple(sorted(record.assignment.cpus)) if task else (),
            outcome=outcome,
            log_bytes=size_of(folder / "log"),
            memory_used_mib=(record.assignment.memory_mib or 1024) * 7 // 10
            if phase is TaskPhase.RUNNING
            else None,
            checkpoint=task.checkpoint if task else None,
            asked=task.checkpoint.asked if task and task.checkpoint else None,
            cpu_used_milli=len(record.assignment.cpus) * 900 if phase is TaskPhase.RUNNING else None,
        )

    def measure(self) -> None:
        """Nothing to do: use follows from what runs."""

    def guard(self, rules: GuardRules | None, devices: Mapping[str, DeviceMemory] | None) -> None:
        """Simulated jobs keep to what they booked."""

    def log_path(self, record: Record) -> Path:
        """Beside the record."""
        return self._journal.folder(record.key) / "log"

    def clear(self, record: Record) -> None:
        """Nothing to do: there is no work folder."""

    def release(self, record: Record) -> None:
        """Gone."""
        self._tasks.pop(record.key, None)

    def kept_jobs(self) -> list[int]:
        """None: nothing is written here."""
        return []

    def prune(self, jobs: Collection[int]) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing runs here."""

    def running(self) -> list[Assignment]:
        """What runs now."""
        return [task.record.assignment for task in list(self._tasks.values()) if task.outcome is None]

    def _schedule(self, task: SimTask) -> None:
        key = task.record.key
        gone_s = max(0.0, time.time() - task.started_at_ms / 1000)
        limit_s = task.record.assignment.time_limit_s
        if limit_s is not None and limit_s < task.seconds:
            self._timetable.call_in(
                max(0.0, limit_s - gone_s), lambda: self._end(key, ExitReason.TIME_LIMIT, signal=15)
            )
        else:
            code = exit_code(task.record.assignment)
            left_s = max(0.0, task.seconds - gone_s)
            self._timetable.call_in(left_s, lambda: self._end(key, ExitReason.EXITED, code=code))
        self._timetable.call_in(line_every_s(task), lambda: self._line(key))

    def _line(self, key: TaskKey) -> None:
        task = self._tasks.get(key)
        if task is None or task.outcome is not None:
            return
        task.lines += 1
        self._say(task, f"step {task.lines * 50} loss {2.5 / math.sqrt(task.lines + 1):.4f}")
        self._timetable.call_in(line_every_s(task), lambda: self._line(key))

    def _end(
        self, key: TaskKey, reason: ExitReason, *, code: int | None = None, signal: int | None = None
    ) -> None:
        task = self._tasks.get(key)
        if task is None or task.outcome is not None:
            return
        self._say(task, "done" if code == 0 else f"ended: {reason}")
        folder = self._journal.folder(key)
        text = f"reason={reason}\nexit_code={'' if code is None else code}\nsignal={'' if signal is None else signal}\n"
        write_private(
            folder / "exit", f"{text}ended_at_ms={time.time_ns() // 1_000_000}\nmessage=\n".encode()
        )
        task.outcome = read_exit(folder, task.record)
        self.on_change(key)

    def _say(self, task: SimTask, text: str) -> None:
        with contextlib.suppress(OSError), (self._journal.folder(task.record.key) / "log").open("ab") as log:
            log.write(text.encode() + b"\n")


def line_every_s(task: SimTask) -> float:
    """How long a simulated job is silent between two lines."""
    return max(LINE_EVERY_S, task.seconds / MOST_LINES)


def job_seconds(assignment: Assignment) -> float:
    """How long a simulated job takes."""
    text = assignment.env.get("HEADRACE_SIM_SECONDS", "")
    found = _SLEEP.search(" ".join(assignment.command))
    try:
        return float(text) if text else float(found.group(1)) if found else DEFAULT_SECONDS
    except ValueError:
        return DEFAULT_SECONDS


def exit_code(assignment: Assignment) -> int:
    """What a simulated job exits with: `HEADRACE_SIM_EXIT`, `exit N` in the command, `false`, else 0."""
    text = assignment.env.get("HEADRACE_SIM_EXIT", "")
    found = _EXIT.search(" ".join(assignment.command))
    code = parse_count(text)
    if code is not None:
        return code
    return int(found.group(1)) % 256 if found else int(assignment.command[:1] == ["false"])

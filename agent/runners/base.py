"""What the agent asks of a runner, so that real processes, containers and simulated jobs are driven alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent.protocol import (
    Assignment,
    Checkpoint,
    CpuUse,
    DeviceUse,
    GuardRules,
    Notice,
    Pressure,
    Pull,
    TaskPhase,
)
from agent.runners.memory import DeviceMemory
from agent.task import Outcome, Record, TaskKey

OnChange = Callable[[TaskKey], None]


class RunnerError(Exception):
    """A job cannot be started here; the text is shown to its owner."""


@dataclass(frozen=True)
class Progress:
    """How a task stands. `phase` None = written down, but its start never happened."""

    phase: TaskPhase | None
    started_at_ms: int | None = None
    pid: int | None = None
    cpus: tuple[int, ...] = ()
    adopted: bool = False
    outcome: Outcome | None = None
    log_bytes: int = 0
    memory_used_mib: int | None = None
    cpu_used_milli: int | None = None
    pull: Pull | None = None
    checkpoint: Checkpoint | None = None
    asked: int | None = None
    device_use: tuple[DeviceUse, ...] = ()
    pressures: tuple[Pressure, ...] = ()
    cpu_use: CpuUse | None = None


class Runner(Protocol):
    """Starts, watches and stops tasks; calls `on_change` (from any thread) when one started or ended."""

    on_change: OnChange
    isolates_users: bool
    warnings: tuple[Notice, ...]

    def reserve(self, assignment: Assignment) -> int | None:
        """The uid the job will run under; raises RunnerError."""

    def start(self, record: Record) -> None:
        """Start a written-down task; again is harmless; raises RunnerError."""

    def adopt(self, record: Record) -> None:
        """Take up a task of an earlier run of the agent."""

    def sweep(self, known: Collection[TaskKey]) -> None:
        """Remove what tasks that nobody knows any more left behind; once, after all were adopted."""

    def stop(self, record: Record) -> None:
        """Ask a task to end; again is harmless."""

    def checkpoint(self, record: Record, asked: int) -> None:
        """Ask a running task for a checkpoint, once per number; its state tells what became of it."""

    def progress(self, record: Record) -> Progress:
        """How the task stands now."""

    def measure(self) -> None:
        """Refresh memory and CPU use of running tasks, and keep their processes on their cores."""

    def guard(self, rules: GuardRules | None, devices: Mapping[str, DeviceMemory] | None) -> None:
        """By what rules memory is watched, and what was read of the devices (None: nothing new)."""

    def log_path(self, record: Record) -> Path:
        """Where the task's output lies."""

    def clear(self, record: Record) -> None:
        """The task has ended: remove its work folder; again is harmless."""

    def release(self, record: Record) -> None:
        """The task is over and let go: free its user, leaving nothing of it behind."""

    def kept_jobs(self) -> list[int]:
        """The jobs of which checkpoints lie here."""

    def prune(self, jobs: Collection[int]) -> None:
        """Remove the checkpoints of these jobs, which are over for good; never raises."""

    def close(self) -> None:
        """Stop watching; jobs go on."""

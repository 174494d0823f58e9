"""Identity and end of a task: the agent's side of one attempt of one placement."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from agent.protocol import Assignment, ExitReason


class TaskKey(NamedTuple):
    """One attempt of one placement; a late answer under another fence concerns another task."""

    placement: int
    attempt: int
    fence: int

    @property
    def folder(self) -> str:
        """Name of the task's folder."""
        return f"{self.placement}-{self.attempt}-{self.fence}"


class Outcome(msgspec.Struct, frozen=True):
    """How a task ended."""

    reason: ExitReason
    ended_at_ms: int
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    log_bytes: int = 0
    started_at_ms: int | None = None


class Record(msgspec.Struct, frozen=True):
    """What is written down before a task starts. `outcome` is set for tasks that ended without a supervisor
    to say how.
    """

    assignment: Assignment
    boot_id: str
    created_at_ms: int
    uid: int | None = None
    devices_env: dict[str, str] = {}
    stop_wanted: bool = False
    outcome: Outcome | None = None

    @property
    def key(self) -> TaskKey:
        """Identity of the task."""
        return key_of(self.assignment)


def key_of(assignment: Assignment) -> TaskKey:
    """Identity of the task that an assignment asks for."""
    return TaskKey(assignment.placement, assignment.attempt, assignment.fence)

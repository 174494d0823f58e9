"""A task as the server hears of it."""

from __future__ import annotations

from agent.protocol import TaskPhase, TaskState
from agent.runners.base import Progress
from agent.task import Record, TaskKey


def task_state(record: Record, progress: Progress) -> TaskState:
    """A task as the server hears of it."""
    key, outcome = record.key, progress.outcome
    ended = outcome is not None
    return TaskState(
        placement=key.placement,
        attempt=key.attempt,
        fence=key.fence,
        phase=TaskPhase.ENDED if ended else progress.phase or TaskPhase.PREPARING,
        started_at_ms=(outcome.started_at_ms if outcome else None) or progress.started_at_ms,
        ended_at_ms=outcome.ended_at_ms if outcome else None,
        cpus=list(progress.cpus),
        uid=record.uid,
        pid=progress.pid,
        adopted=progress.adopted,
        exit_code=outcome.exit_code if outcome else None,
        signal=outcome.signal if outcome else None,
        reason=outcome.reason if outcome else None,
        message=outcome.message if outcome else "",
        log_bytes=progress.log_bytes or (outcome.log_bytes if outcome else 0),
        memory_used_mib=progress.memory_used_mib,
        cpu_used_milli=progress.cpu_used_milli,
        pull=progress.pull,
        checkpoint=progress.checkpoint,
        device_use=list(progress.device_use),
        pressures=list(progress.pressures),
        cpu_use=progress.cpu_use if ended else None,
    )


def told_key(state: TaskState) -> TaskKey:
    """Which task a reported state is of."""
    return TaskKey(state.placement, state.attempt, state.fence)

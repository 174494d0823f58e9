"""What agents say about their tasks, into placement phases and from there into job status. Repeats and late
answers change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from agent.protocol import Checkpoint, ExitReason, Pull, TaskPhase, TaskState
from controlplane.base import clock
from controlplane.base.texts import LINES, without_control_characters
from controlplane.base.tx import Topic, after_commit
from inventory.images.starts import note_start
from inventory.models import Node
from queues import lifecycle
from queues.derive import Ending, Stage
from queues.lifecycle import Exit, Progress
from queues.models import Job, JobEvent
from scheduling.backends.agent import CHECKPOINT, asked_number, bump_epoch
from scheduling.bookings import failed_devices, locked_live, set_free
from scheduling.evacuation import ENDINGS as OUR_ENDINGS
from scheduling.gangs import follow_end, follow_start, marks
from scheduling.memory_guard import note_pressures
from scheduling.models import LIVE_PHASES, Phase, Placement
from scheduling.takeovers import refuse

# Phases only move forward; CHECKPOINTING goes back to RUNNING by the server's decision alone, never by a report.
RANK = {Phase.ASSIGNED: 0, Phase.PREPARING: 1, Phase.RUNNING: 2, Phase.CHECKPOINTING: 3, Phase.STOPPING: 4}
REPORTED = {
    TaskPhase.PREPARING: Phase.PREPARING,
    TaskPhase.RUNNING: Phase.RUNNING,
    TaskPhase.STOPPING: Phase.STOPPING,
}
REACHED_AT = {Phase.PREPARING: "preparing_at", Phase.RUNNING: "running_at", Phase.STOPPING: "stopping_at"}
ENDINGS = {
    ExitReason.SIGNALLED: Ending.SIGNAL,
    ExitReason.START_FAILED: Ending.START_FAILED,
    ExitReason.TIME_LIMIT: Ending.TIME_LIMIT,
    # A stop that nobody here asked for befell the job; it did nothing wrong.
    ExitReason.STOPPED: Ending.LOST_PROCESS,
    ExitReason.LOST_PROCESS: Ending.LOST_PROCESS,
    ExitReason.MEMORY_LIMIT: Ending.SIGNAL,
}
LATE, PULLING, PULLED = "late-answer", "pulling", "pulled"
CHECKPOINT_FAILED = "checkpoint-failed"
LARGEST_INT = 2**31 - 1


def observe_tasks(node: Node, tasks: Sequence[TaskState]) -> int:
    """Take in what the node's agent says of its tasks, inside the report's transaction; how many placements changed.

    An answer counts only for the placement it names, on this node, with its attempt and fence.
    """
    if not tasks:
        return 0
    said = {task.placement: task for task in tasks}
    with transaction.atomic(savepoint=False):
        named = Placement.objects.filter(pk__in=said, node_id=node.pk)
        jobs, placements = locked_live(named.filter(phase__in=LIVE_PHASES))
        live = {placement.pk for placement in placements}
        changed = [p for p in placements if _observe(p, jobs[p.job_id], said[p.pk])]
        note_pressures([(p, jobs[p.job_id], said[p.pk]) for p in placements if _is_of(p, said[p.pk])])
        if any(p.phase == Phase.RELEASED for p in changed):
            bump_epoch([node.pk])
            after_commit(Topic.CYCLE_WAKE)
        elif changed:
            after_commit(Topic.HINT, ("node", node.pk))
        _note_late([task for task in tasks if task.placement not in live], node)
        return len(changed)


def _is_of(placement: Placement, task: TaskState) -> bool:
    return (task.attempt, task.fence) == (placement.attempt, placement.fence)


def _observe(placement: Placement, job: Job, task: TaskState) -> bool:
    if not _is_of(placement, task):
        _remark_late(job, placement, task)
        return False
    if task.checkpoint is not None:
        _note_checkpoint(placement, job, task.checkpoint)
    if task.pull is not None and placement.running_at is None:
        _note_pull(placement, job, task.pull)
    if task.phase is TaskPhase.ENDED:
        if task.started_at_ms is not None:
            _reach(placement, job, task, Phase.RUNNING)
        return _end(placement, job, task)
    return _reach(placement, job, task, REPORTED[task.phase])


def _reach(placement: Placement, job: Job, task: TaskState, phase: Phase) -> bool:
    """Move a placement forward; the process facts are kept up to date meanwhile."""
    forward = RANK[phase] > RANK[Phase(placement.phase)]
    now = clock.now()
    changes: dict[str, Any] = {"uid": _known(task.uid), "pid": _known(task.pid), "adopted": task.adopted}
    changes = {name: value for name, value in changes.items() if getattr(placement, name) != value}
    if forward:
        changes |= {"phase": phase, REACHED_AT[phase]: now}
    started = (
        RANK[phase] >= RANK[Phase.RUNNING] and placement.running_at is None and task.started_at_ms is not None
    )
    if forward and (phase is Phase.RUNNING or started):
        changes["running_at"] = _started_at(placement, task, now)
    if not changes:
        return False
    _write(placement, changes)
    if "running_at" in changes:
        _follow_start(placement, job, task.pull)
    return True


def _started_at(placement: Placement, task: TaskState, now: datetime) -> datetime:
    """Server time of the start. Only a difference of two of the node's own readings is used: how long an
    ended task ran.
    """
    return max(placement.assigned_at, now - _ran(task, now))


def _ended_at(placement: Placement, task: TaskState, now: datetime) -> datetime | None:
    """Server time of the end, which may be long past when the agent or the server was away; None when unknown."""
    if placement.running_at is None or task.started_at_ms is None or task.ended_at_ms is None:
        return None
    return min(now, placement.running_at + _ran(task, now))


def _ran(task: TaskState, now: datetime) -> timedelta:
    """How long an ended task ran, as a difference of two of the node's own readings; zero when it still runs."""
    if task.started_at_ms is None or task.ended_at_ms is None:
        return timedelta()
    return timedelta(milliseconds=min(max(0, task.ended_at_ms - task.started_at_ms), clock.to_ms(now)))


def _note_checkpoint(placement: Placement, job: Job, told: Checkpoint) -> None:
    """Register the attempt's last checkpoint; a job that was asked for it is stopped with it, or runs on without."""
    path = without_control_characters(told.path)[:1000]
    if path:
        details = {"path": path, "made_at_ms": told.made_at_ms, "node": placement.node_id}
        lifecycle.restate(job, CHECKPOINT, details | marks(placement, job))
    if told.asked is None or told.asked != asked_number(placement):
        return
    saved = bool(path and not told.problem)
    if saved and job.replicas > 1:
        # It leaves when all have theirs.
        if placement.saved_at is None:
            _write(placement, {"saved_at": clock.now()})
            after_commit(Topic.CYCLE_WAKE)
        return
    if saved or lifecycle.is_final(job):
        _write(placement, {"phase": Phase.STOPPING, "stopping_at": clock.now()})
    else:
        _write(placement, {"phase": Phase.RUNNING, "stop_reason": "", "stopping_at": None})
        problem = without_control_characters(told.problem)[:500]
        details = {"problem": problem or "-", "node": placement.node_id}
        if placement.yields_to_id is not None:
            refuse(placement, job, CHECKPOINT_FAILED, details)
        elif not lifecycle.go_on(job, CHECKPOINT_FAILED, details):
            lifecycle.remark(job, CHECKPOINT_FAILED, details)
    bump_epoch([placement.node_id])
    if job.replicas > 1:
        after_commit(Topic.CYCLE_WAKE)


def _note_pull(placement: Placement, job: Job, pull: Pull) -> None:
    """The fetching of an image is seen while it lasts and told when it is done."""
    details = {
        "image": without_control_characters(pull.image)[:300],
        "ms": _known(pull.ms),
        "layers": _known(pull.layers),
        "layers_done": _known(pull.layers_done),
        "progress": without_control_characters(pull.text)[:200],
    }
    lifecycle.restate(job, PULLED if pull.done else PULLING, details | marks(placement, job))


def _pull_ms(pull: Pull | None, whole_ms: int) -> int:
    """The part of a start that the fetching of the image took, as a duration of the node's own clock."""
    return min(whole_ms, _known(pull.ms) or 0) if pull is not None else 0


def _follow_start(placement: Placement, job: Job, pull: Pull | None) -> None:
    assert placement.running_at is not None
    start_ms = max(0, clock.to_ms(placement.running_at) - clock.to_ms(placement.assigned_at))
    pull_ms = _pull_ms(pull, start_ms)
    if job.spec.get("image") is not None:
        note_start(placement.node_id, job.spec["image"], pull_ms=None if pull is None else pull_ms)
    progress = Progress(
        Stage.RUNNING,
        attempt=placement.attempt,
        node=placement.node_id,
        started_at=placement.running_at,
        image_pull_ms=pull_ms,
        start_ms=start_ms - pull_ms,
        details={"placement": placement.pk, "uid": placement.uid, "pid": placement.pid},
    )
    follow_start(placement, job, progress)


def _end(placement: Placement, job: Job, task: TaskState) -> bool:
    """Close a placement for good: exit facts, free bookings, and what follows for the job, in one transaction."""
    now = clock.now()
    failed = failed_devices(placement)
    exit_ = _excused(_exit(task), placement, failed)
    changes = {
        "phase": Phase.RELEASED,
        "ended_at": now,
        "exit_code": exit_.code,
        "exit_signal": exit_.signal,
        "exit_reason": task.reason.value if task.reason else "",
        "exit_message": exit_.message,
        "ending": exit_.ending.value,
        "failed_devices": list(failed),
        "log_total_bytes": max(0, task.log_bytes),
    }
    if placement.running_at is None:
        start_ms = max(0, clock.to_ms(now) - clock.to_ms(placement.assigned_at))
    else:
        start_ms = 0
    pull_ms = _pull_ms(task.pull, start_ms)
    _write(placement, changes)
    set_free([placement.pk])
    progress = Progress(
        Stage.ENDED,
        attempt=placement.attempt,
        node=placement.node_id,
        image_pull_ms=pull_ms,
        start_ms=start_ms - pull_ms,
        ended_at=_ended_at(placement, task, now),
        exit=exit_,
        failed_devices=failed,
        details={"placement": placement.pk},
    )
    follow_end(placement, job, progress)
    return True


def _excused(exit_: Exit, placement: Placement, failed: Sequence[int]) -> Exit:
    """What ended because we stopped it, or on a device that failed for good, did nothing wrong itself."""
    if exit_.ending in (Ending.SUCCESS, Ending.TIME_LIMIT):
        return exit_
    ours = OUR_ENDINGS.get(placement.stop_reason)
    ending = Ending.DEVICE_FAILED if failed and ours is None else ours
    return exit_ if ending is None else replace(exit_, ending=ending)


def _exit(task: TaskState) -> Exit:
    code, signal = _known(task.exit_code, 0, 255), _known(task.signal, 1, 64)
    ending = ENDINGS.get(task.reason) if task.reason is not None else None
    if ending is None:
        # A process that went without a code left nobody to say how; one with an impossible code did end by itself.
        lost = task.exit_code is None
        ending = Ending.LOST_PROCESS if lost else Ending.SUCCESS if code == 0 else Ending.EXIT_CODE
    message = without_control_characters(task.message, allowed=LINES)[:1000]
    return Exit(ending, code=code, signal=signal, message=message)


def _known(number: int | None, low: int = 0, high: int = LARGEST_INT) -> int | None:
    """A number that can be; anything else is unknown."""
    return number if number is not None and low <= number <= high else None


def _write(placement: Placement, changes: dict[str, Any]) -> None:
    Placement.objects.filter(pk=placement.pk).update(**changes)
    for name, value in changes.items():
        setattr(placement, name, value)


def _note_late(tasks: Sequence[TaskState], node: Node) -> None:
    """Answers about placements that are over: a repeated end is normal, anything else is remarked once."""
    if not tasks:
        return
    over = Placement.objects.filter(pk__in=[task.placement for task in tasks], node_id=node.pk)
    found = {placement.pk: placement for placement in over.select_related("job")}
    for task in tasks:
        placement = found.get(task.placement)
        if placement is None or (placement.phase == Phase.RELEASED and _same_end(placement, task)):
            continue
        _remark_late(placement.job, placement, task)


def _same_end(placement: Placement, task: TaskState) -> bool:
    return (task.attempt, task.fence) == (placement.attempt, placement.fence)


def _remark_late(job: Job, placement: Placement, task: TaskState) -> None:
    mark = {"placement": placement.pk, "attempt": task.attempt, "fence": task.fence}
    if JobEvent.objects.filter(job=job, code=LATE, details__contains=mark).exists():
        return
    lifecycle.remark(job, LATE, {**mark, "phase": task.phase.value, "node": placement.node_id})

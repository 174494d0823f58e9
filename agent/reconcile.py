"""From what runs and what is wanted to what to do: pure, so that every rule can be tried on random histories."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from agent.protocol import OLDEST_SUPPORTED_VERSION, Assignment, ExitReason, Reply, Want
from agent.task import TaskKey, key_of


class Verdict(StrEnum):
    """Whether a reply may change anything, and if not, why."""

    OBEY = "obey"
    NOT_AUTHORITATIVE = "not-authoritative"
    FOREIGN_CLUSTER = "foreign-cluster"
    OLDER_EPOCH = "older-epoch"
    OLD_VERSION = "old-version"


class Stage(StrEnum):
    """How far a known task is, as far as the rules care."""

    UNSTARTED = "unstarted"
    LIVE = "live"
    STOPPING = "stopping"
    ENDED = "ended"


@dataclass(frozen=True)
class Task:
    """A task the agent knows; `told` = the server has heard of its end; `asked` = the checkpoint last asked of it."""

    key: TaskKey
    stage: Stage
    strict_single: bool = False
    told: bool = True
    asked: int | None = None


@dataclass(frozen=True)
class Start:
    """Start the assignment, or go on with a start that was cut short."""

    assignment: Assignment


@dataclass(frozen=True)
class Stop:
    """Ask a task to end."""

    key: TaskKey
    why: str


@dataclass(frozen=True)
class Ask:
    """Ask a running task for a checkpoint."""

    assignment: Assignment


@dataclass(frozen=True)
class Forget:
    """The server has what it needs of an ended task."""

    key: TaskKey


@dataclass(frozen=True)
class Settle:
    """Report an assignment as ended without running it."""

    assignment: Assignment
    reason: ExitReason
    message: str


@dataclass(frozen=True)
class Recall:
    """The server asks again for a task that ended here and was let go: tell it once more how it ended."""

    assignment: Assignment


Action = Start | Stop | Ask | Forget | Settle | Recall


def judge(reply: Reply, *, cluster_id: str, epoch: int) -> Verdict:
    """A reply of another cluster, of an older epoch or without authority changes nothing."""
    if reply.cluster_id != cluster_id:
        return Verdict.FOREIGN_CLUSTER
    if reply.version < OLDEST_SUPPORTED_VERSION:
        return Verdict.OLD_VERSION
    if not reply.authoritative:
        return Verdict.NOT_AUTHORITATIVE
    return Verdict.OLDER_EPOCH if reply.epoch < epoch else Verdict.OBEY


def reconcile(
    tasks: Mapping[TaskKey, Task],
    assignments: Iterable[Assignment],
    *,
    past: Collection[TaskKey],
    observe_only: bool,
) -> list[Action]:
    """What to do about an authoritative desired set; the same set again gives nothing new to do."""
    wanted = newest(assignments)
    actions: list[Action] = []
    for key, task in sorted(tasks.items()):
        actions += _known(task, wanted.get(key.placement))
    for assignment in wanted.values():
        if key_of(assignment) not in tasks:
            actions += _unknown(assignment, tasks, past=past, observe_only=observe_only)
    return actions


def silence_stops(tasks: Mapping[TaskKey, Task], *, silence_s: float, limit_s: float) -> list[Action]:
    """A job runs on while the server is silent, unless it must never run twice at once and would soon be
    declared lost.
    """
    if silence_s < limit_s:
        return []
    live = [
        task for task in tasks.values() if task.strict_single and task.stage in (Stage.LIVE, Stage.UNSTARTED)
    ]
    return [
        Stop(task.key, "no contact with the server, and the job must run in one place only") for task in live
    ]


def newest(assignments: Iterable[Assignment]) -> dict[int, Assignment]:
    """One assignment per placement: the one with the highest fence, then attempt."""
    wanted: dict[int, Assignment] = {}
    for assignment in assignments:
        other = wanted.get(assignment.placement)
        if other is None or (other.fence, other.attempt) < (assignment.fence, assignment.attempt):
            wanted[assignment.placement] = assignment
    return wanted


def _known(task: Task, wanted: Assignment | None) -> list[Action]:
    matches = wanted is not None and key_of(wanted) == task.key
    if task.stage is Stage.ENDED:
        return [Forget(task.key)] if task.told and not matches else []
    if task.stage is Stage.STOPPING:
        return []
    if wanted is None or not matches:
        return [
            Stop(task.key, "no longer wanted here" if wanted is None else "superseded by another attempt")
        ]
    if wanted.want is Want.STOP:
        return [Stop(task.key, "")]
    if task.stage is Stage.UNSTARTED:
        return [Start(wanted)]
    new = wanted.checkpoint_asked is not None and wanted.checkpoint_asked != task.asked
    return [Ask(wanted)] if new else []


def _unknown(
    assignment: Assignment, tasks: Mapping[TaskKey, Task], *, past: Collection[TaskKey], observe_only: bool
) -> list[Action]:
    key = key_of(assignment)
    if key in past:
        return [Recall(assignment)]
    if assignment.want is Want.STOP:
        return [Settle(assignment, ExitReason.STOPPED, "stopped before it was started")]
    if observe_only:
        return [Settle(assignment, ExitReason.START_FAILED, "this node is observe-only: it never runs jobs")]
    if any(
        other.placement == key.placement and task.stage is not Stage.ENDED for other, task in tasks.items()
    ):
        return []  # an earlier attempt is still ending; its end leads to another look
    return [Start(assignment)]

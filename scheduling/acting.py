"""One action on one or many jobs, as its caller may: each job has its own outcome, transaction and audit entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import transaction

from controlplane.accounts import audit
from controlplane.accounts.audit import Who
from controlplane.accounts.models import User
from controlplane.accounts.permissions import Action, require
from controlplane.base.problems import Problem
from queues import lifecycle
from queues.models import LIVE_STATUSES, Job, JobArray
from scheduling.operations import (
    cancel_job,
    hold_job,
    release_job,
    reprioritise_job,
    requeue_job,
    resume_job,
    suspend_job,
)


class JobAction(StrEnum):
    """What may be done to jobs."""

    CANCEL = "cancel"
    HOLD = "hold"
    RELEASE = "release"
    SUSPEND = "suspend"
    RESUME = "resume"
    REQUEUE = "requeue"
    REPRIORITISE = "reprioritise"


# Each takes the job's id, the actor and the wishes; False when there was nothing to do.
DO: Mapping[JobAction, Callable[..., bool]] = {
    JobAction.CANCEL: cancel_job,
    JobAction.HOLD: hold_job,
    JobAction.RELEASE: release_job,
    JobAction.SUSPEND: suspend_job,
    JobAction.RESUME: resume_job,
    JobAction.REQUEUE: requeue_job,
    JobAction.REPRIORITISE: reprioritise_job,
}


@dataclass(frozen=True)
class Wish:
    """What somebody wants done: the action and what it needs to know (`priority`, `lose_work`)."""

    action: JobAction
    wishes: Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What became of a wish for one job; `problem` is there when it was refused."""

    job: int
    changed: bool
    problem: Problem | None = None


def act(who: Who, user: User, job: Job, wish: Wish) -> bool:
    """Do it to one job loaded with its team and owner; False when there was nothing to do. Problem 403 or 409 when the
    caller may not, or the job cannot.
    """
    require(user, Action.JOB_CANCEL, team=job.team, owner=job.owner)
    with transaction.atomic():
        changed = DO[wish.action](job.pk, actor=user.username, **wish.wishes)
        if changed:
            audit.record(who, f"job-{wish.action.value}", target=job, details=wish.wishes)
    return changed


def act_on_all(who: Who, user: User, jobs: Sequence[Job], wish: Wish) -> list[Outcome]:
    """The same to many, in the order given: one that is refused keeps none of the others."""
    return [_outcome(who, user, job, wish) for job in jobs]


def cancel_array(who: Who, array: JobArray, *, actor: str) -> int:
    """End all tasks of an array; how many. Those that wait go at once, those that have a place one by one."""
    with transaction.atomic():
        ended = lifecycle.cancel_waiting(array.jobs.all(), actor=actor)
        audit.record(who, "job-array-cancel", target=array, details={"waiting": ended})
    live = array.jobs.filter(status__in=LIVE_STATUSES).order_by("pk").values_list("pk", flat=True)
    return ended + sum(cancel_job(number, actor=actor) for number in list(live))


def _outcome(who: Who, user: User, job: Job, wish: Wish) -> Outcome:
    try:
        return Outcome(job.pk, act(who, user, job, wish))
    except Problem as problem:
        return Outcome(job.pk, changed=False, problem=problem)

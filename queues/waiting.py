"""Jobs without an attempt under way: held by a gate or in the queue, and what people may change of that.

Callers hold the job's row locked, as for `queues.lifecycle`, which writes the status.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from controlplane.base import clock
from controlplane.base.problems import Problem
from controlplane.base.tx import Topic, after_commit
from queues import lifecycle
from queues.derive import Gate, Situation, Stage, derive
from queues.lifecycle import Cause
from queues.models import WAITING_STATUSES, Intent, Job, JobStatus


def gate_of(job: Job) -> Gate | None:
    """The first gate that is closed for a job; None when it may have a place."""
    if job.on_hold:
        return Gate.PERSON
    if job.dependencies.filter(met_at=None).exists():
        return Gate.DEPENDENCY
    if job.not_before is not None and job.not_before > clock.now():
        return Gate.BACK_OFF
    if job.deferred:
        return Gate.WINDOW
    return None if job.has_slot else Gate.SLOT


def settle(job: Job, *, actor: str = "", code: str | None = None, **changes: Any) -> bool:
    """Bring a waiting job in line with its gates; False when that changes nothing, or when it does not wait. `changes`
    are of other columns, which the gates are judged by; `code` tells why a gate opened.
    """
    if job.status not in WAITING_STATUSES:
        return False
    for name, value in changes.items():
        setattr(job, name, value)
    gate = gate_of(job)
    if not changes and job.held_for == (gate or ""):
        return False
    now = clock.now()
    derived = derive(Situation(Stage.WAITING, gate=gate))
    since = {"pending_since": now} if gate is None else {"held_for": gate.value, "held_since": now}
    cause = Cause(code if code and gate is None else derived.code, now, actor=actor)
    return lifecycle.move(job, derived.status, {**changes, **lifecycle.waited(job, now), **since}, cause)


def hold(job: Job, *, actor: str) -> bool:
    """Keep a job from getting a place until it is released; False when a person holds it already. Problem 409 for a job
    that is under way or suspended.
    """
    if lifecycle.is_final(job) or job.on_hold:
        return False
    if job.status not in WAITING_STATUSES:
        raise Problem(
            409,
            "not-waiting",
            message=_("Only a job that waits can be held. Suspend one that runs, or queue it again."),
        )
    return settle(job, actor=actor, on_hold=True)


def release(job: Job, *, actor: str) -> bool:
    """Take a person's hold off; other gates may keep the job. False when nobody holds it."""
    if not job.on_hold or lifecycle.is_final(job):
        return False
    return settle(job, actor=actor, code="released", on_hold=False)


def reprioritise(job: Job, priority: int, *, actor: str) -> bool:
    """Another place in its queue; False when it is over or has this priority already."""
    if lifecycle.is_final(job) or job.priority == priority:
        return False
    details = {"before": job.priority, "priority": priority}
    shape = lifecycle.shape_of(job, priority=priority)
    Job.objects.filter(pk=job.pk).update(priority=priority, shape=shape)
    lifecycle.remark(job, "reprioritised", details, actor=actor)
    job.refresh_from_db()
    after_commit(Topic.HINT, ("job", job.pk))
    if job.status == JobStatus.PENDING:
        after_commit(Topic.CYCLE_WAKE)
    return True


def wants_to_run(job: Job) -> bool:
    """Whether the job has an attempt under way that nobody wants ended."""
    return job.intent == Intent.RUN and job.status in (JobStatus.STARTING, JobStatus.RUNNING)

"""The only writer of `Job.status`: each change is a guarded UPDATE and an event in one transaction.

Callers hold the job's row locked (`lock_jobs`) and lock in the order job, placement, node, device.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.db import connection, transaction
from django.db.models import F, QuerySet

from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit
from queues.conditions import LONGEST_BACK_OFF_S
from queues.derive import OWN_FAULTS, Budget, Derived, Ending, Gate, Next, Situation, Stage, derive
from queues.models import FINAL_STATUSES, WAITING_STATUSES, ExitClass, Intent, Job, JobEvent, JobStatus
from queues.shape import Avoidance, shape_key
from queues.spec import decode_spec

MOST_PREVIOUS_NODES = 8
SHAPED = ("priority", "previous_nodes", "excluded_devices")
BUDGETS = {Budget.RETRIES: "retries_left", Budget.REQUEUES: "requeues_left"}


CANCEL_WAITING = """
UPDATE queues_job SET status = 'cancelled', intent = 'cancel', exit_class = 'cancelled', finished_at = %(now)s,
    held_ms = held_ms + coalesce(greatest(0, extract(epoch FROM %(now)s - held_since) * 1000)::bigint, 0),
    pending_ms = pending_ms + coalesce(greatest(0, extract(epoch FROM %(now)s - pending_since) * 1000)::bigint, 0),
    held_for = '', held_since = NULL, pending_since = NULL
WHERE id = ANY(%(ids)s)
"""


@dataclass(frozen=True)
class Exit:
    """How an attempt ended."""

    ending: Ending
    code: int | None = None
    signal: int | None = None
    message: str = ""


@dataclass(frozen=True)
class Progress:
    """What the system reached with one attempt. Waits are those of the step just done, in milliseconds. No later
    attempt is placed on `failed_devices`.
    """

    stage: Stage
    attempt: int
    node: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    image_pull_ms: int = 0
    start_ms: int = 0
    exit: Exit | None = None
    failed_devices: tuple[int, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cause:
    """Why and when a status changes."""

    code: str
    at: datetime
    details: Mapping[str, Any] = field(default_factory=dict)
    actor: str = ""


def lock_jobs(ids: Iterable[int]) -> dict[int, Job]:
    """The jobs by id, locked in the order of their ids so that no two transactions wait for one another."""
    rows = Job.objects.select_for_update(no_key=True).filter(pk__in=set(ids)).order_by("pk")
    return {job.pk: job for job in rows}


def is_final(job: Job) -> bool:
    """Whether the job's status can no longer change."""
    return job.status in FINAL_STATUSES


def record_submission(job: Job, *, actor: str) -> None:
    """The first event of a job that was just inserted."""
    _event(job, None, JobStatus(job.status), Cause("submitted", job.submitted_at, actor=actor))
    _tell(job, wake=True)


def begin_held(job: Job, gate: Gate) -> None:
    """Let a job that is not stored yet begin as held."""
    job.status, job.pending_since = JobStatus.HELD, None
    job.held_for, job.held_since = gate.value, job.submitted_at


def follow(job: Job, progress: Progress) -> bool:
    """Bring the job's status in line with the progress of its present attempt; False when that changes nothing."""
    if is_final(job) or progress.attempt != job.attempt:
        return False
    spec = decode_spec(job.spec)
    derived = derive(
        Situation(
            stage=progress.stage,
            cancel_wanted=job.intent == Intent.CANCEL,
            suspend_wanted=job.intent == Intent.SUSPEND,
            ending=progress.exit.ending if progress.exit else None,
            retries_left=job.retries_left,
            requeues_left=job.requeues_left,
            retried=frozenset(map(Ending, spec.retry_on)) or OWN_FAULTS,
            backs_off=spec.back_off_s > 0,
            yields=job.status == JobStatus.PREEMPTING,
        )
    )
    if derived.status.value == job.status:
        return False
    if derived.new_attempt_from is not None:
        return _requeue(job, progress, derived)
    now = clock.now()
    changes = _progress_changes(job, progress, derived.status, now)
    return move(job, derived.status, changes, Cause(derived.code, now, _details(progress)))


def cancel(job: Job, *, actor: str) -> bool:
    """End the job for good at whatever stage; what it booked stays booked until its node confirms. False
    when it was final already.
    """
    if is_final(job):
        return False
    now = clock.now()
    changes = {
        "intent": Intent.CANCEL,
        **_final_changes(now),
        "exit_class": ExitClass.CANCELLED,
        **waited(job, now),
    }
    return move(job, Next.CANCELLED, changes, Cause("cancelled", now, actor=actor))


def fail(job: Job, why: ExitClass, details: Mapping[str, Any]) -> bool:
    """End the job for good by what was agreed of it: a dependency that can no longer be met, or its deadline. What it
    booked stays booked until its node confirms. False when it was final already.
    """
    if is_final(job):
        return False
    now = clock.now()
    changes = {**_final_changes(now), "exit_class": why, **waited(job, now)}
    return move(job, Next.FAILED, changes, Cause(why.value, now, details))


def cancel_waiting(jobs: QuerySet[Job], *, actor: str) -> int:
    """End all of these jobs that wait, in a few statements however many they are; how many."""
    with transaction.atomic():
        rows = jobs.filter(status__in=WAITING_STATUSES).select_for_update(no_key=True).order_by("pk")
        found = list(rows.values_list("pk", "attempt", "status"))
        now = clock.now()
        with connection.cursor() as cursor:
            cursor.execute(CANCEL_WAITING, {"now": now, "ids": [pk for pk, _attempt, _status in found]})
        JobEvent.objects.bulk_create(
            (
                JobEvent(
                    job_id=pk,
                    at=now,
                    attempt=attempt,
                    from_status=status,
                    to_status=JobStatus.CANCELLED,
                    code="cancelled",
                    actor=actor,
                )
                for pk, attempt, status in found
            ),
            batch_size=2000,
        )
        if found:
            after_commit(Topic.HINT, ("jobs",))
            after_commit(Topic.HINT, ("queues",))
            after_commit(Topic.CYCLE_WAKE)
        return len(found)


def suspend(job: Job, *, actor: str) -> bool:
    """Let a job give up what it holds, or its place in the queue; False when it is over or is to be suspended
    already.
    """
    if is_final(job) or job.intent == Intent.SUSPEND or job.status == JobStatus.HELD:
        return False
    now = clock.now()
    if job.status == JobStatus.PENDING:
        changes = {"intent": Intent.SUSPEND, **waited(job, now)}
        return move(job, Next.SUSPENDED, changes, Cause("suspended", now, actor=actor))
    return move(job, Next.SUSPENDING, {"intent": Intent.SUSPEND}, Cause("suspend-asked", now, actor=actor))


def resume(job: Job, *, actor: str) -> bool:
    """Let a suspended job wait for a place again; False for any other."""
    if job.status != JobStatus.SUSPENDED:
        return False
    now = clock.now()
    changes = {"intent": Intent.RUN, "pending_since": now}
    return move(job, Next.PENDING, changes, Cause("resumed", now, actor=actor))


def preempt(job: Job, details: Mapping[str, Any]) -> bool:
    """A job that has a place and is to run gives it to another one; False for any other."""
    if job.status not in (JobStatus.STARTING, JobStatus.RUNNING) or job.intent != Intent.RUN:
        return False
    return move(job, Next.PREEMPTING, {}, Cause("preempt-asked", clock.now(), details))


def keep_place(job: Job, code: str, details: Mapping[str, Any], *, started: bool) -> bool:
    """A job that was to give its place to another keeps it; False for any other."""
    if job.status != JobStatus.PREEMPTING:
        return False
    status = Next.RUNNING if started else Next.STARTING
    return move(job, status, {}, Cause(code, clock.now(), details))


def go_on(job: Job, code: str, details: Mapping[str, Any]) -> bool:
    """A job that was to be suspended runs on."""
    if job.status != JobStatus.SUSPENDING:
        return False
    return move(job, Next.RUNNING, {"intent": Intent.RUN}, Cause(code, clock.now(), details))


def excluded_devices() -> set[int]:
    """The devices that some waiting job may not have, because they failed under it."""
    found = _with_exclusions().values_list("excluded_devices", flat=True)
    return {device for devices in found for device in devices}


def lift_exclusions(device_ids: Collection[int]) -> int:
    """Devices that failed under jobs are in service again: those of the jobs that still wait may have them."""
    kept = _with_exclusions().values_list("pk", "excluded_devices") if device_ids else ()
    affected = [job for job, devices in kept if not set(devices).isdisjoint(device_ids)]
    if not affected:
        return 0
    with transaction.atomic():
        jobs = [job for job in lock_jobs(affected).values() if job.status in WAITING_STATUSES]
        for job in jobs:
            left = [device for device in job.excluded_devices if device not in device_ids]
            shape = shape_of(job, excluded_devices=left)
            Job.objects.filter(pk=job.pk).update(excluded_devices=left, shape=shape)
        after_commit(Topic.CYCLE_WAKE)
    return len(jobs)


def _with_exclusions() -> QuerySet[Job]:
    return Job.objects.filter(status__in=WAITING_STATUSES).exclude(excluded_devices=[])


def remark(job: Job, code: str, details: Mapping[str, Any], *, actor: str = "") -> None:
    """An event that does not change the status."""
    status = JobStatus(job.status)
    _event(job, status, status, Cause(code, clock.now(), details, actor))


def restate(job: Job, code: str, details: Mapping[str, Any]) -> None:
    """How something of this attempt, or of a `replica` of it, stands that lasts: one event, which says the latest."""
    events = JobEvent.objects.filter(job=job, attempt=job.attempt, code=code)
    if "replica" in details:
        events = events.filter(details__replica=details["replica"])
    told = events.order_by("pk").last()
    if told is None:
        remark(job, code, details)
    elif told.details != details:
        JobEvent.objects.filter(pk=told.pk).update(details=dict(details))
    else:
        return
    after_commit(Topic.HINT, ("job", job.pk))


def _requeue(job: Job, progress: Progress, derived: Derived) -> bool:
    budget = BUDGETS.get(derived.new_attempt_from or Budget.NOTHING)
    now = clock.now()
    previous = [node for node in job.previous_nodes if node != progress.node]
    if progress.node is not None:
        previous = [*previous, progress.node][-MOST_PREVIOUS_NODES:]
    excluded = sorted({*job.excluded_devices, *progress.failed_devices})
    changes: dict[str, Any] = {
        **({budget: F(budget) - 1} if budget else {}),
        "attempt": job.attempt + 1,
        "pending_since": now if derived.status is Next.PENDING else None,
        **(_backing_off(job, now) if derived.status is Next.HELD else {}),
        "started_at": None,
        "image_pull_ms": F("image_pull_ms") + progress.image_pull_ms,
        "start_ms": F("start_ms") + progress.start_ms,
        "previous_nodes": previous,
        "excluded_devices": excluded,
        "shape": shape_of(job, previous_nodes=previous, excluded_devices=excluded),
    }
    return move(job, derived.status, changes, Cause(derived.code, now, _details(progress)))


def _backing_off(job: Job, now: datetime) -> dict[str, Any]:
    """Held until a time that doubles with each retry, up to a bound."""
    spec = decode_spec(job.spec)
    back_off_s = min(spec.back_off_s << max(0, spec.max_retries - job.retries_left), LONGEST_BACK_OFF_S)
    return {
        "held_for": Gate.BACK_OFF.value,
        "held_since": now,
        "not_before": now + timedelta(seconds=back_off_s),
    }


def shape_of(job: Job, **changes: Any) -> str:
    """The job's shape with other values in these of its columns: priority, previous_nodes, excluded_devices."""
    columns = {name: changes.get(name, getattr(job, name)) for name in SHAPED}
    spec = msgspec.structs.replace(decode_spec(job.spec), priority=columns.pop("priority"))
    ids = {"queue": job.queue_id, "team": job.team_id, "owner": job.owner_id}
    return shape_key(spec, **ids, avoidance=Avoidance(job.excluded_nodes, **columns))


def _progress_changes(job: Job, progress: Progress, status: Next, now: datetime) -> dict[str, Any]:
    changes: dict[str, Any] = {
        **waited(job, now),
        "image_pull_ms": F("image_pull_ms") + progress.image_pull_ms,
        "start_ms": F("start_ms") + progress.start_ms,
    }
    if status is Next.RUNNING:
        changes["started_at"] = progress.started_at or now
    if status.value in FINAL_STATUSES:
        changes |= _final_changes(progress.ended_at or now)
        changes |= _exit_changes(progress.exit or Exit(Ending.NODE_LOST))
    return changes


def waited(job: Job, now: datetime) -> dict[str, Any]:
    """Close the time spent held or waiting in the queue, if it was running."""
    changes: dict[str, Any] = {"held_for": ""} if job.held_for else {}
    for total, since in (("held_ms", "held_since"), ("pending_ms", "pending_since")):
        began = getattr(job, since)
        if began is not None:
            changes |= {total: F(total) + max(0, clock.to_ms(now) - clock.to_ms(began)), since: None}
    return changes


def _final_changes(at: datetime) -> dict[str, Any]:
    return {"finished_at": at}


def _exit_changes(exit_: Exit) -> dict[str, Any]:
    return {
        "exit_class": ExitClass(exit_.ending.value),
        "exit_code": exit_.code,
        "exit_signal": exit_.signal,
        "exit_message": exit_.message[:1000],
    }


def _details(progress: Progress) -> dict[str, Any]:
    details = dict(progress.details)
    if progress.node is not None:
        details["node"] = progress.node
    if progress.exit is not None:
        exit_ = progress.exit
        details |= {"exit_code": exit_.code, "exit_signal": exit_.signal, "message": exit_.message[:1000]}
    return details


def move(job: Job, status: Next, changes: Mapping[str, Any], cause: Cause) -> bool:
    """The guarded UPDATE with its event; False when the row is no longer what the caller saw. `changes` must agree with
    the status: use `follow`, or what `queues.waiting` has for jobs without an attempt under way.
    """
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("a job's status changes in a transaction only")
    seen = Job.objects.filter(pk=job.pk, status=job.status, attempt=job.attempt, intent=job.intent)
    if not seen.update(status=status.value, **changes):
        return False
    _event(job, JobStatus(job.status), JobStatus(status.value), cause)
    job.refresh_from_db()
    _tell(job, wake=status is Next.PENDING)
    return True


def _event(job: Job, from_status: JobStatus | None, to_status: JobStatus, cause: Cause) -> None:
    JobEvent.objects.create(
        job=job,
        at=cause.at,
        attempt=job.attempt,
        from_status=from_status,
        to_status=to_status,
        code=cause.code,
        details=dict(cause.details),
        actor=cause.actor,
    )


def _tell(job: Job, *, wake: bool) -> None:
    after_commit(Topic.HINT, ("job", job.pk))
    after_commit(Topic.HINT, ("jobs",))
    after_commit(Topic.HINT, ("queues",))
    if wake:
        after_commit(Topic.CYCLE_WAKE)

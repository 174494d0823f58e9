"""What a plan looks ahead with, for cycles and for those who ask what a cycle would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scheduling.engine.types import EnginePolicy, PendingJob, Reservation, Running
from scheduling.estimates import expected_runs
from scheduling.running import RunningCache


def look_ahead(
    jobs: Sequence[PendingJob],
    policy: EnginePolicy,
    *,
    now_ms: int,
    promised: Sequence[Reservation],
    running: RunningCache,
) -> tuple[tuple[PendingJob, ...], tuple[Running, ...]]:
    """The jobs with how long they should run, and what runs; neither is read where no promise depends on it. Two
    queries, and those of `running`.
    """
    if not (policy.preempts or promised or any(_is_patient(job, policy, now_ms) for job in jobs)):
        return tuple(jobs), ()
    runs = expected_runs([job.job for job in jobs])
    known = (replace(job, runs_ms=runs[job.job].runs_ms) if job.job in runs else job for job in jobs)
    return tuple(known), running.load()


def is_above_some(job: PendingJob, policy: EnginePolicy) -> bool:
    """Whether another queue holds something that might yield to this job."""
    mine = next((queue for queue in policy.queues if queue.queue == job.queue), None)
    return mine is not None and any(
        one.preemptable
        and one.queue != mine.queue
        and (one.priority < mine.priority or one.borrow)
        and one.devices_booked_milli + one.cores_booked_milli > 0
        for one in policy.queues
    )


def _is_patient(job: PendingJob, policy: EnginePolicy, now_ms: int) -> bool:
    after_ms = policy.reserve_after_ms
    return after_ms is not None and now_ms - job.submitted_at_ms >= after_ms

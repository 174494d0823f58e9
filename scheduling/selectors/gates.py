"""What would hold a job that is about to be submitted."""

from __future__ import annotations

from controlplane.accounts.models import User
from controlplane.base import clock
from controlplane.policy.active import active_policy
from queues.derive import Gate
from queues.gates import MET_BY
from queues.models import Dependency, Job
from queues.spec import JobSpec
from queues.submission import Accepted, unsaved_job
from scheduling.deferring import current_season
from scheduling.held_wording import held_sentence
from scheduling.wording import Sentence


def held_at_first(accepted: Accepted, owner: User) -> Sentence | None:
    """Why the job would not wait for a place yet; None when it would. One query at most."""
    job, unmet = unsaved_job(accepted, owner), _unmet(accepted.spec)
    gate = _gate(job, unmet)
    if gate is None:
        return None
    job.held_for = gate.value
    return held_sentence(job, {job.pk: unmet})


def _unmet(spec: JobSpec) -> list[Dependency]:
    """Of the jobs that it waits for, those that have not ended as it says."""
    jobs = Job.objects.in_bulk([after.job for after in spec.after]) if spec.after else {}
    return [
        Dependency(on=jobs[after.job], ends=after.ends.value)
        for after in sorted(spec.after, key=lambda one: one.job)
        if after.job in jobs and jobs[after.job].status not in MET_BY[after.ends]
    ]


def _gate(job: Job, unmet: list[Dependency]) -> Gate | None:
    """As `queues.waiting.gate_of`, once the cycle has opened what may be open."""
    if job.on_hold:
        return Gate.PERSON
    if unmet:
        return Gate.DEPENDENCY
    due = job.latest_start is not None and job.latest_start <= clock.now()
    if not job.deferred or due or current_season(active_policy().valley_window).code is not None:
        return None
    return Gate.WINDOW

"""Opens the gates that nobody opens by hand: jobs that others waited for have ended, back-offs are over, slots of
arrays are free. Each look may be repeated and finds all there is to do in the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from django.db import transaction
from django.db.models import Count, Q

from controlplane.base import clock
from queues import lifecycle, waiting
from queues.conditions import AfterEnd
from queues.derive import Gate
from queues.models import FINAL_STATUSES, LIVE_STATUSES, Dependency, ExitClass, Job, JobArray, JobStatus

# One look does not keep a cycle for long; what is left is found by the next.
MOST_JOBS = 500
MET_BY = {
    AfterEnd.OK: (JobStatus.SUCCEEDED,),
    AfterEnd.FAILED: (JobStatus.FAILED,),
    AfterEnd.ANY: FINAL_STATUSES,
}


def open_gates() -> int:
    """How many jobs were looked at; usually three queries that find nothing."""
    return _after_ends() + _after_back_offs() + _into_slots()


def _after_ends() -> int:
    """Judge what waits for jobs that are over by now; a job that fails thereby is one that others may wait for."""
    looked = 0
    held = Dependency.objects.filter(met_at=None, on__status__in=FINAL_STATUSES, job__status=JobStatus.HELD)
    while looked < MOST_JOBS:
        found = held.order_by("job_id").values_list("job_id", flat=True).distinct()[: MOST_JOBS - looked]
        done = _each(found, _judge)
        if not done:
            break
        looked += done
    return looked


def _judge(job: Job) -> None:
    for dependency in job.dependencies.filter(met_at=None).select_related("on"):
        if dependency.on.status not in FINAL_STATUSES:
            continue
        if dependency.on.status not in MET_BY[AfterEnd(dependency.ends)]:
            details = {"job": dependency.on_id, "ends": dependency.ends, "status": dependency.on.status}
            lifecycle.fail(job, ExitClass.DEPENDENCY, details)
            return
        Dependency.objects.filter(pk=dependency.pk).update(met_at=clock.now())
    waiting.settle(job)


def _after_back_offs() -> int:
    over = Job.objects.filter(
        held_for=Gate.BACK_OFF, not_before__lte=clock.now(), status__in=(JobStatus.HELD,)
    )
    return _each(over.order_by("not_before").values_list("pk", flat=True)[:MOST_JOBS], waiting.settle)


def _into_slots() -> int:
    """Give the slots that tasks left to the next ones by index."""
    waits = Job.objects.filter(held_for=Gate.SLOT, status__in=(JobStatus.HELD,)).values("array_id").distinct()
    taken = Count("jobs", filter=Q(jobs__has_slot=True, jobs__status__in=LIVE_STATUSES))
    looked = 0
    for array in JobArray.objects.filter(pk__in=waits).annotate(taken=taken).order_by("pk"):
        free = min((array.at_once or array.tasks) - array.taken, MOST_JOBS - looked)
        if free > 0:
            held = array.jobs.filter(held_for=Gate.SLOT, status__in=(JobStatus.HELD,)).order_by("array_index")
            looked += _each(held.values_list("pk", flat=True)[:free], _grant)
    return looked


def _grant(job: Job) -> None:
    waiting.settle(job, has_slot=True)


def _each(ids: Collection[int], act: Callable[[Job], object]) -> int:
    """Do it to each of the jobs that is still held, in a transaction of its own."""
    found = list(ids)
    for number in found:
        with transaction.atomic():
            job = lifecycle.lock_jobs([number]).get(number)
            if job is not None and job.status == JobStatus.HELD:
                act(job)
    return len(found)

"""Jobs that are not over by their latest finish: ended, or told of, as they ask for."""

from __future__ import annotations

from django.db import transaction

from controlplane.alerts.models import Alert, Severity
from controlplane.alerts.service import clear_alert, raise_alert
from controlplane.base import clock
from queues import lifecycle
from queues.conditions import LateAction
from queues.models import FINAL_STATUSES, LIVE_STATUSES, ExitClass, Job
from queues.spec import decode_spec
from scheduling.operations import stop_placements

LATE, DEADLINE = "job-late", "deadline"
MOST_JOBS = 200


def end_overdue() -> int:
    """End or tell of what is late by now; how many jobs. Two queries where nothing is."""
    _clear_over()
    late = Job.objects.filter(latest_finish__lte=clock.now(), status__in=LIVE_STATUSES)
    found = list(late.order_by("latest_finish").values_list("pk", flat=True)[:MOST_JOBS])
    for number in found:
        with transaction.atomic():
            job = lifecycle.lock_jobs([number]).get(number)
            if job is not None and not lifecycle.is_final(job):
                _end_or_tell(job)
    return len(found)


def _end_or_tell(job: Job) -> None:
    details = {"latest_finish": None if job.latest_finish is None else job.latest_finish.isoformat()}
    if decode_spec(job.spec).on_late is LateAction.END:
        lifecycle.fail(job, ExitClass.DEADLINE, details)
        stop_placements(job.pk, DEADLINE)
        return
    # Told once: the wish stays in the spec.
    Job.objects.filter(pk=job.pk).update(latest_finish=None)
    lifecycle.remark(job, "late", details)
    about = {"name": job.name, "owner_id": job.owner_id, **details}
    raise_alert(LATE, Severity.WARNING, subject_type="job", subject_id=job.pk, details=about)


def _clear_over() -> None:
    """Nobody needs to be told any more of jobs that are over."""
    told = list(Alert.objects.filter(code=LATE, cleared_at=None).values_list("subject_id", flat=True))
    if told:
        over = Job.objects.filter(pk__in=map(int, told), status__in=FINAL_STATUSES)
        for number in over.values_list("pk", flat=True):
            clear_alert(LATE, subject_type="job", subject_id=number)

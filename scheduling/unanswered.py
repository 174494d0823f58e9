"""Checkpoints that people asked for and whose agent reports, but never says what became of them: the job runs on.

Victims of a preemption have the policy's grace instead (`takeovers.settle`), silent nodes their silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet

from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit
from controlplane.policy.active import active_policy
from queues import lifecycle
from queues.models import FINAL_STATUSES
from scheduling.backends.agent import bump_epoch
from scheduling.kept import expire
from scheduling.models import Phase, Placement

UNANSWERED = "checkpoint-unanswered"
# Beyond the time that the job said it needs: some reports, and what the agent adds for its command.
SLACK = timedelta(seconds=60)
# What a job without the field was given when it was submitted.
LEAST_S = 120


def let_unanswered_run_on(*, preempted: str) -> int:
    """Those asked for another reason than `preempted` whose node has reported after their time was over; how many jobs.
    A server that was away, and a node that is silent, cost no suspension. One query when there is nothing.
    """
    asked = Placement.objects.filter(phase=Phase.CHECKPOINTING).exclude(stop_reason=preempted)
    asked = asked.exclude(job__status__in=FINAL_STATUSES)
    return sum(_run_on(job, asked) for job in sorted(_late(asked)))


def _late(asked: QuerySet[Placement]) -> dict[int, int]:
    """By job the seconds that passed."""
    rows = asked.annotate(
        timeout_s=F("job__spec__checkpoint__timeout_s"), heard_at=F("node__contact__received_at")
    ).values_list("job_id", "stopping_at", "timeout_s", "heard_at")
    late: dict[int, int] = {}
    for job, since, timeout_s, heard_at in rows:
        patience = timedelta(seconds=timeout_s or LEAST_S) + SLACK
        if since is not None and heard_at is not None and heard_at >= since + patience:
            late[job] = int(_passed(since).total_seconds())
    return late


def _passed(since: datetime) -> timedelta:
    return max(timedelta(), clock.now() - since)


def _run_on(number: int, asked: QuerySet[Placement]) -> bool:
    with transaction.atomic():
        job = lifecycle.lock_jobs([number]).get(number)
        mine = asked.filter(job=number)
        placements = list(mine.select_for_update(of=("self",), no_key=True).order_by("pk"))
        seconds = _late(mine).get(number)
        if job is None or seconds is None:
            # Answered or ended meanwhile.
            return False
        _calm(placements)
        details = {"seconds": seconds, "node": placements[0].node_id}
        if not lifecycle.go_on(job, UNANSWERED, details):
            lifecycle.remark(job, UNANSWERED, details)
        return True


def _calm(placements: Sequence[Placement]) -> None:
    """As before anybody asked; who should also have left for another job is spared for a while."""
    calm: dict[str, Any] = {"stop_reason": "", "stopping_at": None, "yields_to": None, "saved_at": None}
    yielding = [one for one in placements if one.yields_to_id is not None]
    if yielding:
        spared = clock.now() + timedelta(seconds=active_policy().preemption.min_run_s)
        Placement.objects.filter(pk__in=[one.pk for one in yielding]).update(spared_until=spared)
    Placement.objects.filter(pk__in=[one.pk for one in placements]).update(phase=Phase.RUNNING, **calm)
    for beneficiary in {one.yields_to_id for one in yielding}:
        expire(beneficiary)
    bump_epoch({one.node_id for one in placements})
    after_commit(Topic.CYCLE_WAKE)

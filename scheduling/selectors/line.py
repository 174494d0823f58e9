"""Where a job stands in the order of service, and what put the one before it there."""

from __future__ import annotations

from typing import Any

from queues.models import Job
from scheduling.engine.ordering import Precedence, ServiceOrder, in_service_order
from scheduling.engine.types import EnginePolicy, PendingJob
from scheduling.line_wording import FIRST, line_sentence
from scheduling.models import Promise
from scheduling.selectors.live import Live

MS_PER_MINUTE = 60_000


def line_view(live: Live, job: PendingJob) -> dict[str, Any] | None:
    """The place among all waiting jobs, from 1, with its reason; None for a job that is not among them."""
    policy = live.policy.engine
    line = in_service_order(live.pending, policy)
    index = next((place for place, one in enumerate(line) if one.job == job.job), None)
    if index is None:
        return None
    place: dict[str, Any] = {"place": index + 1, "waiting": len(line)}
    if index == 0:
        return {**place, "sentence": line_sentence(FIRST, place).as_json()}
    code = ServiceOrder(policy).what_parts(line[index - 1], line[index])
    theirs, mine = (_measure(one, code, policy) for one in (line[index - 1], line[index]))
    return {**place, "sentence": line_sentence(code, {**place, "theirs": theirs, "mine": mine}).as_json()}


def reservation_view(job: Job) -> dict[str, Any] | None:
    """The place that a job which waited long is promised; one query."""
    promises = list(Promise.objects.filter(job=job).select_related("node").order_by("replica"))
    if not promises:
        return None
    nodes = {promise.node_id: promise.node.name for promise in promises}
    return {
        "at": promises[0].starts_at,
        "nodes": [{"id": node, "name": name} for node, name in nodes.items()],
    }


def _measure(job: PendingJob, code: Precedence, policy: EnginePolicy) -> int | None:
    """The number that a reason compares."""
    queue = next((one for one in policy.queues if one.queue == job.queue), None)
    if code is Precedence.PRIORITY:
        return job.priority
    if code is Precedence.RUN_TIME and policy.patience is not None:
        runs_ms = policy.patience.unknown_ms if job.runs_ms is None else job.runs_ms
        return runs_ms // MS_PER_MINUTE
    if queue is None:
        return None
    if code is Precedence.QUEUE_PRIORITY:
        return queue.priority
    if code is Precedence.FAIR_SHARE:
        return next((share.share_ppm for share in queue.team_shares if share.team == job.team), 0)
    return None

"""Where a job would go now, by the same function that places real ones and under the same pauses; nothing is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controlplane.accounts.models import User
from queues.spec import JobSpec, encode_spec
from scheduling.engine.ordering import in_service_order
from scheduling.engine.types import PendingJob, Placed, Plan
from scheduling.estimates import expected_run_ms
from scheduling.requests import request_of, sized
from scheduling.selectors.explanations import EMPTY, explain_refusal, placed_view
from scheduling.selectors.live import Live, live_view, node_names, situation_of
from scheduling.whatif import made_plan
from scheduling.wording import plain_sentence

# Above every id that a stored job can have.
NO_JOB = 2**62
# Of a longer line before the job only the first are served: it must be answered within a request.
MOST_AHEAD = 2000


def dry_run(spec: JobSpec, user: User, *, queue: int, team: int) -> dict[str, Any]:
    """The placement that the job would get, the waiting jobs before it served first, or why it would wait."""
    live = live_view()
    if queue in live.stopped:
        return _answer(spec, refusal={"sentence": plain_sentence(live.stopped[queue]).as_json()})
    job = PendingJob(
        job=NO_JOB, attempt=1, queue=queue, team=team, owner=user.pk, priority=spec.priority,
        submitted_at_ms=live.now_ms, request=sized(request_of(spec)),
        runs_ms=expected_run_ms((team, queue, spec.name), spec.time_limit_s),
    )  # fmt: skip
    found = _plan(live, job)
    placed = next((one for one in found.placed if one.job == NO_JOB), None)
    refusal = next((one for one in found.refused if one.job == NO_JOB), None)
    view = None if refusal is None else explain_refusal(live, refusal, job, spec, user)
    return _answer(spec, placement=None if placed is None else _placement(placed), refusal=view)


def _answer(
    spec: JobSpec, *, placement: dict[str, Any] | None = None, refusal: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "placement": placement,
        "refusal": None if refusal is None else {**EMPTY, "status": "pending", **refusal},
        "spec": encode_spec(spec),
    }


def _plan(live: Live, job: PendingJob) -> Plan:
    """The plan as far as the job: what is served later cannot change what becomes of it."""
    order = in_service_order([*live.pending, job], live.policy.engine)
    place = order.index(job)
    considered = [*order[: min(place, MOST_AHEAD)], job]
    found = situation_of(live, considered)
    found = replace(found, jobs=(*found.jobs, *order[place + 1 :]))
    return made_plan(found, state=live.state, limit=len(considered))


def _placement(placed: Placed) -> dict[str, Any]:
    names = node_names({placed.node, *(one.node for one in placed.runners_up)})
    return {"node": placed.node, "node_name": names[placed.node], **placed_view(placed, names)}

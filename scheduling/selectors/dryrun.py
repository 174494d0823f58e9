"""Where a job would go now, by the same function that places real ones, behind the same gates and under the same
pauses; nothing is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from controlplane.accounts.models import User
from queues.models import JobStatus
from queues.spec import JobSpec, encode_spec
from queues.submission import Accepted
from scheduling.edits import MOST_JOBS_ADDED
from scheduling.engine.ordering import in_service_order
from scheduling.engine.types import PendingJob, Placed, Plan
from scheduling.estimates import Kind, expected_run_ms
from scheduling.outlook import takeovers_after
from scheduling.requests import request_of, sized
from scheduling.selectors.explanations import EMPTY, NO_START, explain_refusal, placed_view
from scheduling.selectors.gates import held_at_first
from scheduling.selectors.live import Live, live_view, node_names, situation_of
from scheduling.selectors.yielding import TAKES_OVER, victims_of
from scheduling.takeovers import Takeover
from scheduling.whatif import Situation, made_plan
from scheduling.wording import plain_sentence

# Above every id that a stored job can have; the tasks of an array have the next ones.
NO_JOB = 2**62
# Of a longer line before the job only the first are served: it must be answered within a request.
MOST_AHEAD = 2000


def dry_run(accepted: Accepted, user: User) -> dict[str, Any]:
    """The placement that the job would get, the waiting jobs before it served first, or why it would wait; of an array
    the first task's, and how many of them start.
    """
    spec, held = accepted.spec, held_at_first(accepted, user)
    if held is not None:
        return _answer(spec, refusal={"status": JobStatus.HELD, "sentence": held.as_json()})
    live = live_view()
    if accepted.queue.pk in live.stopped:
        stop = plain_sentence(live.stopped[accepted.queue.pk])
        return _answer(spec, refusal={"sentence": stop.as_json()})
    tasks = _tasks(accepted, user, now_ms=live.now_ms)
    situation, found = _planned(live, tasks)
    placed = [one for one in found.placed if one.job == NO_JOB]
    refusal = next((one for one in found.refused if one.job == NO_JOB), None)
    view = None if refusal is None else explain_refusal(live, refusal, tasks[0], spec, user)
    takeover = None if view is None else _takeover(live, situation, found)
    if view is not None and takeover is not None:
        view |= {"sentence": plain_sentence(TAKES_OVER).as_json(), **NO_START}
    return {
        **_answer(spec, placement=_placement(placed) if placed else None, refusal=view),
        "takeover": takeover and _takeover_view(takeover, user),
        "array": _array(spec, tasks, found),
    }


def _answer(
    spec: JobSpec, *, placement: dict[str, Any] | None = None, refusal: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "placement": placement,
        "refusal": None if refusal is None else {**EMPTY, "status": JobStatus.PENDING, **refusal},
        "takeover": None,
        "array": None,
        "spec": encode_spec(spec),
    }


def _tasks(accepted: Accepted, user: User, *, now_ms: int) -> list[PendingJob]:
    """The job; of an array the tasks that may be under way at once, the first of a long one."""
    spec, team, queue = accepted.spec, accepted.team.pk, accepted.queue.pk
    first = PendingJob(
        job=NO_JOB, attempt=1, queue=queue, team=team, owner=user.pk, priority=spec.priority,
        submitted_at_ms=now_ms, request=sized(request_of(spec)), replicas=spec.replicas,
        runs_ms=expected_run_ms(Kind(team, queue, spec.name, accepted.template), spec.time_limit_s),
    )  # fmt: skip
    at_once = 1 if spec.array is None else spec.array.under_way
    return [replace(first, job=NO_JOB + index) for index in range(min(at_once, MOST_JOBS_ADDED))]


def _planned(live: Live, tasks: Sequence[PendingJob]) -> tuple[Situation, Plan]:
    """The plan as far as these jobs, with what it is made from: what is served later cannot change what becomes of
    them.
    """
    order = in_service_order([*live.pending, *tasks], live.policy.engine)
    place = order.index(tasks[0])
    considered = [*order[: min(place, MOST_AHEAD)], *tasks]
    found = situation_of(live, considered)
    found = replace(found, jobs=(*found.jobs, *order[place + len(tasks) :]))
    return found, made_plan(found, state=live.state, limit=len(considered))


def _takeover(live: Live, situation: Situation, found: Plan) -> Takeover | None:
    """Who would yield to the job, if anybody would."""
    takeovers = takeovers_after(situation, found, live.running)
    return next((one for one in takeovers if one.job == NO_JOB), None)


def _takeover_view(takeover: Takeover, user: User) -> dict[str, Any]:
    nodes = node_names(place.node for place in takeover.places)
    return {
        "nodes": [{"id": node, "name": name} for node, name in sorted(nodes.items())],
        "stops": victims_of(takeover, user),
    }


def _array(spec: JobSpec, tasks: Sequence[PendingJob], found: Plan) -> dict[str, Any] | None:
    """How many of the tasks start now."""
    if spec.array is None:
        return None
    starting = len({one.job for one in found.placed} & {task.job for task in tasks})
    counts = {"tasks": spec.array.tasks, "considered": len(tasks), "starting": starting}
    code = "array-starts" if len(tasks) == spec.array.under_way else "array-starts-of-first"
    return {**counts, "sentence": plain_sentence(code, **counts).as_json()}


def _placement(replicas: Sequence[Placed]) -> dict[str, Any]:
    """The first replica's place, and the nodes of all."""
    first, nodes = replicas[0], list(dict.fromkeys(one.node for one in replicas))
    names = node_names({*nodes, *(one.node for one in first.runners_up)})
    return {
        "node": first.node,
        "node_name": names[first.node],
        "nodes": [{"id": node, "name": names[node]} for node in nodes],
        **placed_view(first, names),
    }

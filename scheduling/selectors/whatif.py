"""A what-if in the shape of the API: the plan for the waiting jobs as things are, the one after the edits, and every
job for which they differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controlplane.base import clock
from controlplane.policy.active import active_policy
from queues.fields import FieldError
from queues.models import Job
from queues.rules import spec_rules
from scheduling import models, recordings
from scheduling.edits import EditFaults, Known, read_edits
from scheduling.engine.state import ClusterState
from scheduling.engine.types import PendingJob, Placed, Plan, ReasonCode, Refusal
from scheduling.expected import expected_jobs
from scheduling.selectors.live import live_view
from scheduling.selectors.shares import capacity_of
from scheduling.whatif import AddJobs, ChangeQuota, Edit, Situation, edited, first_in_line, made_plan
from scheduling.wording import code_text, plain_sentence

# A person waits for the answer: of a longer line only the first are served.
MOST_JOBS = 2000
MOST_CHANGES = 200


@dataclass(frozen=True)
class _Made:
    """One plan with what it was made from, and how long it took."""

    situation: Situation
    plan: Plan
    waiting: int
    wall_ms: int


def what_if(recording: int | None, raw_edits: object) -> dict[str, Any]:
    """Both outcomes side by side. EditFaults for edits and recordings that are not there."""
    found = _situation(recording)
    edits = read_edits(raw_edits, _known(found))
    added = sum(edit.count for edit in edits if isinstance(edit, AddJobs))
    waiting = len(found.jobs)
    before = replace(found, jobs=first_in_line(found.jobs, found.policy, MOST_JOBS - added))
    now, then = _make(before, waiting), _make(edited(before, edits), waiting + added)
    changes = _changes(now, then, edits)
    return {
        "at": clock.from_ms(found.now_ms),
        "recording": recording,
        "notes": _notes(edits),
        "before": _outcome(now),
        "after": _outcome(then),
        "changes": changes[:MOST_CHANGES],
        "changes_total": len(changes),
    }


def _notes(edits: Sequence[Edit]) -> list[dict[str, Any]]:
    """What the answer cannot say."""
    capped = any(isinstance(edit, ChangeQuota) for edit in edits)
    return [plain_sentence("caps-not-enforced").as_json()] if capped else []


def _situation(recording: int | None) -> Situation:
    if recording is None:
        live = live_view()
        nodes = tuple(live.state.infos)
        return Situation(nodes, live.pending, live.policy.engine, live.now_ms, 0, expected_jobs())
    try:
        call = recordings.load(recording)
    except (models.Recording.DoesNotExist, recordings.UnreadableRecording):
        raise EditFaults([FieldError("recording", "no-such-recording")]) from None
    return Situation(call.nodes, call.jobs, call.policy, call.now_ms, call.seed, call.expected)


def _known(situation: Situation) -> Known:
    return Known(
        nodes={info.node for info in situation.nodes},
        queues={queue.name: queue.queue for queue in situation.policy.queues},
        rules=spec_rules(active_policy()),
    )


def _make(situation: Situation, waiting: int) -> _Made:
    started = clock.monotonic_s()
    made = made_plan(situation)
    return _Made(situation, made, waiting, int((clock.monotonic_s() - started) * 1000))


def _outcome(made: _Made) -> dict[str, Any]:
    queues = {queue.queue: queue.name for queue in made.situation.policy.queues}
    by_job = {job.job: queues.get(job.queue, "") for job in made.situation.jobs}
    placed = Counter(by_job[one.job] for one in made.plan.placed)
    refused = Counter(by_job[one.job] for one in made.plan.refused)
    reasons = Counter(one.code for one in made.plan.refused)
    return {
        "considered": made.plan.considered,
        "placed": len(made.plan.placed),
        "refused": len(made.plan.refused),
        "exhausted": made.plan.considered >= made.waiting,
        "wall_ms": made.wall_ms,
        "queues": [
            {"name": name, "placed": placed[name], "refused": refused[name]} for name in queues.values()
        ],
        "reasons": [{**_reason(code), "count": number} for code, number in reasons.most_common()],
        "booked_percent": _booked_percent(made),
    }


def _reason(code: ReasonCode) -> dict[str, Any]:
    return {"code": code.value, "text": code_text(code)}


def _booked_percent(made: _Made) -> dict[str, float | None]:
    """Booked shares of what takes jobs, after the plan; None where there is nothing of the kind."""
    state = ClusterState.build(made.situation.nodes)
    capacity = capacity_of(state)
    takes = {info.node for info in state.infos if info.not_ready is None and not info.observe_only}
    milli = sum(d.compute_booked_milli for i in state.infos if i.node in takes for d in i.devices)
    cores = sum(cpu.booked for info in state.infos if info.node in takes for cpu in info.cpus)
    milli += sum(part.compute_milli for one in made.plan.placed for part in one.slices)
    cores += sum(len(one.cpus) for one in made.plan.placed)
    return {"devices": _percent(milli, capacity.device_milli), "cores": _percent(cores, capacity.cores)}


def _percent(part: int, whole: int) -> float | None:
    return round(min(100.0, part * 100 / whole), 1) if whole else None


def _changes(now: _Made, then: _Made, edits: Sequence[Edit]) -> list[dict[str, Any]]:
    """Jobs that go elsewhere, start, no longer start, or wait for another reason; in order of service."""
    before, after = _by_job(now.plan), _by_job(then.plan)
    different = [job for job in then.situation.jobs if _differ(before.get(job.job), after.get(job.job))]
    names = {info.node: info.name for info in then.situation.nodes}
    queues = {queue.queue: queue.name for queue in then.situation.policy.queues}
    added = _added_names(then.situation.jobs[len(now.situation.jobs) :], edits)
    stored = dict(Job.objects.filter(pk__in=_ids(different[:MOST_CHANGES], added)).values_list("pk", "name"))
    return [
        {
            "job": None if job.job in added else job.job,
            "name": added.get(job.job) or stored.get(job.job, ""),
            "queue": queues.get(job.queue, ""),
            **_sides(before.get(job.job), after.get(job.job), names),
        }
        for job in different
    ]


def _by_job(plan: Plan) -> dict[int, Placed | Refusal]:
    found: dict[int, Placed | Refusal] = {one.job: one for one in plan.placed}
    return found | {one.job: one for one in plan.refused}


def _differ(before: Placed | Refusal | None, after: Placed | Refusal | None) -> bool:
    return _place(before) != _place(after) or _code(before) is not _code(after)


def _place(found: Placed | Refusal | None) -> int | None:
    return found.node if isinstance(found, Placed) else None


def _code(found: Placed | Refusal | None) -> ReasonCode | None:
    return found.code if isinstance(found, Refusal) else None


def _added_names(jobs: Sequence[PendingJob], edits: Sequence[Edit]) -> dict[int, str]:
    """Names of the made-up jobs: they follow the others, in the order of the edits."""
    names = [edit.name for edit in edits if isinstance(edit, AddJobs) for _ in range(edit.count)]
    return {job.job: name for job, name in zip(jobs, names, strict=True)}


def _ids(jobs: Iterable[PendingJob], added: Mapping[int, str]) -> list[int]:
    return [job.job for job in jobs if job.job not in added]


def _sides(
    before: Placed | Refusal | None, after: Placed | Refusal | None, names: Mapping[int, str]
) -> dict[str, Any]:
    sides: dict[str, Any] = {}
    for side, found in (("before", before), ("after", after)):
        node, code = _place(found), _code(found)
        sides[side] = None if node is None else {"node": node, "node_name": names.get(node, str(node))}
        sides[f"reason_{side}"] = None if code is None else _reason(code)
    return sides

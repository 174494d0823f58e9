"""A what-if in the shape of the API: the plan for the waiting jobs as things are, the one after the edits, and every
job for which they differ. Both are made under the pauses that hold now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from controlplane.accounts.models import User
from controlplane.accounts.scoping import visible_teams
from controlplane.base import clock
from controlplane.policy.active import active_policy
from queues.fields import FieldError
from queues.models import Job
from queues.rules import spec_rules
from scheduling import models, recordings
from scheduling.edits import EditFaults, Known, read_edits
from scheduling.engine.ordering import in_service_order
from scheduling.engine.state import ClusterState
from scheduling.engine.types import PendingJob, Placed, Plan, ReasonCode, Refusal
from scheduling.estimates import Kind, expected_run_ms
from scheduling.outlook import takeovers_after
from scheduling.pauses import Stop
from scheduling.requests import count_pending
from scheduling.running import RunningCache
from scheduling.selectors.live import live_view, situation_of
from scheduling.selectors.shares import capacity_of
from scheduling.selectors.starts import NO_START, starts
from scheduling.selectors.yielding import TAKES_OVER, victims_of
from scheduling.takeovers import Takeover
from scheduling.whatif import AddJobs, ChangeQuota, Edit, Situation, edited, first_in_line, made_plan
from scheduling.wording import Sentence, code_text, plain_sentence

# A person waits for the answer: of a longer line only the first are served.
MOST_JOBS = 2000
MOST_CHANGES = 200
# What becomes of a job.
Fate = Placed | Refusal | Stop | Takeover
Why = ReasonCode | Stop | Literal["takes-over"]


@dataclass(frozen=True)
class _Made:
    """One plan with what it was made from, who yields after it, and how long it took. `held` jobs wait for a pause, by
    queue.
    """

    situation: Situation
    plan: Plan
    takeovers: dict[int, Takeover]
    waiting: int
    held: Mapping[int, int]
    wall_ms: int


@dataclass(frozen=True)
class _Start:
    """What a what-if begins with, of so many jobs that wait; `stopped` names the pauses, and the `held` jobs of those
    queues are only counted.
    """

    situation: Situation
    waiting: int
    stopped: Mapping[int, Stop]
    held: Mapping[int, int]
    running: RunningCache | None = None

    @property
    def is_recorded(self) -> bool:
        """Whether all that is known is in the situation."""
        return self.running is None


def what_if(recording: int | None, raw_edits: object, user: User) -> dict[str, Any]:
    """Both outcomes side by side. EditFaults for edits and recordings that are not there."""
    start = _start(recording)
    found = start.situation
    edits = [_with_run(edit) for edit in read_edits(raw_edits, _known(found, user))]
    added = Counter({queue.queue: 0 for queue in found.policy.queues})
    for edit in edits:
        added.update({edit.queue: edit.count} if isinstance(edit, AddJobs) else {})
    more = sum(added[queue] for queue in added if queue not in start.stopped)
    before = replace(found, jobs=first_in_line(found.jobs, found.policy, MOST_JOBS - added.total()))
    now = _make(before, start, more=0, held=start.held)
    held = {queue: start.held.get(queue, 0) + added[queue] for queue in start.stopped}
    then = _make(edited(before, edits), start, more=more, held=held)
    different = _different(now, then, start.stopped)
    return {
        "at": clock.from_ms(found.now_ms),
        "recording": recording,
        "notes": _notes(edits, start),
        "before": _outcome(now, start.stopped),
        "after": _outcome(then, start.stopped),
        "changes": _changes(
            different[:MOST_CHANGES], now, then, added=_added_names(then, edits), start=start, user=user
        ),
        "changes_total": len(different),
    }


def _with_run(edit: Edit) -> Edit:
    """Jobs without a time limit run as long as such jobs usually do."""
    if not isinstance(edit, AddJobs) or edit.runs_ms is not None:
        return edit
    return replace(edit, runs_ms=expected_run_ms(Kind(edit.team, edit.queue, edit.name), None))


def _notes(edits: Sequence[Edit], start: _Start) -> list[dict[str, Any]]:
    """What the answer cannot say, and the pauses under which it was made."""
    notes = _noted(edits)
    if any(isinstance(edit, ChangeQuota) for edit in edits) and not start.situation.policy.capped:
        notes.append(plain_sentence("caps-not-enforced"))
    if Stop.CLUSTER in start.stopped.values():
        notes.append(plain_sentence("planned-paused"))
    elif start.stopped:
        queues = start.situation.policy.queues
        names = [queue.name for queue in queues if queue.queue in start.stopped]
        notes.append(plain_sentence("planned-queues-paused", queues=", ".join(names)))
    return [note.as_json() for note in notes]


def _start(recording: int | None) -> _Start:
    """The cluster now under its pauses, or what a recorded plan was made from: jobs that a pause kept out are not in
    it.
    """
    if recording is not None:
        found = _recorded(recording)
        return _Start(found, len(found.jobs), {}, {})
    live = live_view()
    stopped = frozenset(live.stopped)
    jobs = tuple(job for job in live.pending if job.queue not in stopped)
    served = first_in_line(jobs, live.policy.engine, MOST_JOBS)
    found = situation_of(live, served)
    return _Start(found, len(jobs), live.stopped, count_pending(stopped), live.running)


def _recorded(recording: int) -> Situation:
    try:
        call = recordings.load(recording)
    except models.Recording.DoesNotExist:
        raise EditFaults([FieldError("recording", "no-such-recording")]) from None
    except recordings.UnreadableRecording as error:
        raise EditFaults([FieldError("recording", error.why, error.params)]) from None
    return Situation(
        nodes=call.nodes,
        jobs=call.jobs,
        policy=call.policy,
        now_ms=call.now_ms,
        seed=call.seed,
        expected=call.expected,
        running=call.running,
        reservations=call.reservations,
    )


def _known(situation: Situation, user: User) -> Known:
    return Known(
        nodes={info.node for info in situation.nodes},
        queues={queue.name: queue.queue for queue in situation.policy.queues},
        teams=dict(visible_teams(user).values_list("slug", "pk")),
        rules=spec_rules(active_policy()),
        owner=user.pk,
    )


def _make(situation: Situation, start: _Start, *, more: int, held: Mapping[int, int]) -> _Made:
    started = clock.monotonic_s()
    made = made_plan(situation)
    takeovers = {one.job: one for one in takeovers_after(situation, made, start.running)}
    wall_ms = int((clock.monotonic_s() - started) * 1000)
    return _Made(situation, made, takeovers, start.waiting + more, held, wall_ms)


def _outcome(made: _Made, stopped: Mapping[int, Stop]) -> dict[str, Any]:
    queues = {queue.queue: queue.name for queue in made.situation.policy.queues}
    by_job = {job.job: queues.get(job.queue, "") for job in made.situation.jobs}
    placed = Counter(by_job[job] for job in dict.fromkeys(one.job for one in made.plan.placed))
    refused = Counter(by_job[one.job] for one in made.plan.refused)
    reasons: Counter[Why] = Counter(
        TAKES_OVER if one.job in made.takeovers else one.code for one in made.plan.refused
    )
    reasons.update({stop: made.held[queue] for queue, stop in stopped.items() if made.held.get(queue)})
    return {
        "considered": made.plan.considered,
        "placed": placed.total(),
        "refused": len(made.plan.refused),
        "held": sum(made.held.values()),
        "exhausted": made.plan.considered >= made.waiting,
        "wall_ms": made.wall_ms,
        "queues": [
            {"name": n, "placed": placed[n], "refused": refused[n], "held": made.held.get(queue, 0)}
            for queue, n in queues.items()
        ],
        "reasons": [{**_reason(code), "count": number} for code, number in reasons.most_common()],
        "booked_percent": _booked_percent(made),
    }


def _reason(code: Why) -> dict[str, Any]:
    text = code_text(code) if isinstance(code, ReasonCode) else plain_sentence(code).text
    return {"code": str(code), "text": text}


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


def _different(now: _Made, then: _Made, stopped: Mapping[int, Stop]) -> list[PendingJob]:
    """Jobs that go elsewhere, start, no longer start, or wait for another reason; in order of service."""
    before, after = _by_job(now, stopped), _by_job(then, stopped)
    line = in_service_order(then.situation.jobs, then.situation.policy)
    return [job for job in line if _differ(before.get(job.job), after.get(job.job))]


def _changes(
    jobs: Sequence[PendingJob],
    now: _Made,
    then: _Made,
    *,
    added: Mapping[int, str],
    start: _Start,
    user: User,
) -> list[dict[str, Any]]:
    """What becomes of each of these, before and after; `added` names the made-up ones."""
    before, after = _by_job(now, start.stopped), _by_job(then, start.stopped)
    names = {info.node: info.name for info in then.situation.nodes}
    queues = {queue.queue: queue.name for queue in then.situation.policy.queues}
    stored = dict(Job.objects.filter(pk__in=_ids(jobs, added)).values_list("pk", "name"))
    refused = [job for job in jobs if isinstance(after.get(job.job), Refusal)]
    known = starts(then.situation, refused, user, is_recorded=start.is_recorded)
    return [
        {
            "job": None if job.job in added else job.job,
            "name": added.get(job.job) or stored.get(job.job, ""),
            "queue": queues.get(job.queue, ""),
            **_sides(before.get(job.job), after.get(job.job), names),
            **known.get(job.job, NO_START),
            "stops": victims_of(after.get(job.job), user),
        }
        for job in jobs
    ]


def _noted(edits: Sequence[Edit]) -> list[Sentence]:
    """What of added jobs is not looked at."""
    added = [edit for edit in edits if isinstance(edit, AddJobs)]
    fields = sorted({name for edit in added for name in edit.gates})
    notes = [plain_sentence("planned-ungated", fields=", ".join(fields))] if fields else []
    if any(edit.waits_for_slots for edit in added):
        notes.append(plain_sentence("planned-slots"))
    return notes


def _by_job(made: _Made, stopped: Mapping[int, Stop]) -> dict[int, Fate]:
    found: dict[int, Fate] = {j.job: stopped[j.queue] for j in made.situation.jobs if j.queue in stopped}
    # Of a gang the first replica speaks for all.
    found |= {one.job: one for one in reversed(made.plan.placed)}
    found |= {one.job: one for one in made.plan.refused}
    return found | made.takeovers


def _differ(before: Fate | None, after: Fate | None) -> bool:
    return _place(before) != _place(after) or _code(before) != _code(after)


def _place(found: Fate | None) -> int | None:
    return found.node if isinstance(found, Placed) else None


def _code(found: Fate | None) -> Why | None:
    if isinstance(found, Stop):
        return found
    if isinstance(found, Takeover):
        return TAKES_OVER
    return found.code if isinstance(found, Refusal) else None


def _added_names(then: _Made, edits: Sequence[Edit]) -> dict[int, str]:
    """Names of the made-up jobs: they follow the others, in the order of the edits."""
    names = [edit.name for edit in edits if isinstance(edit, AddJobs) for _ in range(edit.count)]
    jobs = then.situation.jobs[len(then.situation.jobs) - len(names) :]
    return {job.job: name for job, name in zip(jobs, names, strict=True)}


def _ids(jobs: Iterable[PendingJob], added: Mapping[int, str]) -> list[int]:
    return [job.job for job in jobs if job.job not in added]


def _sides(before: Fate | None, after: Fate | None, names: Mapping[int, str]) -> dict[str, Any]:
    sides: dict[str, Any] = {}
    for side, found in (("before", before), ("after", after)):
        node, code = _place(found), _code(found)
        sides[side] = None if node is None else {"node": node, "node_name": names.get(node, str(node))}
        sides[f"reason_{side}"] = None if code is None else _reason(code)
    return sides

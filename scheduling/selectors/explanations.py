"""Why a job waits or why it went where it is, in the shape of the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from controlplane.accounts.models import User
from inventory import memory_limits
from inventory.models import Device, Node
from queues.models import Job, JobStatus
from queues.spec import JobSpec, Resources, decode_spec
from scheduling.engine.changes import Change
from scheduling.engine.explain import Explanation, NearNode, explain
from scheduling.engine.quantities import free_mib, precheck_need_mib
from scheduling.engine.types import (
    Candidate,
    FilterCount,
    NearMiss,
    NodeInfo,
    PendingJob,
    Placed,
    ReasonCode,
    Refusal,
    Request,
    TermScore,
)
from scheduling.estimates import estimate_view
from scheduling.expected import expected_jobs
from scheduling.held_wording import held_sentence, open_dependencies
from scheduling.line_wording import reserved_sentence
from scheduling.models import Decision, Outcome, ShapeReason
from scheduling.pauses import stopped_queues
from scheduling.requests import pending_job
from scheduling.selectors.bookings import named_jobs
from scheduling.selectors.caps import cap_view, sentence_of
from scheduling.selectors.jobs import device_part
from scheduling.selectors.line import line_view, reservation_view
from scheduling.selectors.live import Live, keeping, live_view, node_names, promised_before
from scheduling.selectors.starts import Unknown, unknown_view
from scheduling.sheets import decode_placed, decode_refusal
from scheduling.whatif import AtBest
from scheduling.wording import (
    Sentence,
    change_text,
    label_of,
    plain_sentence,
    reason_sentence,
    unit_of,
)

EMPTY: Mapping[str, Any] = {
    "decided_at": None,
    "since": None,
    "cycle": None,
    "sentence": None,
    "funnel": [],
    "near": [],
    "changes": [],
    "decision": None,
    "picture": None,
    "estimate": None,
    "start_unknown": None,
    "cap": None,
    "line": None,
    "reservation": None,
}
NO_START: Mapping[str, Any] = {"estimate": None, "start_unknown": None}
PICTURED = frozenset({ReasonCode.DEVICE_MEMORY_PIECE, ReasonCode.DEVICE_MEMORY_TOTAL, ReasonCode.FOREIGN_USE})
# Changes outside of `resources`, with the value that they set.
TOP_FIELDS: Mapping[str, Any] = {"node_sets": [], "node_labels": {}}


def explain_job(job: Job, user: User) -> dict[str, Any]:
    """All that a page about one job shows of its waiting or placing, to this user."""
    if job.status == JobStatus.PENDING:
        return {**EMPTY, "status": job.status, **_explain_pending(job, user)}
    if job.status == JobStatus.HELD:
        held = {"sentence": held_sentence(job, open_dependencies([job])).as_json(), "since": job.held_since}
        return {**EMPTY, "status": job.status, **held}
    return {**EMPTY, "status": job.status, **_explain_decision(job)}


def _explain_pending(job: Job, user: User) -> dict[str, Any]:
    stored = ShapeReason.objects.filter(shape=job.shape).first()
    paused = stopped_queues().get(job.queue_id)
    if stored is None:
        return {"sentence": plain_sentence(paused or "not-looked-at").as_json()}
    refusal, spec, live = decode_refusal(stored.refusal), decode_spec(job.spec), live_view()
    view = explain_refusal(live, refusal, pending_job(job), spec, user)
    view["line"] = line_view(live, pending_job(job))
    view["reservation"] = reservation_view(job)
    if paused is not None:
        # Nothing that its owner could change lets it start before the pause ends.
        view |= {"sentence": plain_sentence(paused).as_json(), "changes": [], **NO_START}
    # The reason belongs to the shape and may be older than this job.
    waits_since = job.pending_since or job.submitted_at
    return {
        **view,
        "decided_at": max(stored.updated_at, waits_since),
        "since": max(stored.since, waits_since),
        "cycle": stored.cycle_id,
    }


def explain_refusal(
    live: Live, refusal: Refusal, job: PendingJob, spec: JobSpec, user: User
) -> dict[str, Any]:
    """The refusal judged anew against the present state, with what would help although others are promised places."""
    found = _found(live, refusal, job)
    names = _names(live, found)
    return {
        "sentence": _sentence(found, job.request, names, refusal.waits_for).as_json(),
        "funnel": [
            {"code": row.code.value, "label": label_of(row.code), "removed": row.removed, "left": row.left}
            for row in found.funnel
        ],
        "near": [_near(near, names) for near in found.near],
        "changes": [_change(one, spec, names[one.node]) for one in found.changes],
        "picture": _picture(live, found, job.request),
        **_start(live, found, job, user, refusal.waits_for),
        "cap": None if found.cap is None else cap_view(found.cap, user),
    }


def _found(live: Live, refusal: Refusal, job: PendingJob) -> Explanation:
    expected, policy = expected_jobs(), live.policy.engine
    found = explain(live.state, refusal, job, policy, jobs=live.pending, expected=expected)
    places = promised_before(live, [job]).get(job.job)
    if places is None or found.code is None:
        return found
    beside = explain(keeping(live.state, places), refusal, job, policy, jobs=live.pending, expected=expected)
    return replace(found, changes=beside.changes)


def _start(
    live: Live, found: Explanation, job: PendingJob, user: User, waits_for: int | None
) -> Mapping[str, Any]:
    """When it could start, or why that is not known; there is nothing to wait for where it fits now, but for the jobs
    that were promised the place.
    """
    if found.code is None:
        return {**NO_START, "start_unknown": unknown_view(Unknown.PROMISED)} if waits_for else NO_START
    policy = live.policy.engine
    view = estimate_view(live.state, job, policy, now_ms=live.now_ms, pending=live.pending)
    if view is not None:
        return {**NO_START, "estimate": {**view, "after_jobs": named_jobs(view["after_jobs"], user)}}
    why = Unknown.NEVER if AtBest(live.state.infos, policy, [job]).never_starts(job) else Unknown.NO_END
    return {**NO_START, "start_unknown": unknown_view(why)}


def _names(live: Live, found: Explanation) -> dict[int, str]:
    wanted = {near.miss.node for near in found.near} | {change.node for change in found.changes}
    return {node: live.state.info(node).name for node in wanted}


def _sentence(
    found: Explanation, request: Request, names: Mapping[int, str], waits_for: int | None = None
) -> Sentence:
    if found.code is None and waits_for is not None:
        return reserved_sentence(waits_for)
    if found.code is None:
        return plain_sentence("fits-now")
    if found.cap is not None:
        return sentence_of(found.cap)
    near = tuple(near.miss for near in found.near)
    return reason_sentence(Refusal(found.job, found.code, found.nodes, (), near), request, names)


def _near(near: NearNode, names: Mapping[int, str]) -> dict[str, Any]:
    miss = near.miss
    return {
        "node": miss.node,
        "node_name": names[miss.node],
        "code": miss.code.value,
        "needed": miss.needed,
        "available": miss.available,
        "unit": unit_of(miss.code),
        "pieces": list(miss.pieces),
        "terms": term_views(near.terms),
        "score_ppm": near.score_ppm,
    }


def _change(change: Change, spec: JobSpec, name: str) -> dict[str, Any]:
    field, old, new = _edit(change, spec)
    return {"field": field, "from": old, "to": new, "text": change_text(change, name), "node_name": name}


def _edit(change: Change, spec: JobSpec) -> tuple[str, Any, Any]:
    """The change in the request's own fields; when one field is not enough, the whole of `resources`."""
    if change.field in TOP_FIELDS:
        return change.field, msgspec.to_builtins(getattr(spec, change.field)), TOP_FIELDS[change.field]
    before = msgspec.to_builtins(spec.resources)
    after = msgspec.to_builtins(_resources(change.request, spec))
    changed = [name for name in after if before[name] != after[name]]
    if len(changed) == 1:
        return f"resources.{changed[0]}", before[changed[0]], after[changed[0]]
    return "resources", before, after


def _resources(request: Request, spec: JobSpec) -> Resources:
    return msgspec.structs.replace(
        spec.resources,
        devices=request.devices,
        device_models=list(request.models),
        device_memory_mib=request.device_memory_mib,
        device_compute_milli=(request.device_compute_milli or None) if request.shareable else None,
        cores=request.cores,
        memory_mib=request.host_memory_mib,
        read_bandwidth_mib_s=request.read_bandwidth_mib_s,
        splittable=request.splittable,
        shareable=request.shareable,
    )


def _picture(live: Live, found: Explanation, request: Request) -> dict[str, Any] | None:
    """The free memory of the nearest node's devices beside the request."""
    if found.code not in PICTURED or not found.near or request.device_memory_mib is None:
        return None
    info = live.state.info(found.near[0].miss.node)
    policy = live.policy.engine
    piece = _piece_mib(found.near[0].miss, request)
    needed = precheck_need_mib(piece, num=policy.precheck_num, den=policy.precheck_den)
    return {
        "node_name": info.name,
        "request_mib": piece,
        "safety_mib": needed - piece if request.shareable else 0,
        "devices": _pictured(info),
    }


def _piece_mib(miss: NearMiss, request: Request) -> int:
    total = request.device_memory_mib or 0
    if request.splittable and request.devices > 1:
        return -(-total // request.devices)
    return total


def _pictured(info: NodeInfo) -> list[dict[str, Any]]:
    return [
        {
            "index": device.index,
            "total_mib": device.memory_total_mib,
            "booked_mib": device.memory_booked_mib,
            "used_mib": device.memory_used_mib,
            "free_mib": free_mib(device),
        }
        for device in info.devices
    ]


def _explain_decision(job: Job) -> dict[str, Any]:
    decisions = Decision.objects.filter(job=job, outcome=Outcome.APPLIED).select_related("placement__node")
    # The first replica speaks for a gang.
    decision = decisions.order_by("-attempt", "placement__replica", "-id").first()
    if decision is None:
        return {}
    placed = decode_placed(decision.sheet)
    names = node_names({placed.node, *(candidate.node for candidate in placed.runners_up)})
    assert decision.placement is not None, "what was applied has a placement"
    node = decision.placement.node
    code = "placed" if placed.candidates > 1 else "placed-only"
    return {
        "decided_at": decision.at,
        "cycle": decision.cycle_id,
        "sentence": plain_sentence(code, node=node.name, candidates=placed.candidates).as_json(),
        "funnel": _funnel(placed.counts, placed.candidates),
        "decision": _decision(placed, node, names) | {"host_memory_limit": _host_limit(job, node)},
    }


def _funnel(counts: Sequence[FilterCount], candidates: int) -> list[dict[str, Any]]:
    left = candidates + sum(count.removed for count in counts)
    rows = []
    for count in counts:
        left -= count.removed
        rows.append(
            {"code": count.code.value, "label": label_of(count.code), "removed": count.removed, "left": left}
        )
    return rows


def _decision(placed: Placed, node: Node, names: Mapping[int, str]) -> dict[str, Any]:
    return {
        "node": {"id": node.pk, "name": node.name},
        "isolates_users": node.isolates_users,
        **placed_view(placed, names),
    }


def _host_limit(job: Job, node: Node) -> memory_limits.MemoryLimit | None:
    spec = decode_spec(job.spec)
    in_container = spec.image is not None
    return memory_limits.of_host(node.facts, memory_mib=spec.resources.memory_mib, in_container=in_container)


def placed_view(placed: Placed, names: Mapping[int, str]) -> dict[str, Any]:
    """What was chosen for a job, and what it was chosen from. One query, none without devices."""
    devices = Device.objects.in_bulk([part.device for part in placed.slices]) if placed.slices else {}
    return {
        "devices": [
            device_part(msgspec.to_builtins(part), devices[part.device])
            for part in placed.slices
            if part.device in devices
        ],
        "cpus": list(placed.cpus),
        "loader_cpus": list(placed.loader_cpus),
        "score_ppm": placed.chosen.score_ppm,
        "terms": term_views(placed.chosen.terms),
        "candidates": placed.candidates,
        "runners_up": [candidate_view(one, names) for one in placed.runners_up],
        "tie": _tie(placed, names),
    }


def _tie(placed: Placed, names: Mapping[int, str]) -> dict[str, Any] | None:
    """By which rule the node came first although the next one scores as much."""
    other = placed.runners_up[0] if placed.runners_up else None
    if other is None or other.score_ppm != placed.chosen.score_ppm:
        return None
    named = (names.get(node, str(node)) for node in (placed.node, other.node))
    facts = dict(zip(("node", "other"), named, strict=True))
    return plain_sentence("tie", **facts, node_id=placed.node, other_id=other.node).as_json()


def candidate_view(candidate: Candidate, names: Mapping[int, str]) -> dict[str, Any]:
    """A node that could have taken the job, with its score sheet."""
    return {
        "node": candidate.node,
        "node_name": names.get(candidate.node, str(candidate.node)),
        "score_ppm": candidate.score_ppm,
        "terms": term_views(candidate.terms),
    }


def term_views(terms: Sequence[TermScore]) -> list[dict[str, Any]]:
    """Score terms in the order of the policy."""
    return [
        {
            "term": term.term.value,
            "value_ppm": term.value_ppm,
            "weight_ppm": term.weight_ppm,
            "contribution_ppm": term.contribution_ppm,
        }
        for term in terms
    ]

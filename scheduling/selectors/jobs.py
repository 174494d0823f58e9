"""Jobs as people see them: the row, where its present attempt went, and why it waits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from controlplane.base import clock
from inventory import memory_limits
from inventory.models import Device
from queues.models import Dependency, Job, JobStatus
from queues.spec import decode_spec, encode_spec
from scheduling.held_wording import held_sentence, open_dependencies
from scheduling.models import Decision, Outcome, Placement, ShapeReason
from scheduling.pauses import cluster_is_paused
from scheduling.requests import request_of
from scheduling.selectors.live import node_names
from scheduling.selectors.pauses import paused_queues
from scheduling.sheets import decode_refusal
from scheduling.wording import Sentence, plain_sentence, reason_sentence

ATTEMPT_COLUMNS = (
    "id",
    "attempt",
    "replica",
    "phase",
    "cpus",
    "loader_cpus",
    "host_memory_mib",
    "uid",
    "pid",
    "adopted",
    "assigned_at",
    "preparing_at",
    "running_at",
    "stopping_at",
    "ended_at",
    "exit_code",
    "exit_signal",
    "log_bytes",
    "log_truncated",
)


@dataclass(frozen=True)
class _Context:
    placements: Mapping[tuple[int, int], Placement]
    slices: Mapping[int, list[dict[str, Any]]]
    devices: Mapping[int, Device]
    reasons: Mapping[str, ShapeReason]
    unmet: Mapping[int, list[Dependency]]
    names: Mapping[int, str]
    paused: bool
    paused_queues: Collection[int]
    now_ms: int


def with_people(jobs: QuerySet[Job]) -> QuerySet[Job]:
    """The same jobs with the rows that their views name."""
    return jobs.select_related("queue", "team", "owner", "array")


def job_views(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Views of jobs loaded `with_people`; at most ten queries however many there are."""
    context = _load(jobs)
    return [_view(job, context) for job in jobs]


def job_view(job: Job) -> dict[str, Any]:
    """The view of one job."""
    return job_views([job])[0]


def _load(jobs: Sequence[Job]) -> _Context:
    present = Placement.objects.filter(job__in=jobs).select_related("node").order_by("job_id", "-replica")
    # The first replica speaks for a gang.
    placements = {(p.job_id, p.attempt): p for p in present}
    slices = booked_slices([placements[key] for job in jobs if (key := (job.pk, job.attempt)) in placements])
    wanted = {part["device"] for parts in slices.values() for part in parts}
    devices = Device.objects.in_bulk(wanted) if wanted else {}
    waiting = [job.shape for job in jobs if job.status == JobStatus.PENDING]
    reasons = ShapeReason.objects.in_bulk(set(waiting)) if waiting else {}
    near = {miss["node"] for reason in reasons.values() for miss in reason.refusal["near"]}
    return _Context(
        placements=placements,
        slices=slices,
        devices=devices,
        reasons=reasons,
        unmet=open_dependencies(jobs),
        names=node_names(near),
        paused=bool(waiting) and cluster_is_paused(),
        paused_queues=paused_queues() if waiting else (),
        now_ms=clock.now_ms(),
    )


def booked_slices(placements: Sequence[Placement]) -> dict[int, list[dict[str, Any]]]:
    """What was booked by placement, from the score sheets: the booking rows of ended placements are gone."""
    rows = Decision.objects.filter(placement__in=placements, outcome=Outcome.APPLIED)
    return dict(rows.values_list("placement_id", "sheet__slices")) if placements else {}


def _view(job: Job, context: _Context) -> dict[str, Any]:
    placement = context.placements.get((job.pk, job.attempt))
    return {
        "id": job.pk,
        "name": job.name,
        "status": job.status,
        "intent": job.intent,
        "queue": job.queue.name,
        "team": job.team.slug,
        "owner": job.owner.username,
        "template": job.template or None,
        "priority": job.priority,
        "attempt": job.attempt,
        "submitted_at": job.submitted_at,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "waits_ms": _waits(job, placement, context.now_ms),
        "exit_code": job.exit_code,
        "exit_signal": job.exit_signal,
        "exit_class": job.exit_class,
        "exit_message": job.exit_message or None,
        "spec": encode_spec(decode_spec(job.spec)),
        "node": None if placement is None else {"id": placement.node_id, "name": placement.node.name},
        "cpus": None if placement is None else placement.cpus,
        "devices": [] if placement is None else _devices(placement, context),
        "uid": None if placement is None else placement.uid,
        "reason": _reason(job, context),
        "array": _array(job),
    }


def _array(job: Job) -> dict[str, Any] | None:
    if job.array is None:
        return None
    return {"id": job.array.pk, "index": job.array_index, "tasks": job.array.tasks}


def _waits(job: Job, placement: Placement | None, now_ms: int) -> dict[str, int | None]:
    """Waiting so far: what is stored, and the step that is still going on. None: no such step was seen."""
    held_ms, pending_ms, start_ms = job.held_ms, job.pending_ms, job.start_ms
    if job.held_since is not None:
        held_ms += max(0, now_ms - clock.to_ms(job.held_since))
    if job.pending_since is not None:
        pending_ms += max(0, now_ms - clock.to_ms(job.pending_since))
    if job.status == JobStatus.STARTING and placement is not None:
        start_ms += max(0, now_ms - clock.to_ms(placement.assigned_at))
    return {
        "held": held_ms or None,
        "pending": pending_ms,
        "image_pull": job.image_pull_ms or None,
        "start": start_ms,
    }


def _devices(placement: Placement, context: _Context) -> list[dict[str, Any]]:
    return device_parts(context.slices.get(placement.pk, []), context.devices)


def device_parts(parts: Sequence[Mapping[str, Any]], devices: Mapping[int, Device]) -> list[dict[str, Any]]:
    """Booked shares with the devices they are of, as far as those are still known."""
    found = [device_part(part, devices[part["device"]]) for part in parts if part["device"] in devices]
    return sorted(found, key=lambda part: part["index"])


def device_part(part: Mapping[str, Any], device: Device) -> dict[str, Any]:
    """A booked share with the device it is of."""
    return {
        "id": device.pk,
        "index": device.index,
        "model": device.model,
        "memory_mib": part["memory_mib"],
        "compute_milli": part["compute_milli"],
        "memory_limit": memory_limits.of_device(part["compute_milli"]),
    }


def _reason(job: Job, context: _Context) -> dict[str, Any] | None:
    if job.status == JobStatus.HELD:
        return held_sentence(job, context.unmet).as_json()
    if job.status != JobStatus.PENDING:
        return None
    return _why_pending(job, context).as_json()


def _why_pending(job: Job, context: _Context) -> Sentence:
    if context.paused:
        return plain_sentence("paused")
    if job.queue_id in context.paused_queues:
        return plain_sentence("queue-paused")
    reason = context.reasons.get(job.shape)
    if reason is None:
        return plain_sentence("not-looked-at")
    return reason_sentence(decode_refusal(reason.refusal), request_of(decode_spec(job.spec)), context.names)


def job_placements(job_id: int) -> list[dict[str, Any]]:
    """All attempts of a job, first to last."""
    rows = Placement.objects.filter(job_id=job_id).select_related("node").order_by("attempt", "replica")
    placements = list(rows)
    slices = booked_slices(placements)
    devices = Device.objects.in_bulk({part["device"] for parts in slices.values() for part in parts})
    return [_attempt(one, device_parts(slices.get(one.pk, ()), devices)) for one in placements]


def _attempt(placement: Placement, devices: list[dict[str, Any]]) -> dict[str, Any]:
    node = {"id": placement.node_id, "name": placement.node.name}
    plain = {name: getattr(placement, name) for name in ATTEMPT_COLUMNS}
    words = {"exit_reason": placement.exit_reason or None, "exit_message": placement.exit_message or None}
    return {**plain, "node": node, "devices": devices, **words}

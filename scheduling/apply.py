"""Putting decisions into effect: one short transaction for each job, everything checked again; apply may refuse a
decision, never improve one.

Locks: lease (shared) -> job -> the nodes' desired-state rows, under which alone slices and cores of those nodes
are booked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import zip_longest
from typing import Any

import msgspec
from django.db import IntegrityError, OperationalError, transaction
from django.db.models import Q, Sum
from psycopg import errors as pg

from controlplane.base import clock, locks
from controlplane.base.locks import LeaseToken
from controlplane.base.tx import Topic, after_commit
from inventory.health import TAKES_JOBS
from inventory.models import Device, DeviceHealth, Node, NodeState
from queues import lifecycle
from queues.derive import Stage
from queues.lifecycle import Progress
from queues.models import Intent, Job, JobStatus
from scheduling.backends.agent import bump_epoch
from scheduling.bookings import part_mib
from scheduling.engine.partitions import settled
from scheduling.engine.quantities import free_compute_milli, free_mib, precheck_need_mib
from scheduling.engine.types import WHOLE_MILLI, DeviceInfo, EnginePolicy, Placed, Reservation, SliceChoice
from scheduling.kept import drop_holds
from scheduling.models import LIVE_PHASES, CoreBooking, Cycle, Decision, Hold, Outcome, Placement, Slice
from scheduling.node_facts import is_disk_low
from scheduling.pauses import stops_of
from scheduling.policy_bridge import CyclePolicy
from scheduling.requests import request_of_job
from scheduling.sheets import encode_sheet

MOST_TRIES = 3


class StaleCode(StrEnum):
    """Why a decision no longer holds."""

    JOB_CHANGED = "job-changed"
    PAUSED = "paused"
    CAPS_CHANGED = "caps-changed"
    NODE_NOT_READY = "node-not-ready"
    NO_CONTAINER_ENGINE = "no-container-engine"
    DEVICE_UNAVAILABLE = "device-unavailable"
    DEVICE_BUSY = "device-busy"
    DEVICE_MEMORY = "device-memory"
    CORES_UNAVAILABLE = "cores-unavailable"
    CORES_BUSY = "cores-busy"
    HOST_MEMORY = "host-memory"
    CONFLICT = "conflict"


class StaleDecision(Exception):
    """The rows no longer allow what was decided."""

    def __init__(self, code: StaleCode) -> None:
        super().__init__(code.value)
        self.code = code


@dataclass(frozen=True)
class Applying:
    """What all decisions of one cycle share."""

    lease: LeaseToken
    cycle: Cycle
    policy: CyclePolicy


def apply_placed(placed: Placed, context: Applying, *beside: Placed) -> StaleCode | None:
    """Book and start one job, of a gang all replicas or none: `beside` are those after the first. The code when the
    rows refuse it. LeaseLost when this cycle is no longer the only one.
    """
    parts = (placed, *beside)
    code = _attempt(parts, context)
    if code is not None:
        _note(parts, context, outcome=Outcome.STALE, stale_code=code)
    return code


def _note(
    parts: Sequence[Placed], context: Applying, *, placements: Sequence[Placement] = (), **columns: Any
) -> None:
    Decision.objects.bulk_create(
        Decision(
            job_id=part.job,
            attempt=part.attempt,
            cycle=context.cycle,
            placement=placement,
            policy_number=context.policy.number,
            sheet=encode_sheet(part),
            **columns,
        )
        for part, placement in zip_longest(parts, placements)
    )


def _attempt(parts: Sequence[Placed], context: Applying) -> StaleCode | None:
    for _try in range(MOST_TRIES):
        try:
            with transaction.atomic():
                _book(parts, context)
            return None
        except StaleDecision as stale:
            return stale.code
        except IntegrityError:
            # The constraints saw what the checks could not: somebody else was faster.
            return StaleCode.CONFLICT
        except OperationalError as error:
            if not isinstance(error.__cause__, pg.DeadlockDetected | pg.SerializationFailure):
                raise
    return StaleCode.CONFLICT


def _book(parts: Sequence[Placed], context: Applying) -> None:
    locks.fence_check(context.lease.name, context.lease.token)
    first = parts[0]
    job = _locked_job(parts)
    nodes = sorted({part.node for part in parts})
    _check_stops(job, nodes, context.policy)
    bump_epoch(nodes)
    # A share asked by compute alone has no memory of its own to pre-check; the engine gives it the part that
    # goes with it.
    prechecked = request_of_job(job).device_memory_mib is not None
    placements = []
    for part in parts:
        _check_node(part, with_image=job.spec.get("image") is not None)
        _check_devices(part, context.policy.engine if prechecked else None)
        placements.append(_insert(part))
    if drop_holds(job.pk):
        # Elsewhere than where it was to start, its victims may stay: the next cycle tells them.
        after_commit(Topic.CYCLE_WAKE)
    _note(parts, context, placements=placements, outcome=Outcome.APPLIED)
    details = {
        "placement": placements[0].pk,
        "score_ppm": first.chosen.score_ppm,
        "candidates": first.candidates,
    }
    progress = Progress(Stage.STARTING, attempt=first.attempt, node=first.node, details=details)
    if not lifecycle.follow(job, progress):
        raise StaleDecision(StaleCode.JOB_CHANGED)


def _locked_job(parts: Sequence[Placed]) -> Job:
    first = parts[0]
    job = lifecycle.lock_jobs([first.job]).get(first.job)
    waits = job is not None and job.status == JobStatus.PENDING and job.intent == Intent.RUN
    if job is None or not waits or (job.attempt, job.replicas) != (first.attempt, len(parts)):
        raise StaleDecision(StaleCode.JOB_CHANGED)
    return job


def _check_stops(job: Job, nodes: Sequence[int], policy: CyclePolicy) -> None:
    for node in nodes:
        stopped, revision = stops_of(queue=job.queue_id, node=node)
        if stopped:
            raise StaleDecision(StaleCode.PAUSED)
        if policy.revisions.get(job.queue_id, revision) != revision:
            raise StaleDecision(StaleCode.CAPS_CHANGED)


def _check_node(placed: Placed, *, with_image: bool) -> None:
    with_agent = Node.objects.filter(pk=placed.node, remote=None)
    node = with_agent.only("state", "observe_only", "memory_mib", "facts").first()
    if node is None or node.state != NodeState.READY or node.observe_only or is_disk_low(node.facts):
        raise StaleDecision(StaleCode.NODE_NOT_READY)
    if with_image and not node.facts.get("runs_containers"):
        raise StaleDecision(StaleCode.NO_CONTAINER_ENGINE)
    usable = {cpu["id"] for cpu in node.facts.get("cpus", ()) if cpu["online"]}
    usable -= set(node.facts.get("reserved_cpus", ()))
    if not usable.issuperset(placed.cpus):
        raise StaleDecision(StaleCode.CORES_UNAVAILABLE)
    if CoreBooking.objects.filter(node_id=placed.node, cpu__in=placed.cpus).exists():
        raise StaleDecision(StaleCode.CORES_BUSY)
    if placed.host_memory_mib:
        live = Placement.objects.filter(node_id=placed.node, phase__in=LIVE_PHASES)
        booked = live.aggregate(total=Sum("host_memory_mib"))["total"] or 0
        if booked + placed.host_memory_mib > (node.memory_mib or 0):
            raise StaleDecision(StaleCode.HOST_MEMORY)


def _check_devices(placed: Placed, precheck: EnginePolicy | None) -> None:
    choices = {choice.device: choice for choice in placed.slices}
    if not choices:
        return
    rows = Device.objects.select_related("reading", "parent").select_for_update(no_key=True, of=("self",))
    devices = list(rows.filter(pk__in=choices, node_id=placed.node).order_by("pk"))
    if len(devices) != len(choices):
        raise StaleDecision(StaleCode.DEVICE_UNAVAILABLE)
    booked = _booked(list(choices), placed.job)
    cuts = _Cuts.of_node(placed.node)
    for device in devices:
        if any(part.health not in TAKES_JOBS or part.cordoned for part in _with_parent(device)):
            raise StaleDecision(StaleCode.DEVICE_UNAVAILABLE)
        if cuts.exclude(device):
            raise StaleDecision(StaleCode.DEVICE_BUSY)
        sizes = cuts.share(device, _sizes(device, *booked.get(device.pk, (0, 0))))
        _check_room(sizes, choices[device.pk], precheck)


def _with_parent(device: Device) -> tuple[Device, ...]:
    return (device,) if device.parent is None else (device, device.parent)


@dataclass(frozen=True)
class _Cuts:
    """How the devices of a node are partitioned now: slices that are there or held, and wholes that are held."""

    slices: tuple[Device, ...]
    held: frozenset[int]

    @classmethod
    def of_node(cls, node: int) -> _Cuts:
        """Two queries; one where nothing is partitioned."""
        rows = Device.objects.filter(node_id=node, parent__isnull=False)
        found = tuple(rows.filter(~Q(health=DeviceHealth.MISSING) | Q(slices__isnull=False)).distinct())
        held = Slice.objects.filter(device__in={device.parent_id for device in found})
        return cls(found, frozenset(held.values_list("device_id", flat=True)) if found else frozenset())

    def exclude(self, device: Device) -> bool:
        """A whole beside its slices takes no jobs, nor do slices of a whole that is held."""
        return device.parent_id in self.held or any(part.parent_id == device.pk for part in self.slices)

    def share(self, device: Device, sizes: DeviceInfo) -> DeviceInfo:
        """Memory that several slices share counts once, as for the engine."""
        if device.memory_group is None:
            return sizes
        group = (device.parent_id, device.memory_group)
        sharers = [part for part in self.slices if (part.parent_id, part.memory_group) == group]
        alike = [replace(sizes, device=part.pk) for part in sharers if part.pk != device.pk]
        return settled([sizes, *alike])[0]


def _booked(device_ids: Sequence[int], job: int) -> dict[int, tuple[int, int]]:
    """Memory and compute taken per device: slices, and what is held for other jobs."""
    taken: dict[int, tuple[int, int]] = {}
    slices = Slice.objects.filter(device_id__in=device_ids)
    parts = list(slices.values_list("device_id", "memory_mib", "compute_milli"))
    for place in (
        Hold.objects.filter(until__gt=clock.now()).exclude(beneficiary_id=job).values_list("place", flat=True)
    ):
        kept = msgspec.convert(place, Reservation)
        parts += [(p.device, p.memory_mib, p.compute_milli) for p in kept.slices if p.device in device_ids]
    for device, memory, compute in parts:
        before = taken.get(device, (0, 0))
        taken[device] = (before[0] + memory, before[1] + compute)
    return taken


def _sizes(device: Device, memory_booked_mib: int, compute_booked_milli: int) -> DeviceInfo:
    """What the engine's arithmetic needs to know, from the rows as they are now."""
    reading = getattr(device, "reading", None)
    return DeviceInfo(
        device=device.pk,
        index=device.index,
        model=device.model,
        memory_total_mib=device.memory_total_mib,
        memory_reserved_mib=device.memory_reserved_mib or 0,
        memory_booked_mib=memory_booked_mib,
        memory_used_mib=None if reading is None else reading.memory_used_mib,
        compute_booked_milli=compute_booked_milli,
        foreign_mib=device.foreign_mib,
        parent=device.parent_id,
        memory_group=device.memory_group,
    )


def _check_room(device: DeviceInfo, choice: SliceChoice, precheck: EnginePolicy | None) -> None:
    """The same arithmetic as the engine's: booked, used beyond the booking, foreign; a whole device has no
    foreign use at all.
    """
    whole = choice.compute_milli >= WHOLE_MILLI
    if free_compute_milli(device) < choice.compute_milli:
        raise StaleDecision(StaleCode.DEVICE_BUSY)
    needed_mib = choice.memory_mib
    if precheck is not None and not whole:
        needed_mib = precheck_need_mib(needed_mib, num=precheck.precheck_num, den=precheck.precheck_den)
    # Of a device of unknown size no memory is booked, so only this tells foreign use.
    occupied = whole and choice.memory_mib == 0 and device.foreign_mib > 0
    # By now its size is known: booked without its part, it would leave that to others.
    sized = choice.memory_mib == 0 and part_mib(device, choice.compute_milli) > 0
    if occupied or sized or free_mib(device) < needed_mib:
        raise StaleDecision(StaleCode.DEVICE_MEMORY)


def _insert(placed: Placed) -> Placement:
    now = clock.now()
    placement = Placement.objects.create(
        job_id=placed.job,
        attempt=placed.attempt,
        replica=placed.replica,
        node_id=placed.node,
        fence=clock.to_ms(now),
        host_memory_mib=placed.host_memory_mib,
        read_bandwidth_mib_s=placed.read_bandwidth_mib_s,
        device_milli=sum(choice.compute_milli for choice in placed.slices),
        cpus=list(placed.cpus),
        loader_cpus=list(placed.loader_cpus),
        borrowed=placed.borrowed,
        assigned_at=now,
    )
    Slice.objects.bulk_create(
        Slice(
            placement=placement,
            device_id=choice.device,
            memory_mib=choice.memory_mib,
            compute_milli=choice.compute_milli,
        )
        for choice in placed.slices
    )
    CoreBooking.objects.bulk_create(
        CoreBooking(placement=placement, node_id=placed.node, cpu=cpu) for cpu in placed.cpus
    )
    return placement

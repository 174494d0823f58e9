"""What running jobs use of what they booked. A figure of which any part is unknown is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from controlplane.base import clock
from inventory import plausible
from inventory.identifiers import normal_identity
from inventory.streams import TaskUse, uses_of
from queues.models import Job, JobStatus
from scheduling.engine.types import WHOLE_MILLI
from scheduling.models import LIVE_PHASES, Placement, Slice

IN_PLACE = (JobStatus.STARTING, JobStatus.RUNNING, JobStatus.SUSPENDING, JobStatus.PREEMPTING)
FRESH = timedelta(minutes=2)


@dataclass(frozen=True)
class _Part:
    """What one placement uses."""

    placement: Placement
    slices: Sequence[Slice]
    use: TaskUse | None
    now: datetime


def job_uses(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Of jobs loaded with queue, team and owner, in their order; two queries and one look into Valkey."""
    live = Placement.objects.filter(job__in=jobs, phase__in=LIVE_PHASES).select_related("node")
    placements = list(live.order_by("job_id", "replica"))
    held: dict[int, list[Slice]] = {}
    for share in Slice.objects.filter(placement__in=placements).select_related("device__reading"):
        held.setdefault(share.placement_id, []).append(share)
    uses, now = uses_of({one.node_id for one in placements}), clock.now()
    by_job: dict[int, list[_Part]] = {}
    for one in placements:
        part = _Part(one, held.get(one.pk, ()), uses.get((one.node_id, one.pk)), now)
        by_job.setdefault(one.job_id, []).append(part)
    return [_row(job, by_job.get(job.pk, []), now) for job in jobs]


def _row(job: Job, parts: Sequence[_Part], now: datetime) -> dict[str, Any]:
    slices = [one for part in parts for one in part.slices]
    begun = [part.placement.running_at for part in parts if part.placement.running_at is not None]
    running = max(0, int((now - min(begun)).total_seconds())) if begun else None
    return {
        "id": job.pk,
        "name": job.name,
        "status": job.status,
        "queue": job.queue.name,
        "team": job.team.slug,
        "owner": job.owner.username,
        "attempt": job.attempt,
        "nodes": list(dict.fromkeys(part.placement.node.name for part in parts)),
        "running_s": running,
        "cores": sum(len({*part.placement.cpus, *part.placement.loader_cpus}) for part in parts),
        "cpu_used_milli": _total(
            plausible.CPU_USED_MILLI.clean(part.use and part.use.cpu_used_milli) for part in parts
        ),
        "host_memory_booked_mib": sum(part.placement.host_memory_mib for part in parts),
        "host_memory_used_mib": _total(
            plausible.HOST_USED_MIB.clean(part.use and part.use.memory_used_mib) for part in parts
        ),
        "devices": len(slices),
        "shares_devices": any(one.compute_milli < WHOLE_MILLI for one in slices),
        "device_use_pct": _mean([_utilization(one, now) for one in slices]),
        "device_memory_booked_mib": sum(one.memory_mib for one in slices),
        "device_memory_used_mib": _total(_device_memory(one, part) for part in parts for one in part.slices)
        if slices
        else None,
    }


def _fresh(part: Slice, now: datetime) -> Any:
    reading = getattr(part.device, "reading", None)
    return reading if reading is not None and reading.at >= now - FRESH else None


def _utilization(part: Slice, now: datetime) -> int | None:
    reading = _fresh(part, now)
    return None if reading is None else reading.utilization_pct


def _device_memory(held: Slice, part: _Part) -> int | None:
    """What the vendor's tool tells of the job's processes; of a whole device all that is used of it."""
    told = _told(part.use, held)
    if told is not None or held.compute_milli < WHOLE_MILLI:
        return told
    reading = _fresh(held, part.now)
    return None if reading is None else reading.memory_used_mib


def _told(use: TaskUse | None, held: Slice) -> int | None:
    names: Mapping[str, int | None] = {
        normal_identity(one.device): one.memory_used_mib for one in (use.devices if use else ())
    }
    for name in (held.device.uuid, held.device.pci_bus_id):
        if name and (used := names.get(normal_identity(name))) is not None:
            return plausible.DEVICE_USED_MIB.clean(used)
    return None


def _total(figures: Iterable[int | None]) -> int | None:
    known = list(figures)
    return None if not known or None in known else sum(figure or 0 for figure in known)


def _mean(figures: Sequence[int | None]) -> int | None:
    total = _total(figures)
    return None if total is None else round(total / len(figures))

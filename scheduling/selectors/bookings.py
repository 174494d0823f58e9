"""What live placements book of nodes and devices, for the pages of the inventory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from controlplane.accounts.models import User
from controlplane.accounts.scoping import sees_everything, visible_teams
from inventory import memory_limits
from queues.models import Job
from scheduling.models import LIVE_PHASES, CoreBooking, Placement, Slice


def _seen_teams(user: User) -> set[int] | None:
    """Teams whose jobs this caller may name; None for all."""
    return None if sees_everything(user) else set(visible_teams(user).values_list("pk", flat=True))


def _job_name(name: str, team: int, seen: set[int] | None) -> str | None:
    return name if seen is None or team in seen else None


def named_jobs(job_ids: Sequence[int], user: User) -> list[dict[str, Any]]:
    """These jobs in their order; names of jobs of foreign teams are null. Two queries at most."""
    seen = _seen_teams(user)
    rows = Job.objects.filter(pk__in=job_ids).values_list("pk", "name", "team_id")
    names = {pk: _job_name(name, team, seen) for pk, name, team in rows}
    return [{"job": pk, "name": names.get(pk)} for pk in job_ids]


def device_bookings(device_ids: Collection[int], user: User) -> dict[int, dict[str, Any]]:
    """Per device `booked` and `placements`; names of jobs of foreign teams are null. Two queries."""
    seen = _seen_teams(user)
    found: dict[int, dict[str, Any]] = {
        device: {"booked": {"memory_mib": 0, "compute_milli": 0}, "placements": []} for device in device_ids
    }
    rows = Slice.objects.filter(device_id__in=device_ids).order_by("placement_id").values_list(
        "device_id", "memory_mib", "compute_milli", "placement_id", "placement__job_id", "placement__job__name",
        "placement__job__team_id",
    )  # fmt: skip
    for device, memory_mib, compute_milli, placement, job, name, team in rows:
        entry = found[device]
        entry["booked"]["memory_mib"] += memory_mib
        entry["booked"]["compute_milli"] += compute_milli
        entry["placements"].append(
            {
                "id": placement,
                "job": job,
                "job_name": _job_name(name, team, seen),
                "memory_mib": memory_mib,
                "compute_milli": compute_milli,
                "memory_limit": memory_limits.of_device(compute_milli),
            }
        )
    return found


def node_bookings(node_id: int, user: User) -> dict[str, Any]:
    """`booked`, `placements`, and `by_cpu`: which placement and job hold each logical CPU. Four queries."""
    seen = _seen_teams(user)
    rows = (
        Placement.objects.filter(node_id=node_id, phase__in=LIVE_PHASES).select_related("job").order_by("pk")
    )
    placements = list(rows.prefetch_related("slices"))
    cpus = CoreBooking.objects.filter(node_id=node_id).values_list("cpu", "placement_id", "placement__job_id")
    by_cpu = {cpu: {"placement": placement, "job": job} for cpu, placement, job in cpus}
    return {
        "booked": {"cores": len(by_cpu), "memory_mib": sum(p.host_memory_mib for p in placements)},
        "placements": [_placement(placement, seen) for placement in placements],
        "by_cpu": by_cpu,
    }


def _placement(placement: Placement, seen: set[int] | None) -> dict[str, Any]:
    return {
        "id": placement.pk,
        "job": placement.job_id,
        "job_name": _job_name(placement.job.name, placement.job.team_id, seen),
        "attempt": placement.attempt,
        "phase": placement.phase,
        "cpus": placement.cpus,
        "slices": [
            {"device": part.device_id, "memory_mib": part.memory_mib, "compute_milli": part.compute_milli}
            for part in placement.slices.all()
        ],
    }

"""Taking locks on live placements in the one allowed order, and giving back what they book."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q, QuerySet

from inventory.models import Device
from queues import lifecycle
from queues.models import Job
from scheduling.engine.quantities import allocatable_mib
from scheduling.engine.types import WHOLE_MILLI, DeviceInfo
from scheduling.models import CoreBooking, Placement, Slice

# Slices of devices that failed for good.
FAILED = Q(device__fatal=True) | Q(device__parent__fatal=True)


def locked_live(placements: QuerySet[Placement]) -> tuple[dict[int, Job], list[Placement]]:
    """The jobs and then the placements of a query, locked; what left the query while the jobs were being
    locked is not among them.
    """
    jobs = lifecycle.lock_jobs(placements.values_list("job_id", flat=True))
    rows = placements.filter(job_id__in=jobs).select_for_update(no_key=True).order_by("pk")
    return jobs, list(rows)


def failed_devices(placement: Placement) -> tuple[int, ...]:
    """The devices of a placement that failed for good; ask before its slices are given back."""
    found = Slice.objects.filter(FAILED, placement=placement).order_by("device_id")
    return tuple(found.values_list("device_id", flat=True))


def set_free(placement_ids: Collection[int]) -> None:
    """Give back devices and cores of placements that ended, in the transaction that ends them."""
    Slice.objects.filter(placement_id__in=placement_ids).delete()
    CoreBooking.objects.filter(placement_id__in=placement_ids).delete()


def part_mib(device: Device | DeviceInfo, compute_milli: int) -> int:
    """The memory that goes with a share of compute; 0 of a device of unknown size."""
    whole_mib = allocatable_mib(device.memory_total_mib, device.memory_reserved_mib or 0)
    return max(0, whole_mib) * compute_milli // WHOLE_MILLI


def book_sizes(device_ids: Collection[int]) -> None:
    """Book its part of the memory for what was booked of these devices while nobody knew their size. Call in the
    transaction that holds their rows: apply waits for it, and slices that are locked are being given back. Memory that
    several slices of a device share belongs to none of them alone.
    """
    found = Slice.objects.filter(device_id__in=device_ids, device__memory_group=None, memory_mib=0)
    rows = list(found.select_related("device").select_for_update(of=("self",), skip_locked=True))
    for row in rows:
        row.memory_mib = part_mib(row.device, row.compute_milli)
    Slice.objects.bulk_update(rows, ["memory_mib"])

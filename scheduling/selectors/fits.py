"""What one device could run now (requirement I6): the waiting jobs that fit, and the most that could be asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import F

from controlplane.accounts.models import User
from controlplane.accounts.scoping import visible_to
from queues.models import Job
from scheduling.engine.explain import DeviceFit, runnable_here, what_fits
from scheduling.engine.quantities import free_compute_milli
from scheduling.engine.types import NodeInfo
from scheduling.selectors.live import Live
from scheduling.wording import code_text

MOST_JOBS = 50


def fits(live: Live, device_id: int, user: User) -> dict[str, Any]:
    """Jobs are those that the caller may see, in order of service; KeyError when the device is not here. Two
    queries.
    """
    policy = live.policy.engine
    found = what_fits(live.state, device_id, num=policy.precheck_num, den=policy.precheck_den)
    ids = runnable_here(live.state, device_id, live.pending, policy)
    visible = set(visible_to(user, Job.objects.filter(pk__in=ids)).values_list("pk", flat=True))
    seen = [pk for pk in ids if pk in visible]
    return {
        "largest": _largest(found, live.state.info(found.node)),
        "code": None if found.code is None else found.code.value,
        "text": None if found.code is None else code_text(found.code),
        "jobs": _named(seen[:MOST_JOBS]),
        "jobs_total": len(seen),
    }


def _named(ids: Sequence[int]) -> list[dict[str, Any]]:
    rows = Job.objects.filter(pk__in=ids).values("id", "name", queue_name=F("queue__name"))
    named = {row["id"]: {"id": row["id"], "name": row["name"], "queue": row["queue_name"]} for row in rows}
    return [named[pk] for pk in ids if pk in named]


def _largest(found: DeviceFit, node: NodeInfo) -> dict[str, int | None]:
    """The device's side and the node's: a request must pass both."""
    device = next(one for one in node.devices if one.device == found.device)
    takes = found.code is None
    free = [cpu for cpu in node.cpus if cpu.online and not cpu.reserved and not cpu.booked]
    return {
        "alone_mib": found.alone_mib,
        "shared_mib": found.shared_mib,
        "compute_milli": free_compute_milli(device) if takes else 0,
        "cores": len(free) if takes else 0,
        "host_memory_mib": _memory_left(node) if takes else 0,
    }


def _memory_left(node: NodeInfo) -> int | None:
    """None where the node's memory is unknown, of which the engine books nothing."""
    return max(0, node.memory_mib - node.memory_booked_mib) if node.memory_mib else None

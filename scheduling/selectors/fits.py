"""What one device could run now (requirement I6): the waiting jobs that fit, and the most that could be asked of it."""

from __future__ import annotations

from typing import Any

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
    """Jobs are those that the caller may see, in order of service; KeyError when the device is not here. One query."""
    policy = live.policy.engine
    found = what_fits(live.state, device_id, num=policy.precheck_num, den=policy.precheck_den)
    ids = runnable_here(live.state, device_id, live.pending, policy)
    jobs = visible_to(user, Job.objects.filter(pk__in=ids)).select_related("queue").in_bulk()
    seen = [jobs[pk] for pk in ids if pk in jobs]
    return {
        "largest": _largest(found, live.state.info(found.node)),
        "code": None if found.code is None else found.code.value,
        "text": None if found.code is None else code_text(found.code),
        "jobs": [{"id": job.pk, "name": job.name, "queue": job.queue.name} for job in seen[:MOST_JOBS]],
        "jobs_total": len(seen),
    }


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
        "host_memory_mib": max(0, node.memory_mib - node.memory_booked_mib) if takes else 0,
    }

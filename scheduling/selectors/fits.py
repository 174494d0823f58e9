"""What one device could run now (requirement I6): the waiting jobs that fit, and the most that could be asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import F

from controlplane.accounts.models import User
from controlplane.accounts.scoping import visible_to
from queues.models import Job
from scheduling.engine.explain import DeviceFit, runnable_here, what_fits
from scheduling.engine.types import NodeInfo, PendingJob
from scheduling.pauses import Stop
from scheduling.selectors.live import Live, keeping, promised_before
from scheduling.wording import code_text, plain_sentence

MOST_JOBS = 50


def fits(live: Live, device_id: int, user: User) -> dict[str, Any]:
    """Jobs are those that the caller may see, in order of service, that no promise to another keeps from starting;
    KeyError when the device is not here. Three queries, five where something is promised.
    """
    policy = live.policy.engine
    found = what_fits(
        live.state,
        device_id,
        num=policy.precheck_num,
        den=policy.precheck_den,
        power_cap_mw=policy.power_cap_mw,
    )
    served = [job for job in live.pending if job.queue not in live.stopped]
    ids = _runnable(live, device_id, served)
    visible = set(visible_to(user, Job.objects.filter(pk__in=ids)).values_list("pk", flat=True))
    seen = [pk for pk in ids if pk in visible]
    code, text = _nothing(live, found)
    return {
        "largest": _largest(found, live.state.info(found.node), takes=code is None),
        "code": code,
        "text": text,
        "jobs": _named(seen[:MOST_JOBS]),
        "jobs_total": len(seen),
    }


def _runnable(live: Live, device_id: int, jobs: Sequence[PendingJob]) -> list[int]:
    policy = live.policy.engine
    found = runnable_here(live.state, device_id, jobs, policy)
    by_id = {job.job: job for job in jobs}
    kept = promised_before(live, [by_id[one] for one in found])
    if not kept:
        return list(found)
    places = dict.fromkeys(place for some in kept.values() for place in some)
    beside = set(runnable_here(keeping(live.state, places), device_id, jobs, policy))
    return [one for one in found if one not in kept or one in beside]


def _nothing(live: Live, found: DeviceFit) -> tuple[str | None, str | None]:
    """Why the device takes nothing at all, as code and sentence."""
    if Stop.CLUSTER in live.stopped.values():
        return Stop.CLUSTER.value, plain_sentence(Stop.CLUSTER).text
    return (None, None) if found.code is None else (found.code.value, code_text(found.code))


def _named(ids: Sequence[int]) -> list[dict[str, Any]]:
    rows = Job.objects.filter(pk__in=ids).values("id", "name", queue_name=F("queue__name"))
    named = {row["id"]: {"id": row["id"], "name": row["name"], "queue": row["queue_name"]} for row in rows}
    return [named[pk] for pk in ids if pk in named]


def _largest(found: DeviceFit, node: NodeInfo, *, takes: bool) -> dict[str, int | None]:
    """The device's side and the node's: a request must pass both."""
    kept = {cpu for hold in node.holds for cpu in hold.cpus}
    free = [one for one in node.cpus if one.online and not (one.reserved or one.booked or one.cpu in kept)]
    return {
        "alone_mib": found.alone_mib if takes else 0,
        "shared_mib": found.shared_mib if takes else 0,
        "compute_milli": found.compute_milli if takes else 0,
        "cores": len(free) if takes else 0,
        "host_memory_mib": _memory_left(node) if takes else 0,
    }


def _memory_left(node: NodeInfo) -> int | None:
    """None where the node's memory is unknown, of which the engine books nothing."""
    kept_mib = sum(hold.host_memory_mib for hold in node.holds)
    return max(0, node.memory_mib - node.memory_booked_mib - kept_mib) if node.memory_mib else None

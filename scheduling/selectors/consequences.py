"""What an edit of quotas would mean, before it is made: who holds more than would be allowed, and which waiting jobs
would start or wait. Nothing that runs is ever ended by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from controlplane.accounts.models import User
from controlplane.accounts.scoping import sees_everything, visible_teams
from queues.models import Queue
from scheduling.engine.quota import Quotas
from scheduling.engine.types import CapMiss, EnginePolicy, Plan, QueueInfo, TeamCap
from scheduling.selectors.bookings import named_jobs
from scheduling.selectors.caps import cap_names
from scheduling.selectors.live import live_view, situation_of
from scheduling.whatif import first_in_line, made_plan

Edit = Callable[[EnginePolicy], EnginePolicy]
# A person waits for the answer: of a longer line only the first are served.
MOST_JOBS = 2000
MOST_NAMED = 50


def consequences(edit: Edit, user: User) -> dict[str, Any]:
    """The situation now beside the one after the edit."""
    live = live_view()
    before = live.policy.engine
    after = edit(before)
    jobs = first_in_line((job for job in live.pending if job.queue not in live.stopped), before, MOST_JOBS)
    found = situation_of(live, jobs)
    now, then = (_starting(made_plan(replace(found, policy=policy))) for policy in (before, after))
    starts, waits = sorted(then - now), sorted(now - then)
    return {
        "considered": len(jobs),
        "over": [_over(miss) for miss in _seen(Quotas(live.state, after).exceeded(), user)],
        "starts": named_jobs(starts[:MOST_NAMED], user),
        "starts_total": len(starts),
        "waits": named_jobs(waits[:MOST_NAMED], user),
        "waits_total": len(waits),
    }


def with_team_cap(queue: Queue, cap: TeamCap, *, gone: bool = False) -> Edit:
    """The edit that sets or takes away one quota of a team or one share of a member."""

    def same(other: TeamCap) -> bool:
        return (other.team, other.model, other.owner) == (cap.team, cap.model, cap.owner)

    def edited(info: QueueInfo) -> QueueInfo:
        if info.queue != queue.pk:
            return info
        left = tuple(other for other in info.team_caps if not same(other))
        return replace(info, team_caps=left if gone else (*left, cap))

    return lambda policy: replace(policy, queues=tuple(edited(info) for info in policy.queues))


def _starting(plan: Plan) -> set[int]:
    return {placed.job for placed in plan.placed}


def _seen(misses: list[CapMiss], user: User) -> list[CapMiss]:
    """Caps of queues, and those of the teams that the caller may see."""
    if sees_everything(user):
        return misses
    teams = {None, *visible_teams(user).values_list("pk", flat=True)}
    return [miss for miss in misses if miss.team in teams]


def _over(miss: CapMiss) -> dict[str, Any]:
    names = cap_names(miss)
    return {
        "kind": miss.kind.value,
        "queue": names.queue,
        "team": names.team or None,
        "owner": names.owner or None,
        "model": miss.model,
        "unit": "core-milli" if miss.of_cores else "device-milli",
        "cap_milli": miss.cap_milli,
        "held_milli": miss.held_milli,
    }

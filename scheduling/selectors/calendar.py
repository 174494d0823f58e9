"""What the coming days bring: windows and hours of the policy, promised starts, deadlines of drained nodes, and how
much should be free when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from controlplane.accounts.models import User
from controlplane.base import clock
from controlplane.policy.document import IdleRule, Power, ValleyWindow
from controlplane.policy.hours import MINUTES_OF_DAY, minutes_between
from inventory.models import Node, NodeState
from scheduling.deferring import coming_windows
from scheduling.engine.modelnames import matches
from scheduling.engine.types import NodeInfo, Reservation
from scheduling.estimates import Basis, expected_ends, expected_runs
from scheduling.forecast import Start, forecast, moments
from scheduling.models import LIVE_PHASES, Placement, Promise
from scheduling.promises import load_promises
from scheduling.selectors.bookings import named_jobs
from scheduling.selectors.live import Live
from scheduling.simulator.windows import Valley

MOST_SHOWN = 200
MINUTE = timedelta(minutes=1)
WORKDAYS = 5
# Out of service by an operator's word, and so with a time of their own.
BY_OPERATOR = (NodeState.DRAINING, NodeState.MAINTENANCE)

Span = tuple[datetime, datetime]


def valley_spans(window: ValleyWindow, now: datetime, days: int) -> list[Span]:
    """When deferrable jobs may start."""
    return coming_windows(window, now, days=days)


def peak_spans(rule: IdleRule, zone: str, now: datetime, days: int) -> list[Span]:
    """What is neither off-peak by the clock nor a weekend, by the clocks of the zone, DST or not."""
    until, local = now + timedelta(days=days), ZoneInfo(zone)
    quiet = Valley(time.fromisoformat(rule.from_), time.fromisoformat(rule.to), local)
    always = rule.from_ == rule.to
    spans, at = [], now
    while at < until:
        end = min(until, _next_change(quiet, at, local))
        day = at.astimezone(local).weekday()
        if not (rule.weekends and day >= WORKDAYS) and (always or not quiet.is_open(clock.to_ms(at))):
            spans.append((at, end))
        at = end
    return _joined(spans)


def _next_change(quiet: Valley, at: datetime, local: ZoneInfo) -> datetime:
    """The next moment at which off-peak begins or ends, or a day does."""
    midnight = datetime.combine(at.astimezone(local).date() + timedelta(days=1), time(), local)
    change = midnight if quiet.start == quiet.end else clock.from_ms(quiet.next_change_ms(clock.to_ms(at)))
    return max(min(midnight, change), at + MINUTE)


def _joined(spans: list[Span]) -> list[Span]:
    found: list[Span] = []
    for first, last in spans:
        if found and found[-1][1] == first:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found


def power_spans(power: Power, now: datetime, days: int) -> list[dict[str, Any]]:
    """The caps on power one after the other, where the policy has any."""
    if power.cap_w is None and not power.hours:
        return []
    until, zone, by_minute = now + timedelta(days=days), ZoneInfo(power.time_zone), _cap_by_minute(power)
    found: list[dict[str, Any]] = []
    at = now
    while at < until:
        local = at.astimezone(zone)
        cap = by_minute[60 * local.hour + local.minute]
        # Caps change on full minutes only.
        after = at.replace(second=0, microsecond=0) + MINUTE
        if found and found[-1]["cap_w"] == cap:
            found[-1]["closes_at"] = min(after, until)
        else:
            found.append({"opens_at": at, "closes_at": min(after, until), "cap_w": cap})
        at = after
    return found


def _cap_by_minute(power: Power) -> list[int | None]:
    """The cap of every minute of the day."""
    caps = [power.cap_w] * MINUTES_OF_DAY
    for hours in power.hours:
        for minute in minutes_between(hours.from_, hours.to):
            caps[minute] = hours.cap_w
    return caps


def promised(user: User) -> tuple[list[dict[str, Any]], int]:
    """The first promised starts, soonest first, and how many there are; names of foreign jobs are null."""
    rows = Promise.objects.order_by("starts_at", "pk").select_related("node")
    shown = list(rows[:MOST_SHOWN])
    names = {one["job"]: one["name"] for one in named_jobs([row.job_id for row in shown], user)}
    found = [
        {
            "job": row.job_id,
            "name": names.get(row.job_id),
            "replica": row.replica,
            "node": row.node_id,
            "node_name": row.node.name,
            "starts_at": row.starts_at,
        }
        for row in shown
    ]
    return found, rows.count()


def out_of_service() -> tuple[list[dict[str, Any]], int]:
    """Nodes that an operator drains or maintains, soonest deadline first, and how many there are; two queries."""
    nodes = Node.objects.filter(state__in=BY_OPERATOR).order_by("drain_deadline", "name")
    columns = ("pk", "name", "state", "state_reason", "state_since", "drain_deadline")
    found = [
        {
            "node": pk,
            "node_name": name,
            "state": state,
            "reason": reason,
            "since": since,
            "deadline": deadline,
        }
        for pk, name, state, reason, since, deadline in nodes.values_list(*columns)[:MOST_SHOWN]
    ]
    return found, nodes.count()


def forecast_view(live: Live, *, hours: int, models: Sequence[str]) -> dict[str, Any]:
    """What should be free now and at every full hour, and what that is known from."""
    infos = list(live.state.infos)
    ends = expected_ends()
    starts = _starts(load_promises(), infos, live.now_ms)
    points = forecast(
        infos,
        [(end.release.at_ms, end.release) for end in ends],
        starts,
        at_ms=moments(live.now_ms, hours),
        model=_named(models),
    )
    known = {basis: sum(end.basis is basis for end in ends) for basis in (Basis.TIME_LIMIT, Basis.HISTORY)}
    running = Placement.objects.filter(phase__in=LIVE_PHASES).count()
    return {
        "models": list(models),
        "by_time_limit": known[Basis.TIME_LIMIT],
        "by_history": known[Basis.HISTORY],
        "end_unknown": max(0, running - len(ends)),
        "promised": len(starts),
        "points": [
            {
                "at": clock.from_ms(point.at_ms),
                "free_device_milli": point.free_milli,
                "free_devices": point.free_devices,
                "free_core_milli": 1000 * point.free_cores,
                "unknown_device_milli": point.unknown_milli,
                "unknown_core_milli": 1000 * point.unknown_cores,
            }
            for point in points
        ],
    }


def _starts(promises: Sequence[Reservation], infos: Sequence[NodeInfo], now_ms: int) -> list[Start]:
    """Promised places, and places kept for jobs whose victims leave: those start at once."""
    kept = [
        (now_ms, Reservation(hold.job, info.node, now_ms, hold.slices, hold.cpus))
        for info in infos
        for hold in info.holds
    ]
    places = [*((max(now_ms, one.starts_at_ms), one) for one in promises), *kept]
    runs = expected_runs(sorted({place.job for _at, place in places}))
    lengths = {job: run.runs_ms for job, run in runs.items()}
    return [
        Start(at, place, None if (ms := lengths.get(place.job)) is None else at + ms) for at, place in places
    ]


def _named(models: Sequence[str]) -> Callable[[str | None], bool]:
    if not models:
        return lambda model: True
    return lambda model: model is not None and any(matches(name, model) for name in models)

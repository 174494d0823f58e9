"""What one team has of the cluster: now by queue and by member, day by day before, and how long its jobs waited."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection
from django.db.models import Count, Min, Q, Sum

from controlplane.accounts.models import Membership, Team
from controlplane.base import clock
from queues.models import Job, JobStatus, Queue
from scheduling.models import LIVE_PHASES, CoreBooking, Placement, Slice
from scheduling.selectors.shares import CORE_MILLI, NO_WAITS, in_seconds

DAY = timedelta(days=1)
WAITING = (JobStatus.PENDING, JobStatus.HELD)
# Who is asked to leave runs until it has left.
UNDER_WAY = (JobStatus.STARTING, JobStatus.RUNNING, JobStatus.SUSPENDING, JobStatus.PREEMPTING)
# Of every day and queue: device-milli x hours, and core-milli x hours of jobs without devices. A placement counts from
# its assignment to its end, since it books all that time.
HELD = """
SELECT span.day, job.queue_id,
       sum(placement.device_milli * held.hours),
       sum(CASE WHEN placement.device_milli = 0 THEN 1000 * jsonb_array_length(placement.cpus) * held.hours ELSE 0 END)
FROM scheduling_placement AS placement
JOIN queues_job AS job ON job.id = placement.job_id
JOIN unnest(%(days)s::date[], %(starts)s::timestamptz[], %(ends)s::timestamptz[]) AS span (day, starts_at, ends_at)
  ON placement.assigned_at < span.ends_at AND coalesce(placement.ended_at, %(now)s) > span.starts_at
CROSS JOIN LATERAL (
    SELECT extract(epoch FROM least(coalesce(placement.ended_at, %(now)s), span.ends_at)
                   - greatest(placement.assigned_at, span.starts_at))::float8 / 3600 AS hours
) AS held
WHERE job.team_id = %(team)s AND (placement.phase = ANY(%(live)s) OR placement.ended_at > %(since)s)
GROUP BY 1, 2
"""
WAITS = """
SELECT queue_id, count(*), avg(waited_ms),
       percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY waited_ms)
FROM (SELECT queue_id, held_ms + pending_ms + image_pull_ms + start_ms AS waited_ms
      FROM queues_job WHERE team_id = %s AND started_at >= %s AND started_at < %s) AS started
GROUP BY queue_id
"""
NO_TIME = (0.0, 0.0)


@dataclass(frozen=True)
class Days:
    """Whole days by the clocks of a zone, of 23 to 25 hours; the last one may not be over."""

    days: Sequence[date]
    zone: ZoneInfo

    @classmethod
    def ending(cls, last: date, count: int, zone: ZoneInfo) -> Days:
        return cls([last - DAY * back for back in range(count - 1, -1, -1)], zone)

    def starts(self, day: date) -> datetime:
        """Midnight; where the clocks skip it, the moment they skip."""
        return datetime.combine(day, time(), self.zone)

    @property
    def since(self) -> datetime:
        return self.starts(self.days[0])

    @property
    def until(self) -> datetime:
        return self.starts(self.days[-1] + DAY)


def today(zone: ZoneInfo) -> date:
    """The day it is by the clocks of a zone."""
    return clock.now().astimezone(zone).date()


def use_of(team: Team, days: Days) -> dict[str, Any]:
    """Now by queue, the days, and the waits of the jobs that started in them; eight queries."""
    names = dict(Queue.objects.order_by("-priority", "name").values_list("pk", "name"))
    now = _now_by(team, "queue_id")
    waits = _waits(team, days)
    known = Placement.objects.aggregate(first=Min("assigned_at"))["first"]
    return {
        "team": team.slug,
        "time_zone": days.zone.key,
        "known_since": known,
        "now": [{"queue": name, **now.get(pk, NOTHING)} for pk, name in names.items() if pk in now],
        "days": _days(team, days, names, known),
        "waits": [{"queue": name, **waits.get(pk, NO_WAITS)} for pk, name in names.items() if pk in waits],
    }


NOTHING = {"device_milli": 0, "core_milli": 0, "running": 0, "waiting": 0}


def _now_by(team: Team, column: str) -> dict[int, dict[str, int]]:
    """What its jobs hold and how many there are, by a column of theirs; three queries."""
    held: dict[int, dict[str, int]] = defaultdict(lambda: dict(NOTHING))
    slices = Slice.objects.filter(placement__job__team=team).order_by()
    for key, milli in slices.values_list(f"placement__job__{column}").annotate(Sum("compute_milli")):
        held[key]["device_milli"] = milli
    alone = CoreBooking.objects.filter(placement__slices=None, placement__job__team=team).order_by()
    for key, cores in alone.values_list(f"placement__job__{column}").annotate(Count("id")):
        held[key]["core_milli"] = CORE_MILLI * cores
    live = Job.objects.filter(team=team, status__in=[*WAITING, *UNDER_WAY]).order_by()
    counts = live.values_list(column).annotate(
        runs=Count("id", filter=Q(status__in=UNDER_WAY)), waits=Count("id", filter=Q(status__in=WAITING))
    )
    for key, running, waiting in counts:
        held[key] |= {"running": running, "waiting": waiting}
    return dict(held)


def _days(team: Team, days: Days, names: dict[int, str], known: datetime | None) -> list[dict[str, Any]]:
    """Oldest first. What was before the first placement of the cluster is not known."""
    found = _held(team, days)
    return [
        {"day": day, "device_hours": None, "core_hours": None, "queues": []}
        if known is None or days.starts(day + DAY) <= known
        else _day(day, {name: found.get((day, pk), NO_TIME) for pk, name in names.items()})
        for day in days.days
    ]


def _day(day: date, by_queue: dict[str, tuple[float, float]]) -> dict[str, Any]:
    return {
        "day": day,
        "device_hours": _hours(sum(devices for devices, _cores in by_queue.values())),
        "core_hours": _hours(sum(cores for _devices, cores in by_queue.values())),
        "queues": [
            {"queue": name, "device_hours": _hours(devices), "core_hours": _hours(cores)}
            for name, (devices, cores) in by_queue.items()
            if devices or cores
        ],
    }


def _hours(milli_hours: float) -> float:
    return round(milli_hours / CORE_MILLI, 3)


def _held(team: Team, days: Days) -> dict[tuple[date, int], tuple[float, float]]:
    params: dict[str, Any] = {
        "team": team.pk,
        "days": list(days.days),
        "starts": [days.starts(day) for day in days.days],
        "ends": [days.starts(day + DAY) for day in days.days],
        "since": days.since,
        "now": clock.now(),
        "live": list(LIVE_PHASES),
    }
    with connection.cursor() as cursor:
        cursor.execute(HELD, params)
        return {(day, queue): (float(d), float(c)) for day, queue, d, c in cursor.fetchall()}


def _waits(team: Team, days: Days) -> dict[int, dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(WAITS, [team.pk, days.since, days.until])
        return {queue: in_seconds(count, mean, marks) for queue, count, mean, marks in cursor.fetchall()}


def member_views(team: Team, members: Sequence[Membership]) -> list[dict[str, Any]]:
    """What each of these members, given with their users and shares, may hold and holds; three queries."""
    now = _now_by(team, "owner_id")
    return [
        {
            "username": member.user.username,
            "role": member.role,
            "shares": [
                {
                    "quota": share.quota_id,
                    "queue": share.quota.queue.name,
                    "model": share.quota.model or None,
                    "share_milli": share.share_milli,
                }
                for share in member.user.quota_shares.all()
                if share.quota.team_id == team.pk
            ],
            **now.get(member.user_id, NOTHING),
        }
        for member in members
    ]

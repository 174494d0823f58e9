"""The live placements as the engine sees them when it promises places or looks for victims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q

from controlplane.base import clock
from controlplane.policy.active import active_policy
from inventory.models import Device
from scheduling.engine.types import Running, SliceChoice
from scheduling.estimates import Kind, usual_run_times
from scheduling.models import LIVE_PHASES, Phase, Placement, Slice

# Reading all placements costs about as much as reading all nodes.
READ_EVERY = timedelta(seconds=10)
MEASURED_FOR = timedelta(minutes=2)
LEAST_GUESS = timedelta(minutes=10)
OF_THE_JOB = {
    "team": F("job__team_id"),
    "queue": F("job__queue_id"),
    "owner": F("job__owner_id"),
    "name": F("job__name"),
    "template": F("job__template"),
    "priority": F("job__priority"),
    "time_limit_s": F("job__spec__time_limit_s"),
    "checkpoint": F("job__spec__checkpoint"),
}
COLUMNS = (
    "id",
    "job_id",
    "attempt",
    "node_id",
    "phase",
    "assigned_at",
    "running_at",
    "cpus",
    "host_memory_mib",
    "read_bandwidth_mib_s",
    "borrowed",
    "spared_until",
    *OF_THE_JOB,
)
Row = dict[str, Any]


@dataclass
class RunningCache:
    """What was read last in this process."""

    rows: tuple[Running, ...] = ()
    read_at: datetime | None = field(default=None)

    def load(self) -> tuple[Running, ...]:
        """All live placements, read again every READ_EVERY."""
        now = clock.now()
        if self.read_at is None or not timedelta() <= now - self.read_at < READ_EVERY:
            self.rows, self.read_at = load_running(), now
        return self.rows

    def forget(self) -> None:
        """Read them anew next time."""
        self.read_at = None


def load_running() -> tuple[Running, ...]:
    """All live placements in the order of their ids; four queries."""
    live = Placement.objects.filter(phase__in=LIVE_PHASES).order_by("pk")
    rows = list(live.annotate(**OF_THE_JOB).values(*COLUMNS))
    slices: dict[int, list[SliceChoice]] = {}
    parts = Slice.objects.order_by("pk").values_list(
        "placement_id", "device_id", "memory_mib", "compute_milli"
    )
    for placement, *part in parts:
        slices.setdefault(placement, []).append(SliceChoice(*part))
    unlimited = {kind_of(row) for row in rows if row["time_limit_s"] is None}
    usual = usual_run_times(unlimited) if unlimited else {}
    busy, now = _busy_devices(), clock.now()
    return tuple(_running(row, tuple(slices.get(row["id"], ())), _Facts(usual, busy, now)) for row in rows)


@dataclass(frozen=True)
class _Facts:
    """What is known beside a placement's own row; of `busy` devices we know that they have something to do, or know
    nothing.
    """

    usual: Mapping[Kind, timedelta]
    busy: frozenset[int]
    now: datetime
    min_run: timedelta = field(
        default_factory=lambda: timedelta(seconds=active_policy().preemption.min_run_s)
    )


def _busy_devices() -> frozenset[int]:
    """Of devices that jobs hold; all but those that were measured of late below the limit of the policy. One query."""
    limit = active_policy().preemption.idle_device_percent
    booked = Device.objects.filter(slices__isnull=False)
    since = clock.now() - MEASURED_FOR
    idle = Q(reading__at__gte=since, reading__utilization_pct__lt=limit)
    return frozenset(booked.exclude(idle).values_list("pk", flat=True))


def kind_of(row: Row) -> Kind:
    """Jobs of one kind usually run as long."""
    return Kind(row["team"], row["queue"], row["name"], row["template"])


def _running(row: Row, slices: tuple[SliceChoice, ...], facts: _Facts) -> Running:
    now, leaves = facts.now, row["phase"] in (Phase.CHECKPOINTING, Phase.STOPPING)
    ran = None if row["running_at"] is None else max(timedelta(), now - row["running_at"])
    return Running(
        job=row["job_id"],
        attempt=row["attempt"],
        node=row["node_id"],
        queue=row["queue"],
        team=row["team"],
        owner=row["owner"],
        slices=slices,
        cpus=tuple(row["cpus"]),
        host_memory_mib=row["host_memory_mib"],
        read_bandwidth_mib_s=row["read_bandwidth_mib_s"],
        ends_at_ms=clock.to_ms(expected_end(row, facts.usual.get(kind_of(row)), now)),
        priority=row["priority"],
        started=row["phase"] not in (Phase.ASSIGNED, Phase.PREPARING),
        borrowed=row["borrowed"],
        idle=bool(slices) and ran is not None and all(part.device not in facts.busy for part in slices),
        checkpointable=row["checkpoint"] is not None,
        spared=leaves
        or is_spared(row["spared_until"], row["attempt"], ran=ran, now=now, min_run=facts.min_run),
        # What is at stake should its checkpoint fail.
        lost_work_ms=None if ran is None else int(ran.total_seconds() * 1000),
        leaving=leaves,
    )


def is_spared(
    spared_until: datetime | None,
    attempt: int,
    *,
    ran: timedelta | None,
    now: datetime,
    min_run: timedelta,
) -> bool:
    """One that had to leave before, or refused to, is left alone for a while; `ran` is None where it has not
    started.
    """
    if spared_until is not None and spared_until > now:
        return True
    return attempt > 1 and ran is not None and ran < min_run


def expected_end(row: Row, usually: timedelta | None, now: datetime) -> datetime:
    """The end by its time limit, else by how long such jobs run; one that runs longer than they do, or of which nobody
    knows, is taken to run as long again as it did.
    """
    started = row["running_at"] or row["assigned_at"]
    if row["time_limit_s"] is not None:
        return started + timedelta(seconds=row["time_limit_s"])
    if usually is not None and started + usually > now:
        return started + usually
    return now + max(LEAST_GUESS, now - started)

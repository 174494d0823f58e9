"""Capacity that is given, kept or promised beyond the moment, and whom it is taken from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from scheduling.engine.bounds import (
    LEAST_ID,
    MOST_ID,
    MOST_MIB,
    MOST_MILLI,
    MOST_MS,
    Bounds,
    check_ids,
    check_once,
)

_OF_SLICE = Bounds(
    ("device", LEAST_ID, MOST_ID), ("memory_mib", 0, MOST_MIB), ("compute_milli", 0, MOST_MILLI)
)
_AMOUNTS = (("host_memory_mib", 0, MOST_MIB), ("read_bandwidth_mib_s", 0, MOST_MIB))
_IDS = tuple((name, LEAST_ID, MOST_ID) for name in ("job", "node", "queue", "team", "owner"))
_OF_HOLD = Bounds(
    ("job", LEAST_ID, MOST_ID), *_AMOUNTS, ("until_ms", -MOST_MS, MOST_MS), optional=("until_ms",)
)
_OF_RESERVATION = Bounds(*_IDS, *_AMOUNTS, ("starts_at_ms", -MOST_MS, MOST_MS), ("replica", 0, MOST_ID))
_OF_RUNNING = Bounds(
    *_IDS,
    *_AMOUNTS,
    ("attempt", 0, MOST_ID),
    ("priority", LEAST_ID, MOST_ID),
    ("ends_at_ms", -MOST_MS, MOST_MS),
    ("lost_work_ms", 0, MOST_MS),
    optional=("ends_at_ms", "lost_work_ms"),
)


@dataclass(frozen=True, slots=True)
class SliceChoice:
    """A booked share of one device. Bad values raise ValueError naming the field, as everywhere here."""

    device: int
    memory_mib: int
    compute_milli: int

    def __post_init__(self) -> None:
        _OF_SLICE.check(self)


def _check_parts(slices: Sequence[SliceChoice], cpus: Sequence[int]) -> None:
    check_ids("cpus", cpus)
    check_once("cpus", cpus)
    check_once("slices", [each.device for each in slices])


@dataclass(frozen=True, slots=True)
class Hold:
    """Free capacity of a node that is kept for one job: it is hidden from everybody else, and the job may use it.

    The caller leaves a hold out once it is over; `until_ms` says when that will be (None: until it is dropped).
    What a hold names beyond what is free is not held. Queue, team and owner are the job's: the whole place counts under
    their caps at once, but for the job itself.
    """

    job: int
    slices: tuple[SliceChoice, ...] = ()
    cpus: tuple[int, ...] = ()
    host_memory_mib: int = 0
    read_bandwidth_mib_s: int = 0
    until_ms: int | None = None
    queue: int = 0
    team: int = 0
    owner: int = 0

    def __post_init__(self) -> None:
        _OF_HOLD.check(self)
        _check_parts(self.slices, self.cpus)


@dataclass(frozen=True, slots=True)
class Reservation:
    """The place and the time at which a replica of a waiting job is promised its start; others may only run there until
    then. Queue, team and owner are the job's: what it will hold counts under their caps at once.
    """

    job: int
    node: int
    starts_at_ms: int
    slices: tuple[SliceChoice, ...] = ()
    cpus: tuple[int, ...] = ()
    host_memory_mib: int = 0
    read_bandwidth_mib_s: int = 0
    replica: int = 0
    queue: int = 0
    team: int = 0
    owner: int = 0

    def __post_init__(self) -> None:
        _OF_RESERVATION.check(self)
        _check_parts(self.slices, self.cpus)


@dataclass(frozen=True, slots=True)
class Running:
    """One live placement and when it should end (None: nobody knows, which then is not counted on).

    `started`: its process runs. `idle`: its devices are measured and have nothing to do. `checkpointable`: it can be
    asked to keep its work; `lost_work_ms` is what a restart costs all the same, None when unknown. `spared`: it is not
    to be disturbed yet. `leaving`: it was told to go, or asked to.
    """

    job: int
    attempt: int
    node: int
    queue: int
    team: int
    owner: int
    slices: tuple[SliceChoice, ...] = ()
    cpus: tuple[int, ...] = ()
    host_memory_mib: int = 0
    read_bandwidth_mib_s: int = 0
    ends_at_ms: int | None = None
    priority: int = 0
    started: bool = True
    idle: bool = False
    borrowed: bool = False
    checkpointable: bool = False
    spared: bool = False
    lost_work_ms: int | None = None
    leaving: bool = False

    def __post_init__(self) -> None:
        _OF_RUNNING.check(self)
        _check_parts(self.slices, self.cpus)


class PreemptionCause(StrEnum):
    """Why this placement has to yield, in the order in which capacity is reclaimed."""

    UNSTARTED = "unstarted"
    IDLE = "idle"
    BORROWED = "borrowed"
    CHEAPEST = "cheapest"


@dataclass(frozen=True, slots=True)
class Preemption:
    """One placement that is asked to yield its capacity to a job; `lost_work_ms` is what a restart from its last
    checkpoint costs, None when unknown.
    """

    job: int
    attempt: int
    node: int
    for_job: int
    cause: PreemptionCause
    lost_work_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time, as moments: whoever knows the time zone worked them out. The end is not part of it."""

    opens_at_ms: int
    closes_at_ms: int

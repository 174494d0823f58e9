"""Job status from what people want and how far the system got: one pure function, the only place that knows
the rules.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Stage(StrEnum):
    """How far the present attempt got, as far as a job's status depends on it."""

    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"


class Ending(StrEnum):
    """Why an attempt ended, as a closed set (ExitClass without what concerns the job as a whole)."""

    SUCCESS = "success"
    EXIT_CODE = "exit-code"
    SIGNAL = "signal"
    START_FAILED = "start-failed"
    TIME_LIMIT = "time-limit"
    LOST_PROCESS = "lost-process"
    NODE_LOST = "node-lost"
    DEVICE_FAILED = "device-failed"
    DRAINED = "drained"
    REQUEUED = "requeued"


class Gate(StrEnum):
    """What keeps a job from waiting for a place."""

    PERSON = "person"
    DEPENDENCY = "dependency"
    BACK_OFF = "back-off"
    SLOT = "slot"
    WINDOW = "window"


class Next(StrEnum):
    """What follows for the job."""

    HELD = "held"
    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    PREEMPTING = "preempting"
    SUSPENDING = "suspending"
    SUSPENDED = "suspended"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Budget(StrEnum):
    """Which count a new attempt is taken from."""

    RETRIES = "retries"
    REQUEUES = "requeues"
    NOTHING = "nothing"


# What the job itself did wrong is tried again as often as its owner allows; what befell it is tried again on
# the house, within a bound.
OWN_FAULTS = frozenset({Ending.EXIT_CODE, Ending.SIGNAL, Ending.START_FAILED})
# What an owner may have tried again; a time limit only when asked for: more time would not come from it.
RETRIED = OWN_FAULTS | {Ending.TIME_LIMIT}
MISHAPS = frozenset({Ending.LOST_PROCESS, Ending.NODE_LOST, Ending.DEVICE_FAILED, Ending.DRAINED})
MOST_REQUEUES = 5


@dataclass(frozen=True)
class Situation:
    """All that a job's status depends on. `ending` is set when the stage is ENDED or LOST; `gate` keeps a job without
    an attempt under way from getting one; only `retried` endings are tried again, at once unless the job `backs_off`;
    one that `yields` gives its place to another job.
    """

    stage: Stage
    cancel_wanted: bool = False
    ending: Ending | None = None
    retries_left: int = 0
    requeues_left: int = 0
    suspend_wanted: bool = False
    gate: Gate | None = None
    retried: frozenset[Ending] = OWN_FAULTS
    backs_off: bool = False
    yields: bool = False


@dataclass(frozen=True)
class Derived:
    """The status that follows, the reason code of the event, and what a new attempt costs."""

    status: Next
    code: str
    new_attempt_from: Budget | None = None


def derive(now: Situation) -> Derived:
    """The status of a job that is not final yet; total over all situations."""
    if now.cancel_wanted:
        return Derived(Next.CANCELLED, "cancelled")
    if now.suspend_wanted:
        return _suspended(now)
    if now.stage is Stage.WAITING:
        return (
            Derived(Next.PENDING, "waiting") if now.gate is None else Derived(Next.HELD, held_code(now.gate))
        )
    if now.yields and now.stage in (Stage.STARTING, Stage.RUNNING):
        return Derived(Next.PREEMPTING, "preempt-asked")
    if now.stage is Stage.STARTING:
        return Derived(Next.STARTING, "placed")
    if now.stage is Stage.RUNNING:
        return Derived(Next.RUNNING, "started")
    return _after_end(now)


def held_code(gate: Gate) -> str:
    """The reason code of a job that is held by this gate."""
    return f"held-{gate.value}"


def _suspended(now: Situation) -> Derived:
    """A job that shall hold nothing: what ends meanwhile by itself ended, all else waits to be resumed."""
    if now.stage is Stage.WAITING:
        return Derived(Next.SUSPENDED, "suspended")
    if now.stage in (Stage.STARTING, Stage.RUNNING):
        return Derived(Next.SUSPENDING, "suspend-asked")
    ended = _after_end(now)
    if now.stage is Stage.LOST or now.ending in MISHAPS:
        return Derived(Next.SUSPENDED, "suspended", Budget.NOTHING)
    again = ended.status in (Next.PENDING, Next.HELD)
    return replace(ended, status=Next.SUSPENDED) if again else ended


def _after_end(now: Situation) -> Derived:
    ending = now.ending or (Ending.NODE_LOST if now.stage is Stage.LOST else Ending.LOST_PROCESS)
    if ending is Ending.SUCCESS:
        return Derived(Next.SUCCEEDED, ending.value)
    if ending is Ending.REQUEUED:
        return Derived(Next.PENDING, ending.value, Budget.NOTHING)
    if ending in now.retried & RETRIED and now.retries_left > 0:
        return Derived(Next.HELD if now.backs_off else Next.PENDING, ending.value, Budget.RETRIES)
    if ending in MISHAPS and now.requeues_left > 0:
        return Derived(Next.PENDING, ending.value, Budget.REQUEUES)
    return Derived(Next.FAILED, ending.value)

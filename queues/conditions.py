"""What a request says about when it may start and end: dependencies, retries, deadlines, arrays. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec

from controlplane.base.problems import Fault
from queues.derive import RETRIED, Ending
from queues.fields import Fields

MOST_DEPENDENCIES = 100
MOST_TASKS = 10_000
LONGEST_BACK_OFF_S = 3600
LARGEST_ID = 2**53 - 1


class AfterEnd(StrEnum):
    """How another job must end before this one may start."""

    OK = "ok"
    FAILED = "failed"
    ANY = "any"


class LateAction(StrEnum):
    """What becomes of a job that is not over by its latest finish."""

    END = "end"
    TELL = "tell"


class After(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One dependency: the job by number, and how it must end."""

    job: int
    ends: AfterEnd = AfterEnd.OK


class ArraySpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """So many tasks of one request, `at_once` of them under way at most (None: all)."""

    tasks: int
    at_once: int | None = None

    @property
    def under_way(self) -> int:
        """How many may be at once."""
        return min(self.tasks, self.at_once or self.tasks)


def read_conditions(top: Fields) -> dict[str, Any]:
    """The members of JobSpec that this module knows, as far as they are given."""
    retry_on = top.texts("retry_on", most=len(Ending), longest=20)
    for name in retry_on:
        if name not in RETRIED:
            top.refuse("retry_on", Fault.CHOICE, options=", ".join(sorted(RETRIED)))
            break
    return {
        "after": _after(top),
        "array": _array(top),
        "retry_on": sorted(set(retry_on)),
        "back_off_s": top.integer("back_off_s", low=0, high=LONGEST_BACK_OFF_S) or 0,
        "on_hold": top.boolean("on_hold") or False,
        "deferrable": _deferrable(top),
        "latest_start": read_moment(top, "latest_start"),
        "latest_finish": read_moment(top, "latest_finish"),
        "on_late": LateAction(top.choice("on_late", list(LateAction)) or LateAction.END),
    }


def _deferrable(top: Fields) -> bool:
    """Only what says how long it may take at most can be put off before a latest finish."""
    deferrable = top.boolean("deferrable") or False
    if not deferrable and top.given("latest_start"):
        top.refuse("latest_start", "not-deferrable")
    if (
        deferrable
        and top.given("latest_finish")
        and not (top.given("latest_start") or top.given("time_limit_s"))
    ):
        top.refuse("latest_finish", "time-limit-missing")
    return deferrable


def read_moment(top: Fields, name: str) -> str | None:
    """A moment with its offset, in normal form: UTC to the second."""
    text = top.text(name, longest=40)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        pass
    top.refuse(name, "not-a-moment")
    return None


def _after(top: Fields) -> list[After]:
    raw = top.value("after")
    if raw is None:
        return []
    if not isinstance(raw, list):
        top.refuse("after", Fault.TYPE, expected="list")
        return []
    if len(raw) > MOST_DEPENDENCIES:
        top.refuse("after", Fault.MAX_LENGTH, limit=MOST_DEPENDENCIES)
        return []
    found = [_one_after(top, index, item) for index, item in enumerate(raw)]
    kept = {one.job: one for one in found if one is not None}
    if len(kept) < len([one for one in found if one is not None]):
        top.refuse("after", Fault.REPEATED)
    return [kept[job] for job in sorted(kept)]


def _one_after(top: Fields, index: int, item: object) -> After | None:
    path = f"after[{index}]"
    if not isinstance(item, Mapping):
        top.refuse(path, Fault.TYPE, expected="object")
        return None
    part = Fields(item, path=path, errors=top.errors)
    job = part.integer("job", low=1, high=LARGEST_ID)
    if not part.given("job"):
        part.refuse("job", Fault.REQUIRED)
    ends = part.choice("ends", list(AfterEnd))
    part.refuse_unknown()
    return None if job is None else After(job=job, ends=AfterEnd(ends or AfterEnd.OK))


def _array(top: Fields) -> ArraySpec | None:
    raw = top.value("array")
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        top.refuse("array", Fault.TYPE, expected="object")
        return None
    part = Fields(raw, path="array", errors=top.errors)
    if not part.given("tasks"):
        part.refuse("tasks", Fault.REQUIRED)
    tasks = part.integer("tasks", low=1, high=MOST_TASKS)
    at_once = part.integer("at_once", low=1, high=MOST_TASKS)
    part.refuse_unknown()
    return None if tasks is None else ArraySpec(tasks=tasks, at_once=at_once)

"""When jobs that wait in a what-if would start, as far as that can be known while a person waits for the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from controlplane.accounts.models import User
from controlplane.base import clock
from scheduling.engine.state import ClusterState
from scheduling.engine.types import PendingJob
from scheduling.estimates import estimate_view, expected_ends
from scheduling.selectors.bookings import named_jobs
from scheduling.whatif import AtBest, Situation
from scheduling.wording import plain_sentence

MOST_ESTIMATED = 20
# A look at a large cluster under caps takes about a second: after this no other one is begun.
MOST_S = 2.0

# Of a job that does not wait.
NO_START: Mapping[str, Any] = {"start": None, "start_unknown": None}


class Unknown(StrEnum):
    """Why no start is told; the codes of the sentences that say so."""

    NEVER = "start-never"
    NO_END = "start-no-known-end"
    PROMISED = "start-promised"
    RECORDED = "start-recorded"
    NOT_TRIED = "start-not-tried"


def starts(
    situation: Situation, waiting: Sequence[PendingJob], user: User, *, is_recorded: bool
) -> dict[int, dict[str, Any]]:
    """By job `start`, or null, and why it is null. Ends of what ran when something was recorded are not known."""
    if not waiting:
        return {}
    ends, until_s = () if is_recorded else expected_ends(), clock.monotonic_s() + MOST_S
    state, at_best = ClusterState.build(situation.nodes), AtBest(situation.nodes, situation.policy, waiting)
    found = {}
    for place, job in enumerate(waiting):
        if place >= MOST_ESTIMATED or clock.monotonic_s() > until_s:
            found[job.job] = _unknown(Unknown.RECORDED if is_recorded else Unknown.NOT_TRIED)
        elif at_best.never_starts(job):
            found[job.job] = _unknown(Unknown.NEVER)
        elif is_recorded:
            found[job.job] = _unknown(Unknown.RECORDED)
        else:
            view = estimate_view(
                state, job, situation.policy, now_ms=situation.now_ms, pending=situation.jobs, ends=ends
            )
            named = view and {**view, "after_jobs": named_jobs(view["after_jobs"], user)}
            found[job.job] = _known(named) if named else _unknown(Unknown.NO_END)
    return found


def unknown_view(why: Unknown) -> dict[str, str]:
    """Why no start is told, as code and sentence."""
    sentence = plain_sentence(why)
    return {"code": sentence.code, "text": sentence.text}


def _known(view: dict[str, Any]) -> dict[str, Any]:
    return {"start": view, "start_unknown": None}


def _unknown(why: Unknown) -> dict[str, Any]:
    return {"start": None, "start_unknown": unknown_view(why)}

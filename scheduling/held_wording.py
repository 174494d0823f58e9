"""Sentences about what holds a job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext_lazy as _

from controlplane.base import clock
from controlplane.policy.active import active_policy
from queues.conditions import AfterEnd
from queues.derive import Gate, held_code
from queues.models import LIVE_STATUSES, Dependency, Job
from queues.spec import decode_spec
from scheduling.deferring import current_season
from scheduling.wording import Sentence, Text

PERSON = _("It is held until somebody releases it.")
BACK_OFF = _("It failed and is tried again in %(seconds)s s.")
WINDOW = _("It waits for a quieter time; the valley window opens in %(hours)s h %(minutes)s min.")
SOONER = _("It starts sooner when the cluster stays as idle as it is, in %(hours)s h %(minutes)s min.")
BY = _("It starts in %(hours)s h %(minutes)s min at the latest.")
SLOT = _("It is task %(index)s of its array, of which %(at_once)s are under way at once.")
AFTER: Mapping[AfterEnd, Text] = {
    AfterEnd.OK: _("It waits for job %(job)s to end well."),
    AfterEnd.FAILED: _("It waits for job %(job)s to fail."),
    AfterEnd.ANY: _("It waits for job %(job)s to end."),
}
MORE = _("So it does for %(more)s more.")


def open_dependencies(jobs: Iterable[Job]) -> Mapping[int, list[Dependency]]:
    """What held jobs still wait for, by job; one query, none where no job waits for another."""
    held = [job.pk for job in jobs if job.held_for == Gate.DEPENDENCY]
    found: dict[int, list[Dependency]] = {}
    if held:
        rows = Dependency.objects.filter(job__in=held, met_at=None).select_related("on").order_by("on_id")
        for row in rows:
            found.setdefault(row.job_id, []).append(row)
    return found


def held_sentence(job: Job, unmet: Mapping[int, list[Dependency]]) -> Sentence:
    """Why a held job does not wait for a place; `unmet` are its open dependencies, by job."""
    gate = Gate(job.held_for)
    code, params = held_code(gate), _params(job, gate, unmet.get(job.pk, []))
    if gate is Gate.DEPENDENCY:
        text = str(AFTER[AfterEnd(params["ends"])]) % params
        return Sentence(code, f"{text} {MORE % params}" if params["more"] else text, params)
    if gate is Gate.WINDOW:
        return Sentence(code, _window_text(params), params)
    template = {Gate.PERSON: PERSON, Gate.BACK_OFF: BACK_OFF, Gate.SLOT: SLOT}[gate]
    return Sentence(code, str(template) % params, params)


def _params(job: Job, gate: Gate, unmet: list[Dependency]) -> dict[str, Any]:
    if gate is Gate.BACK_OFF and job.not_before is not None:
        left_ms = clock.to_ms(job.not_before) - clock.now_ms()
        return {"seconds": max(0, -(-left_ms // 1000)), "until": job.not_before.isoformat()}
    if gate is Gate.SLOT:
        array = decode_spec(job.spec).array
        return {"index": job.array_index, "at_once": None if array is None else array.at_once}
    if gate is Gate.WINDOW:
        return _window_params(job)
    if gate is Gate.DEPENDENCY:
        return _first_dependency(unmet)
    return {}


def _window_params(job: Job) -> dict[str, Any]:
    """The moments that decide, as the API writes them; null where there is none."""
    found = current_season(active_policy().valley_window)
    moments = {"opens_at": found.opens_at, "early_at": found.early_at, "latest_start": job.latest_start}
    return {name: None if at is None else at.isoformat() for name, at in moments.items()}


def _window_text(params: Mapping[str, Any]) -> str:
    """When the window opens, and what may let the job start before or at the latest then."""
    now = clock.now()
    at = {name: None if text is None else datetime.fromisoformat(text) for name, text in params.items()}
    opens = at["opens_at"]
    texts = [] if opens is None else [str(WINDOW) % _span(opens - now)]
    for name, text in (("early_at", SOONER), ("latest_start", BY)):
        moment = at[name]
        if moment is not None and (opens is None or moment < opens):
            texts.append(str(text) % _span(moment - now))
    return " ".join(texts)


def _span(left: timedelta) -> dict[str, int]:
    minutes = max(0, -int(-left.total_seconds() // 60))
    return {"hours": minutes // 60, "minutes": minutes % 60}


def _first_dependency(unmet: list[Dependency]) -> dict[str, Any]:
    """The one that is waited for, live ones first, and how many there are besides."""
    live = [one for one in unmet if one.on.status in LIVE_STATUSES] or unmet
    if not live:
        return {"job": None, "ends": AfterEnd.ANY.value, "more": 0}
    return {"job": live[0].on_id, "ends": live[0].ends, "more": len(live) - 1}

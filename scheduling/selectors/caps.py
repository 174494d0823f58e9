"""Which cap keeps a job waiting and who holds what it allows, in the shape of the API."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.db.models import Count, Sum

from controlplane.accounts.models import Team, User
from queues.models import Queue
from scheduling.cap_wording import Names, cap_sentence
from scheduling.engine.modelnames import matches
from scheduling.engine.types import WHOLE_MILLI, CapMiss
from scheduling.models import LIVE_PHASES, Placement, Slice
from scheduling.selectors.bookings import named_jobs
from scheduling.wording import Sentence

MOST_HOLDERS = 10


def sentence_of(miss: CapMiss) -> Sentence:
    """The cap in words; three queries at most."""
    return cap_sentence(miss, cap_names(miss))


def cap_view(miss: CapMiss, user: User) -> dict[str, Any]:
    """The cap with the jobs that hold most under it; names of jobs of foreign teams are null. Six queries at most."""
    held, names = _held_by_job(miss), cap_names(miss)
    most = sorted(held, key=lambda job: (-held[job], job))[:MOST_HOLDERS]
    return {
        "kind": miss.kind.value,
        "queue": names.queue,
        "team": names.team or None,
        "owner": names.owner or None,
        "model": miss.model,
        "unit": "core-milli" if miss.of_cores else "device-milli",
        "cap_milli": miss.cap_milli,
        "held_milli": miss.held_milli,
        "asked_milli": miss.asked_milli,
        "holders": [{**named, "milli": held[named["job"]]} for named in named_jobs(most, user)],
        "holders_total": len(held),
    }


def cap_names(miss: CapMiss) -> Names:
    """What people call those whose cap it is; three queries at most."""
    queue = Queue.objects.values_list("name", flat=True).get(pk=miss.queue)
    team = "" if miss.team is None else Team.objects.values_list("slug", flat=True).get(pk=miss.team)
    owner = "" if miss.owner is None else User.objects.values_list("username", flat=True).get(pk=miss.owner)
    return Names(queue, team, owner)


def _held_by_job(miss: CapMiss) -> dict[int, int]:
    if miss.of_cores:
        alone = Placement.objects.filter(
            phase__in=LIVE_PHASES, slices=None, job__queue_id=miss.queue
        ).order_by()
        cores = alone.values_list("job_id").annotate(count=Count("core_bookings"))
        return {job: count * WHOLE_MILLI for job, count in cores}
    rows = Slice.objects.filter(placement__job__queue_id=miss.queue).order_by()
    if miss.team is not None:
        rows = rows.filter(placement__job__team_id=miss.team)
    if miss.owner is not None:
        rows = rows.filter(placement__job__owner_id=miss.owner)
    held: dict[int, int] = defaultdict(int)
    columns = ("placement__job_id", "device__model")
    for job, model, milli in rows.values_list(*columns).annotate(total=Sum("compute_milli")):
        if miss.model is None or (model is not None and matches(miss.model, model)):
            held[job] += milli
    return held

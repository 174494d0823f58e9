"""Jobs by what people type: an id, how a name begins, or a part of the name of a recent job."""

from __future__ import annotations

from django.db.models import Max, Q, QuerySet

from queues.models import Job

# What stands within a name has no index: it is looked for in so many newest jobs, and so many of them are found.
RECENT = 20_000
MOST_WITHIN = 500


def named(jobs: QuerySet[Job], text: str) -> QuerySet[Job]:
    """Those of `jobs` that `text` may mean; three queries with that of the caller, none of which reads all jobs."""
    newest = Job.objects.aggregate(newest=Max("pk"))["newest"] or 0
    within = jobs.filter(pk__gt=newest - RECENT, name__icontains=text).order_by("-pk")
    found = set(within.values_list("pk", flat=True)[:MOST_WITHIN])
    if text.isascii() and text.isdigit() and len(text) < 19:
        found.add(int(text))
    return jobs.filter(Q(name__istartswith=text) | Q(pk__in=found))

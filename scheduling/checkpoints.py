"""How long checkpoints of jobs that are over are kept on the nodes."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.db.models import Exists, OuterRef

from controlplane.base import clock
from controlplane.policy.active import active_policy
from queues.models import FINAL_STATUSES, Job
from scheduling.models import LIVE_PHASES, Placement


def jobs_over(node_id: int, asked: Collection[int]) -> list[int]:
    """Those of the jobs that were on this node, ended for good long enough ago and hold nothing anywhere. A job that is
    not known here is not over: a restored backup may know less than the nodes.
    """
    days = active_policy().retention.checkpoints_days
    here = Placement.objects.filter(job=OuterRef("pk"), node=node_id)
    live = Placement.objects.filter(job=OuterRef("pk"), phase__in=LIVE_PHASES)
    over = Job.objects.filter(
        Exists(here),
        ~Exists(live),
        pk__in=asked,
        status__in=FINAL_STATUSES,
        finished_at__lt=clock.now() - timedelta(days=days),
    )
    return list(over.order_by("pk").values_list("pk", flat=True))

"""Connects queues to the policy and to silences, below which nothing knows them."""

from __future__ import annotations

from controlplane.alerts.silences import know_subjects
from controlplane.policy.service import follow
from queues.models import Job
from queues.operations import sync_queues


def connect() -> None:
    """Called once per process."""
    follow(sync_queues)
    know_subjects("job", lambda pk: Job.objects.filter(pk=pk).exists())

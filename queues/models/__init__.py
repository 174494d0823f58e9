"""Who asks for what: queues, jobs, their events, and idempotency keys."""

from queues.models.array import JobArray
from queues.models.job import (
    FINAL_STATUSES,
    LIVE_STATUSES,
    WAITING_STATUSES,
    Dependency,
    ExitClass,
    Intent,
    Job,
    JobEvent,
    JobStatus,
)
from queues.models.lull import Lull
from queues.models.queue import Queue
from queues.models.quota import MemberShare, TeamQuota
from queues.models.submission import IdempotencyKey
from queues.models.template import JobTemplate

__all__ = [
    "FINAL_STATUSES",
    "LIVE_STATUSES",
    "WAITING_STATUSES",
    "Dependency",
    "ExitClass",
    "IdempotencyKey",
    "Intent",
    "Job",
    "JobArray",
    "JobEvent",
    "JobStatus",
    "JobTemplate",
    "Lull",
    "MemberShare",
    "Queue",
    "TeamQuota",
]

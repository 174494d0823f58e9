"""Who asks for what: queues, jobs, their events, and idempotency keys."""

from queues.models.job import ExitClass, Intent, Job, JobEvent, JobStatus
from queues.models.queue import Queue
from queues.models.submission import IdempotencyKey

__all__ = ["ExitClass", "IdempotencyKey", "Intent", "Job", "JobEvent", "JobStatus", "Queue"]

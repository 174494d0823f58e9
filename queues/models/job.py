"""Jobs and the events of their lives."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from controlplane.accounts.models import Team
from controlplane.base import clock
from queues.conditions import AfterEnd
from queues.derive import MOST_REQUEUES
from queues.models.array import JobArray
from queues.models.queue import Queue


class JobStatus(models.TextChoices):
    """What people see; derived from intent and placement phases, written only by queues/lifecycle."""

    HELD = "held"
    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    SUSPENDING = "suspending"
    SUSPENDED = "suspended"
    PREEMPTING = "preempting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL_STATUSES = (JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.CANCELLED)
# No attempt is under way, and one may begin without anybody asking.
WAITING_STATUSES = (JobStatus.HELD, JobStatus.PENDING)
LIVE_STATUSES = tuple(status for status in JobStatus if status not in FINAL_STATUSES)


class Intent(models.TextChoices):
    """What people want of a job."""

    RUN = "run"
    SUSPEND = "suspend"
    CANCEL = "cancel"


class ExitClass(models.TextChoices):
    """Why a job ended, as a closed set."""

    SUCCESS = "success"
    EXIT_CODE = "exit-code"
    SIGNAL = "signal"
    START_FAILED = "start-failed"
    TIME_LIMIT = "time-limit"
    CANCELLED = "cancelled"
    NODE_LOST = "node-lost"
    DEVICE_FAILED = "device-failed"
    DRAINED = "drained"
    LOST_PROCESS = "lost-process"
    DEPENDENCY = "dependency"
    DEADLINE = "deadline"
    REQUEUED = "requeued"


class Job(models.Model):
    """One job. `spec` is the normalised request (queues.spec.JobSpec as JSON) and never changes after
    submission.

    Waits are in milliseconds and add up over attempts: held, pending, image pull, start. `retries_left`
    is what the owner allowed for the job's own failures, `requeues_left` bounds new attempts after
    mishaps (node or process lost). `shape` follows the spec and the places to avoid (queues.shape), so it
    is rewritten with them. `priority` begins as in the spec and may be changed.

    `held_for` is the gate (queues.derive.Gate) that keeps a held job, `on_hold` the wish of a person that it be kept.
    `not_before` ends a back-off. A task of an array has its index, and a slot when it is its turn.
    A deferrable job is `deferred` while it waits for the valley window, at most until `latest_start`. A gang has
    several `replicas`; each attempt of it has so many placements.
    """

    name = models.CharField(max_length=200)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="jobs")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="jobs")
    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="jobs")
    spec = models.JSONField()
    shape = models.CharField(max_length=64)
    replicas = models.PositiveIntegerField(default=1)
    # The template it was made from, by name: jobs of one template are of one kind, whatever they are called.
    template = models.CharField(max_length=100, blank=True, default="", db_default="")
    priority = models.IntegerField(default=0)
    status = models.CharField(max_length=12, choices=JobStatus, default=JobStatus.PENDING)
    intent = models.CharField(max_length=10, choices=Intent, default=Intent.RUN)
    attempt = models.PositiveIntegerField(default=1)
    retries_left = models.PositiveIntegerField(default=0)
    requeues_left = models.PositiveIntegerField(default=MOST_REQUEUES)
    excluded_nodes = models.JSONField(default=list)
    excluded_devices = models.JSONField(default=list)
    previous_nodes = models.JSONField(default=list)
    submitted_at = models.DateTimeField(default=clock.now)
    pending_since = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True)
    latest_finish = models.DateTimeField(null=True)
    array = models.ForeignKey(
        JobArray, null=True, on_delete=models.PROTECT, related_name="jobs", db_index=False
    )
    array_index = models.PositiveIntegerField(null=True)
    deferrable = models.BooleanField(default=False)
    deferred = models.BooleanField(default=False)
    latest_start = models.DateTimeField(null=True)
    has_slot = models.BooleanField(default=True)
    on_hold = models.BooleanField(default=False)
    held_for = models.CharField(max_length=10, blank=True, default="")
    held_since = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    held_ms = models.BigIntegerField(default=0)
    pending_ms = models.BigIntegerField(default=0)
    image_pull_ms = models.BigIntegerField(default=0)
    start_ms = models.BigIntegerField(default=0)
    exit_code = models.IntegerField(null=True)
    exit_signal = models.IntegerField(null=True)
    exit_class = models.CharField(max_length=15, choices=ExitClass, null=True)
    exit_message = models.CharField(max_length=1000, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(attempt__gte=1), name="job_attempt_positive"),
            models.CheckConstraint(
                condition=Q(finished_at=None, status__in=LIVE_STATUSES)
                | Q(finished_at__isnull=False, status__in=FINAL_STATUSES),
                name="job_finished_when_final",
            ),
            models.CheckConstraint(
                condition=(Q(status=JobStatus.HELD) & ~Q(held_for=""))
                | (~Q(status=JobStatus.HELD) & Q(held_for="")),
                name="job_held_for_something",
            ),
        ]
        indexes = [
            models.Index(fields=["status", "queue"], condition=Q(status__in=LIVE_STATUSES), name="job_live"),
            models.Index(fields=["team", "-id"], name="job_team_recent"),
            models.Index(fields=["owner", "-id"], name="job_owner_recent"),
            models.Index(fields=["status", "-id"], name="job_status_recent"),
            models.Index(fields=["started_at"], condition=Q(started_at__isnull=False), name="job_started"),
            models.Index(fields=["finished_at"], condition=Q(finished_at__isnull=False), name="job_finished"),
            # How long jobs of one kind usually run.
            models.Index(
                fields=["team", "queue", "name", "finished_at"],
                condition=Q(status=JobStatus.SUCCEEDED),
                name="job_run_times",
            ),
            models.Index(
                fields=["team", "queue", "template", "finished_at"],
                condition=Q(status=JobStatus.SUCCEEDED) & ~Q(template=""),
                name="job_template_times",
            ),
            models.Index(
                fields=["array", "array_index"], condition=Q(array__isnull=False), name="job_of_array"
            ),
            models.Index(
                fields=["latest_finish"],
                condition=Q(latest_finish__isnull=False, status__in=LIVE_STATUSES),
                name="job_due",
            ),
            models.Index(
                fields=["latest_start"],
                condition=Q(deferrable=True, status__in=WAITING_STATUSES),
                name="job_deferrable",
            ),
            models.Index(fields=["not_before"], condition=Q(held_for="back-off"), name="job_backing_off"),
            models.Index(
                fields=["status"], condition=Q(replicas__gt=1, status__in=LIVE_STATUSES), name="job_live_gang"
            ),
        ]


class Dependency(models.Model):
    """A job that may start only when another has ended in a certain way; `met_at` once it has."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="dependencies")
    on = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="dependants")
    ends = models.CharField(max_length=6, choices=[(end.value, end.value) for end in AfterEnd])
    met_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "on"], name="dependency_once")]
        indexes = [models.Index(fields=["on"], condition=Q(met_at=None), name="dependency_open")]


class JobEvent(models.Model):
    """One transition or remark of a job, with its cause; written in the transaction that changed the job."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(default=clock.now)
    attempt = models.PositiveIntegerField()
    from_status = models.CharField(max_length=12, choices=JobStatus, null=True)
    to_status = models.CharField(max_length=12, choices=JobStatus)
    code = models.CharField(max_length=50)
    details = models.JSONField(default=dict)
    actor = models.CharField(max_length=150, blank=True)

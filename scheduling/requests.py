"""From stored jobs to what the engine sees of them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from django.db.models import Count

from controlplane.base import clock
from inventory.images.sizes import sizes_of
from queues.models import Intent, Job, JobStatus
from queues.shape import NOTHING_AVOIDED, Avoidance
from queues.spec import WHOLE_MILLI, JobSpec, decode_spec
from scheduling.engine.types import CpuClass, PendingJob, Request

MOST_REMEMBERED_SHAPES = 20_000
K = TypeVar("K", bound=Hashable)
# What a job has that waits for a place and may have one now.
OFFERED: Mapping[str, Any] = {"status": JobStatus.PENDING, "intent": Intent.RUN, "queue__pause": None}
PENDING_COLUMNS = (
    "id",
    "attempt",
    "queue_id",
    "team_id",
    "owner_id",
    "priority",
    "submitted_at",
    "replicas",
    "shape",
)


def request_of(spec: JobSpec, avoidance: Avoidance = NOTHING_AVOIDED) -> Request:
    """The engine's view of a specification."""
    resources = spec.resources
    return Request(
        devices=resources.devices,
        device_memory_mib=resources.device_memory_mib,
        # For the engine 0 is a share that follows from the memory.
        device_compute_milli=(resources.device_compute_milli or 0) if resources.shareable else WHOLE_MILLI,
        models=tuple(resources.device_models),
        splittable=resources.splittable,
        shareable=resources.shareable,
        cores=resources.cores,
        cpu_class=CpuClass(spec.cpu_class.value),
        host_memory_mib=resources.memory_mib,
        read_bandwidth_mib_s=resources.read_bandwidth_mib_s,
        node_labels=tuple(sorted(spec.node_labels.items())),
        node_sets=tuple(spec.node_sets),
        image=spec.image,
        datasets=tuple(spec.datasets),
        previous_nodes=tuple(avoidance.previous_nodes),
        excluded_nodes=tuple(avoidance.excluded_nodes),
        excluded_devices=tuple(avoidance.excluded_devices),
    )


def request_of_job(job: Job) -> Request:
    """The engine's view of one stored job."""
    avoidance = Avoidance(job.excluded_nodes, job.excluded_devices, job.previous_nodes)
    return request_of(decode_spec(job.spec), avoidance)


@dataclass
class RequestCache:
    """Requests by shape key; a shape names its request completely, so an entry never goes stale.

    Threads may share one: the dictionary is replaced, never changed, and a lost replacement is only read anew.
    """

    by_shape: Mapping[str, Request] = field(default_factory=dict)

    def load(self, shapes: Collection[str]) -> Mapping[str, Request]:
        """Requests of at least these shapes that are stored; one query for all that were not known."""
        known = self.by_shape
        missing = set(shapes) - known.keys()
        if not missing:
            return known
        if len(known) + len(missing) > MOST_REMEMBERED_SHAPES:
            known, missing = {}, set(shapes)
        jobs = Job.objects.filter(shape__in=missing).order_by("shape").distinct("shape")
        self.by_shape = known = {**known, **{job.shape: request_of_job(job) for job in jobs}}
        return known


def load_pending(cache: RequestCache) -> list[tuple[PendingJob, str]]:
    """All jobs that wait for a place and may have one now, each with its shape key; three queries at most."""
    rows = list(Job.objects.filter(**OFFERED).values_list(*PENDING_COLUMNS))
    requests = cache.load([row[-1] for row in rows])
    # A job whose shape changed between the two queries is looked at next time.
    known = {shape: requests[shape] for shape in {row[-1] for row in rows} & requests.keys()}
    known = sized_requests(known)
    return [(_pending(row, known[row[-1]]), row[-1]) for row in rows if row[-1] in known]


def count_pending(queues: Collection[int]) -> dict[int, int]:
    """How many jobs of these queues wait for a place, paused or not; one query, none without queues."""
    if not queues:
        return {}
    waiting = Job.objects.filter(status=JobStatus.PENDING, intent=Intent.RUN, queue_id__in=queues)
    return dict(waiting.order_by().values_list("queue_id").annotate(n=Count("id")))


def pending_job(job: Job) -> PendingJob:
    """One stored job for the engine."""
    row = tuple(getattr(job, name) for name in PENDING_COLUMNS)
    return _pending(row, sized(request_of_job(job)))


def sized(request: Request) -> Request:
    """The request with what is known of its image's size; not part of the shape, since it becomes known over time."""
    return sized_requests({"": request})[""]


def sized_requests(requests: Mapping[K, Request]) -> dict[K, Request]:
    """The same for many; one query."""
    sizes = sizes_of({request.image for request in requests.values() if request.image is not None})
    return {
        key: replace(request, image_mib=sizes[request.image]) if request.image in sizes else request
        for key, request in requests.items()
    }


def _pending(row: tuple, request: Request) -> PendingJob:
    job, attempt, queue, team, owner, priority, submitted_at, replicas, _shape = row
    return PendingJob(
        job=job,
        attempt=attempt,
        queue=queue,
        team=team,
        owner=owner,
        priority=priority,
        submitted_at_ms=clock.to_ms(submitted_at),
        request=request,
        replicas=replicas,
    )

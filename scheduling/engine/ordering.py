"""The order of service and the expected jobs that a plan is made for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from scheduling.engine.rooms import Expected
from scheduling.engine.shapes import demand_of
from scheduling.engine.types import EnginePolicy, ExpectedShape, PendingJob, Request

_PENDING_SHAPES_AT_MOST = 4
_PENDING_WEIGHT = 60
# Teams whose shares differ by less than a tenth of a per cent are served by age.
SHARE_STEP_PPM = 1000

# Stands in for history: shares of one device, one device, half a node, a whole node, plain CPU work.
BUILT_IN_SPREAD = (
    ExpectedShape(Request(devices=1, device_compute_milli=250, shareable=True, cores=2), 10),
    ExpectedShape(Request(devices=1, device_compute_milli=500, shareable=True, cores=4), 10),
    ExpectedShape(Request(devices=1, cores=8), 10),
    ExpectedShape(Request(devices=4, cores=16), 5),
    ExpectedShape(Request(devices=8, cores=32), 5),
)


class Precedence(StrEnum):
    """What sets two jobs apart in the order of service, in the order in which it is asked."""

    UNKNOWN_QUEUE = "unknown-queue"
    QUEUE_PRIORITY = "queue-priority"
    PRIORITY = "priority"
    FAIR_SHARE = "fair-share"
    RUN_TIME = "run-time"
    AGE = "age"
    NUMBER = "number"


# Who is due earlier is so by its age, or, though submitted no earlier, by its run time.
_ASKED = tuple(code for code in Precedence if code is not Precedence.RUN_TIME)
Place = tuple[bool, int, int, int, int, int, int]


class ServiceOrder:
    """The order of service under one policy: queue priority (high first; a job of an unknown queue last), job priority
    (high first), what its team had of late in its queue (least first, in whole steps of SHARE_STEP_PPM), when it is
    due, job id, attempt. A job is due when it is submitted, or as much later as its expected run time earns it under
    the policy's `patience`: a long job lets short ones pass, but only those submitted within that time.
    """

    def __init__(self, policy: EnginePolicy) -> None:
        self._priorities = {queue.queue: queue.priority for queue in policy.queues}
        self._steps = {
            (queue.queue, share.team): share.share_ppm // SHARE_STEP_PPM
            for queue in policy.queues
            for share in queue.team_shares
        }
        self._policy = policy

    def place(self, job: PendingJob) -> Place:
        """Whoever has the least place is served first."""
        return (
            job.queue not in self._priorities,
            -self._priorities.get(job.queue, 0),
            -job.priority,
            self._steps.get((job.queue, job.team), 0),
            due_ms(job, self._policy),
            job.job,
            job.attempt,
        )

    def what_parts(self, first: PendingJob, second: PendingJob) -> Precedence:
        """Why these two stand in their order."""
        pairs = zip(_ASKED, self.place(first), self.place(second), strict=False)
        code = next((code for code, a, b in pairs if a != b), Precedence.NUMBER)
        if code is Precedence.AGE and first.submitted_at_ms >= second.submitted_at_ms:
            return Precedence.RUN_TIME
        return code


def due_ms(job: PendingJob, policy: EnginePolicy) -> int:
    """From when on the age of a job counts, in the order of service and for promises."""
    return job.submitted_at_ms + (0 if policy.patience is None else policy.patience.of_ms(job.runs_ms))


def is_patient(job: PendingJob, policy: EnginePolicy, now_ms: int) -> bool:
    """Whether it has waited so long that it may be promised a place."""
    after_ms = policy.reserve_after_ms
    return after_ms is not None and now_ms - due_ms(job, policy) >= after_ms


def in_service_order(jobs: Iterable[PendingJob], policy: EnginePolicy) -> list[PendingJob]:
    """The jobs in the order of service of this policy."""
    return sorted(jobs, key=ServiceOrder(policy).place)


def expected_shapes(
    given: Sequence[ExpectedShape], jobs: Sequence[PendingJob], policy: EnginePolicy
) -> tuple[Expected, ...]:
    """The given history; without one, the most frequent pending shapes (60 %) beside a small built-in spread (40 %)."""
    if given:
        return _demands(sorted(given, key=_rank), policy)
    frequency: dict[Request, int] = {}
    for job in jobs:
        frequency[job.request] = frequency.get(job.request, 0) + 1
    pending = [ExpectedShape(request, count) for request, count in frequency.items()]
    frequent = sorted(pending, key=_rank)[:_PENDING_SHAPES_AT_MOST]
    total = sum(shape.weight for shape in frequent)
    shares = [ExpectedShape(s.request, max(1, _PENDING_WEIGHT * s.weight // total)) for s in frequent]
    return _demands([*shares, *BUILT_IN_SPREAD], policy)


def _rank(shape: ExpectedShape) -> tuple[int, str]:
    return (-shape.weight, repr(shape.request))


def _demands(shapes: Sequence[ExpectedShape], policy: EnginePolicy) -> tuple[Expected, ...]:
    return tuple(
        Expected(demand_of(shape.request, policy), shape.weight) for shape in shapes if shape.weight > 0
    )

"""The smallest changes of a request after which it would start at once, found by asking the planner again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from scheduling.engine import filters
from scheduling.engine.frame import whole_frame
from scheduling.engine.modelnames import matches
from scheduling.engine.plan import Planner
from scheduling.engine.quantities import Ints
from scheduling.engine.scores.scale import worth_of_models
from scheduling.engine.shapes import demand_of
from scheduling.engine.types import WHOLE_MILLI, EnginePolicy, PendingJob, Placed, Request

# Device memory cut below this part of what was asked is no help; of cores and memory even a request far beyond every
# node wants to know how much there is.
_LEAST_PART = 8


class ChangeKind(StrEnum):
    """Edits that are tried, least intrusive first."""

    SPLITTABLE = "splittable"
    SHAREABLE = "shareable"
    OTHER_MODEL = "other-model"
    LESS_CORES = "less-cores"
    LESS_HOST_MEMORY = "less-host-memory"
    LESS_DEVICE_MEMORY = "less-device-memory"
    FEWER_DEVICES = "fewer-devices"
    ANY_NODE_SET = "any-node-set"
    NO_LABELS = "no-labels"


@dataclass(frozen=True, slots=True)
class Change:
    """One edit after which the job starts at once: the field with its old and new value, and where it would go."""

    kind: ChangeKind
    field: str
    old: object
    new: object
    request: Request
    node: int


class Trial:
    """What a job's edited requests are tried on: the planner of the moment, whose ledger serves this job."""

    def __init__(self, planner: Planner, policy: EnginePolicy, job: PendingJob) -> None:
        self.frame = whole_frame(planner.ledger)
        self._planner, self._policy, self._job = planner, policy, job
        self._of_the_cluster = policy.power_cap_mw is not None or job.replicas > 1

    def fits(self, request: Request) -> bool:
        """Whether the job would start with this request; of a single one without a cap the filters know that."""
        if not filters.run(self.frame, demand_of(request, self._policy)).passed().any():
            return False
        return not self._of_the_cluster or self.starts(request) is not None

    def starts(self, request: Request) -> Sequence[Placed] | None:
        """Where its replicas would go."""
        return self._planner.would_start(replace(self._job, request=request))


def smallest_changes(planner: Planner, policy: EnginePolicy, job: PendingJob) -> tuple[Change, ...]:
    """Edits of one wish after which all of the job would start now, in the order of ChangeKind; of each kind the one
    that keeps most of the wish.
    """
    trial, found = Trial(planner, policy, job), []
    for kind, field, edits in _edits(trial, worth_of_models(planner.ledger.state), job.request):
        edited = next((edit for edit in edits if trial.fits(edit)), None)
        placed = edited and trial.starts(edited)
        if edited is not None and placed:
            old, new = getattr(job.request, field), getattr(edited, field)
            found.append(Change(kind, field, old, new, edited, placed[0].node))
    return tuple(found)


Edit = tuple[ChangeKind, str, Sequence[Request]]


def _edits(trial: Trial, worth_ppm: Ints, request: Request) -> Iterator[Edit]:
    memory = request.device_memory_mib
    if memory is not None and not request.splittable and request.devices <= 1:
        yield ChangeKind.SPLITTABLE, "splittable", [replace(request, splittable=True, devices=0)]
    if not request.shareable and (request.devices or memory is not None):
        milli = WHOLE_MILLI // 2 if memory is None else 0
        yield (
            ChangeKind.SHAREABLE,
            "shareable",
            [replace(request, shareable=True, device_compute_milli=milli)],
        )
    if request.models:
        yield ChangeKind.OTHER_MODEL, "models", _other_models(trial, worth_ppm, request)
    yield ChangeKind.LESS_CORES, "cores", _less(trial, request, "cores")
    yield ChangeKind.LESS_HOST_MEMORY, "host_memory_mib", _less(trial, request, "host_memory_mib")
    yield (
        ChangeKind.LESS_DEVICE_MEMORY,
        "device_memory_mib",
        _less(trial, request, "device_memory_mib"),
    )
    fewer = [replace(request, devices=count) for count in range(request.devices - 1, 0, -1)]
    yield ChangeKind.FEWER_DEVICES, "devices", fewer
    if request.node_sets:
        yield ChangeKind.ANY_NODE_SET, "node_sets", [replace(request, node_sets=())]
    if request.node_labels:
        yield ChangeKind.NO_LABELS, "node_labels", [replace(request, node_labels=())]


def _other_models(trial: Trial, worth_ppm: Ints, request: Request) -> list[Request]:
    """One more model beside the named ones: the least scarce of this cluster first."""
    models = trial.frame.state.interned.models.values
    others = [
        (int(worth_ppm[number]), str(model))
        for number, model in enumerate(models)
        if not any(matches(name, str(model)) for name in request.models)
    ]
    return [replace(request, models=(*request.models, model)) for _, model in sorted(others)]


def _less(trial: Trial, request: Request, field: str) -> list[Request]:
    """The largest smaller amount that fits; less of one amount never fits worse, so it can be bisected."""
    asked: int | None = getattr(request, field)
    if not asked:
        return []
    low, high = max(1, asked // _LEAST_PART if field == "device_memory_mib" else 1), asked
    if not trial.fits(_with(request, field, low)):
        return []
    while high - low > 1:
        middle = (low + high) // 2
        if trial.fits(_with(request, field, middle)):
            low = middle
        else:
            high = middle
    return [_with(request, field, low)] if low < asked else []


def _with(request: Request, field: str, amount: int) -> Request:
    match field:
        case "cores":
            return replace(request, cores=amount)
        case "host_memory_mib":
            return replace(request, host_memory_mib=amount)
        case _:
            return replace(request, device_memory_mib=amount)

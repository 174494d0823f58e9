"""The smallest changes of a request after which it would start at once, found by asking the planner again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

from scheduling.engine import filters
from scheduling.engine.frame import whole_frame
from scheduling.engine.modelnames import matches
from scheduling.engine.plan import Planner
from scheduling.engine.quantities import Ints
from scheduling.engine.scores.scale import worth_of_models
from scheduling.engine.shapes import demand_of
from scheduling.engine.types import WHOLE_MILLI, EnginePolicy, PendingJob, Placed, Request

# A piece of a device cut below this part of what was asked is no help; of cores and memory even a request far beyond
# every node wants to know how much there is.
_LEAST_PART = 8
_OF_DEVICES = ("device_memory_mib", "device_compute_milli")
_AMOUNTS = ("cores", "host_memory_mib", "read_bandwidth_mib_s", *_OF_DEVICES)
_STEPS = 1024


class ChangeKind(StrEnum):
    """Edits that are tried, least intrusive first."""

    SPLITTABLE = "splittable"
    SHAREABLE = "shareable"
    OTHER_MODEL = "other-model"
    LESS_CORES = "less-cores"
    LESS_HOST_MEMORY = "less-host-memory"
    LESS_READ_BANDWIDTH = "less-read-bandwidth"
    LESS_DEVICE_MEMORY = "less-device-memory"
    LESS_COMPUTE = "less-compute"
    FEWER_DEVICES = "fewer-devices"
    ANY_NODE_SET = "any-node-set"
    NO_LABELS = "no-labels"
    LESS_OF_TWO = "less-of-two"


@dataclass(frozen=True, slots=True)
class Change:
    """One edit after which the job starts at once: the field with its old and new value, and where it would go. Of an
    edit of two fields all three are pairs, `field` with a + between.
    """

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
        self._ask_planner = policy.power_cap_mw is not None or policy.capped or job.replicas > 1
        self._tried: dict[Request, Sequence[Placed] | None] = {}

    def fits(self, request: Request) -> bool:
        """Whether the job would start with this request; of a single one without any cap the filters know
        that.
        """
        if not self._planner.within_caps(replace(self._job, request=request)):
            return False
        if not filters.run(self.frame, demand_of(request, self._policy)).passed().any():
            return False
        return not self._ask_planner or self.starts(request) is not None

    def starts(self, request: Request) -> Sequence[Placed] | None:
        """Where its replicas would go."""
        if request not in self._tried:
            self._tried[request] = self._planner.would_start(replace(self._job, request=request))
        return self._tried[request]


def smallest_changes(planner: Planner, policy: EnginePolicy, job: PendingJob) -> tuple[Change, ...]:
    """Edits of one wish after which all of the job would start now, in the order of ChangeKind; of each kind the one
    that keeps most of the wish. Where no single one helps, two amounts at once.
    """
    trial, found = Trial(planner, policy, job), []
    for kind, field, edits in _edits(trial, worth_of_models(planner.ledger.state), job.request):
        edited = next((edit for edit in edits if trial.fits(edit)), None)
        placed = edited and trial.starts(edited)
        if edited is not None and placed:
            old, new = getattr(job.request, field), getattr(edited, field)
            found.append(Change(kind, field, old, new, edited, placed[0].node))
    return tuple(found) or _less_of_two(trial, job.request)


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
        ChangeKind.LESS_READ_BANDWIDTH,
        "read_bandwidth_mib_s",
        _less(trial, request, "read_bandwidth_mib_s"),
    )
    yield ChangeKind.LESS_DEVICE_MEMORY, "device_memory_mib", _less(trial, request, "device_memory_mib")
    yield ChangeKind.LESS_COMPUTE, "device_compute_milli", _less(trial, request, "device_compute_milli")
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
    asked, least = _asked(request, field), _least(request, field)
    if least >= asked or not trial.fits(_with(request, field, least)):
        return []
    most = _largest(least, asked, lambda amount: trial.fits(_with(request, field, amount)))
    return [_with(request, field, most)]


def _less_of_two(trial: Trial, request: Request) -> tuple[Change, ...]:
    """The first two amounts of which less helps: cut in the same measure, then each as large as the other allows."""
    for pair in combinations([field for field in _AMOUNTS if _asked(request, field)], 2):
        if not trial.fits(_scaled(request, pair, 0)):
            continue
        edited = _both_cut(trial, request, pair)
        placed = trial.starts(edited)
        if placed:
            old, new = (tuple(_asked(one, field) for field in pair) for one in (request, edited))
            return (Change(ChangeKind.LESS_OF_TWO, "+".join(pair), old, new, edited, placed[0].node),)
    return ()


def _both_cut(trial: Trial, request: Request, pair: Sequence[str]) -> Request:
    step = _largest(0, _STEPS, lambda step: trial.fits(_scaled(request, pair, step)))
    edited = _scaled(request, pair, step)
    for field in pair:
        edited = _widened(trial, edited, field, _asked(request, field))
    return edited


def _widened(trial: Trial, request: Request, field: str, beyond: int) -> Request:
    """As much more of one amount as fits; `beyond` does not."""
    most = _largest(_asked(request, field), beyond, lambda amount: trial.fits(_with(request, field, amount)))
    return _with(request, field, most)


def _largest(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """The largest number that fits, where `low` does and `high` does not."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _scaled(request: Request, fields: Sequence[str], step: int) -> Request:
    """The request with this part of the two amounts, of _STEPS."""
    for field in fields:
        part = _asked(request, field) * step // _STEPS
        request = _with(request, field, max(part, _least(request, field)))
    return request


def _asked(request: Request, field: str) -> int:
    """0 where nothing is asked; the compute of a whole device is no amount."""
    if field == "device_compute_milli" and not request.shareable:
        return 0
    asked: int | None = getattr(request, field)
    return asked or 0


def _least(request: Request, field: str) -> int:
    return max(1, _asked(request, field) // _LEAST_PART) if field in _OF_DEVICES else 1


def _with(request: Request, field: str, amount: int) -> Request:
    match field:
        case "cores":
            return replace(request, cores=amount)
        case "host_memory_mib":
            return replace(request, host_memory_mib=amount)
        case "read_bandwidth_mib_s":
            return replace(request, read_bandwidth_mib_s=amount)
        case "device_compute_milli":
            return replace(request, device_compute_milli=amount)
        case _:
            return replace(request, device_memory_mib=amount)

"""The smallest changes of a request after which it would start at once, found by asking the same filters again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from scheduling.engine import filters
from scheduling.engine.board import Board
from scheduling.engine.frame import Frame, whole_frame
from scheduling.engine.ledger import Ledger
from scheduling.engine.modelnames import matches
from scheduling.engine.scores.scale import Scale
from scheduling.engine.shapes import demand_of
from scheduling.engine.types import WHOLE_MILLI, Request

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


def smallest_changes(ledger: Ledger, scale: Scale, request: Request) -> tuple[Change, ...]:
    """Edits of one wish that let the job start now, in the order of ChangeKind; of each kind the one that keeps most
    of the wish.
    """
    frame = whole_frame(ledger)
    found = []
    for kind, field, edits in _edits(frame, scale, request):
        edited = next((edit for edit in edits if _fits(frame, scale, edit)), None)
        if edited is not None:
            found.append(_change(ledger, scale, kind, field, request, edited))
    return tuple(found)


Edit = tuple[ChangeKind, str, Sequence[Request]]


def _edits(frame: Frame, scale: Scale, request: Request) -> Iterator[Edit]:
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
        yield ChangeKind.OTHER_MODEL, "models", _other_models(frame, scale, request)
    yield ChangeKind.LESS_CORES, "cores", _less(frame, scale, request, "cores")
    yield ChangeKind.LESS_HOST_MEMORY, "host_memory_mib", _less(frame, scale, request, "host_memory_mib")
    yield (
        ChangeKind.LESS_DEVICE_MEMORY,
        "device_memory_mib",
        _less(frame, scale, request, "device_memory_mib"),
    )
    fewer = [replace(request, devices=count) for count in range(request.devices - 1, 0, -1)]
    yield ChangeKind.FEWER_DEVICES, "devices", fewer
    if request.node_sets:
        yield ChangeKind.ANY_NODE_SET, "node_sets", [replace(request, node_sets=())]
    if request.node_labels:
        yield ChangeKind.NO_LABELS, "node_labels", [replace(request, node_labels=())]


def _other_models(frame: Frame, scale: Scale, request: Request) -> list[Request]:
    """One more model beside the named ones: the least scarce of this cluster first."""
    models = frame.state.interned.models.values
    others = [
        (int(scale.worth_ppm[number]), str(model))
        for number, model in enumerate(models)
        if not any(matches(name, str(model)) for name in request.models)
    ]
    return [replace(request, models=(*request.models, model)) for _, model in sorted(others)]


def _less(frame: Frame, scale: Scale, request: Request, field: str) -> list[Request]:
    """The largest smaller amount that fits; less of one amount never fits worse, so it can be bisected."""
    asked: int | None = getattr(request, field)
    if not asked:
        return []
    low, high = max(1, asked // _LEAST_PART if field == "device_memory_mib" else 1), asked
    if not _fits(frame, scale, _with(request, field, low)):
        return []
    while high - low > 1:
        middle = (low + high) // 2
        if _fits(frame, scale, _with(request, field, middle)):
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


def _fits(frame: Frame, scale: Scale, request: Request) -> bool:
    return bool(filters.run(frame, demand_of(request, scale.policy)).passed().any())


def _change(
    ledger: Ledger, scale: Scale, kind: ChangeKind, field: str, request: Request, edited: Request
) -> Change:
    board = Board(ledger, demand_of(edited, scale.policy), scale)
    board.renew()
    return Change(
        kind=kind,
        field=field,
        old=getattr(request, field),
        new=getattr(edited, field),
        request=edited,
        node=int(ledger.node.id[board.best(1)[0].node]),
    )

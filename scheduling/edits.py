"""Reading the edits of a what-if: every fault is told with the edit and the field it concerns. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from controlplane.base.problems import Fault
from queues.fields import FieldError, Fields
from queues.spec import SpecFaults, SpecRules, read_spec
from scheduling.engine.types import Term
from scheduling.requests import request_of
from scheduling.whatif import AddJobs, AddNodes, ChangeQuota, ChangeWeight, DrainNode, Edit

MOST_EDITS = 20
MOST_JOBS_ADDED = 1000
MOST_NODES_ADDED = 100
LARGEST_WEIGHT = 1000
# The policy refuses a document in which fragments weigh nothing.
LEAST_FRAGMENTATION_PPM = 10_000
PPM, PPM_PER_PERCENT = 1_000_000, 10_000
MS_PER_S = 1000
# What of a specification may hold a job before it waits for a place.
GATES = ("on_hold", "after", "deferrable")
LARGEST_ID = 2**53


class EditKind(StrEnum):
    """What may be different."""

    ADD_JOB = "add-job"
    DRAIN_NODE = "drain-node"
    CHANGE_WEIGHT = "change-weight"
    CHANGE_QUOTA = "change-quota"
    ADD_NODES = "add-nodes"


@dataclass(frozen=True)
class Known:
    """What edits may name: nodes by id, queues by name and teams by slug with their ids, and what requests may say;
    `owner` asks.
    """

    nodes: Collection[int]
    queues: Mapping[str, int]
    teams: Mapping[str, int]
    rules: SpecRules
    owner: int = 0


class EditFaults(Exception):
    """Edits that cannot be made, with every fault found."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__(", ".join(error.field for error in errors))
        self.errors = tuple(errors)


def read_edits(raw: object, known: Known) -> list[Edit]:
    """The edits in their order; EditFaults otherwise."""
    errors: list[FieldError] = []
    edits = [edit for edit in _all(raw, known, errors) if edit is not None]
    for kind, most, field in ((AddJobs, MOST_JOBS_ADDED, "jobs"), (AddNodes, MOST_NODES_ADDED, "nodes")):
        if sum(edit.count for edit in edits if isinstance(edit, kind)) > most:
            errors.append(FieldError("edits", f"too-many-{field}", {"limit": most}))
    if errors:
        raise EditFaults(errors)
    return edits


def _all(raw: object, known: Known, errors: list[FieldError]) -> list[Edit | None]:
    if not isinstance(raw, list):
        errors.append(FieldError("edits", Fault.TYPE, {"expected": "list"}))
        return []
    if len(raw) > MOST_EDITS:
        errors.append(FieldError("edits", Fault.MAX_LENGTH, {"limit": MOST_EDITS}))
        return []
    return [_one(item, f"edits[{number}]", known, errors) for number, item in enumerate(raw)]


def _one(raw: object, path: str, known: Known, errors: list[FieldError]) -> Edit | None:
    if not isinstance(raw, Mapping):
        errors.append(FieldError(path, Fault.TYPE, {"expected": "object"}))
        return None
    fields = Fields(raw, path=path, errors=errors)
    if not fields.given("kind"):
        fields.refuse("kind", Fault.REQUIRED)
        return None
    kind = fields.choice("kind", list(EditKind))
    if kind is None:
        return None
    edit = READERS[EditKind(kind)](fields, known)
    fields.refuse_unknown()
    return edit


def _add_job(fields: Fields, known: Known) -> Edit | None:
    count = fields.integer("count", low=1, high=MOST_JOBS_ADDED)
    spec_path = fields.at("spec")
    try:
        spec = read_spec(fields.value("spec"), known.rules)
    except SpecFaults as faults:
        fields.errors.extend(
            FieldError(f"{spec_path}.{e.field}" if e.field else spec_path, e.code, e.params)
            for e in faults.errors
        )
        return None
    if spec.queue not in known.queues:
        fields.refuse("spec.queue", Fault.CHOICE, options=", ".join(known.queues))
        return None
    if spec.team is not None and spec.team not in known.teams:
        fields.refuse("spec.team", Fault.NOT_FOUND)
        return None
    each = 1 if spec.array is None else spec.array.under_way
    if (count or 1) * each > MOST_JOBS_ADDED:
        fields.refuse("spec.array.tasks", "too-many-jobs", limit=MOST_JOBS_ADDED)
        return None
    return AddJobs(
        name=spec.name,
        queue=known.queues[spec.queue],
        priority=spec.priority,
        request=request_of(spec),
        replicas=spec.replicas,
        count=(count or 1) * each,
        team=0 if spec.team is None else known.teams[spec.team],
        owner=known.owner,
        runs_ms=None if spec.time_limit_s is None else MS_PER_S * spec.time_limit_s,
        gates=tuple(name for name in GATES if getattr(spec, name)),
        waits_for_slots=spec.array is not None and each < spec.array.tasks,
    )


def _drain_node(fields: Fields, known: Known) -> Edit | None:
    node = _node(fields, "node", known)
    return None if node is None else DrainNode(node)


def _add_nodes(fields: Fields, known: Known) -> Edit | None:
    like = _node(fields, "like", known)
    count = fields.integer("count", low=1, high=MOST_NODES_ADDED)
    return None if like is None else AddNodes(like, count or 1)


def _node(fields: Fields, name: str, known: Known) -> int | None:
    if not fields.given(name):
        fields.refuse(name, Fault.REQUIRED)
        return None
    node = fields.integer(name, low=1, high=LARGEST_ID)
    if node is not None and node not in known.nodes:
        fields.refuse(name, "no-such-node")
        return None
    return node


def _change_weight(fields: Fields, known: Known) -> Edit | None:
    for name in ("term", "weight"):
        if not fields.given(name):
            fields.refuse(name, Fault.REQUIRED)
    term = fields.choice("term", list(Term))
    weight = fields.number("weight", low=0, high=LARGEST_WEIGHT)
    if term is None or weight is None:
        return None
    ppm = round(weight * PPM)
    if Term(term) is Term.FRAGMENTATION and ppm < LEAST_FRAGMENTATION_PPM:
        fields.refuse("weight", Fault.MIN, limit=LEAST_FRAGMENTATION_PPM / PPM)
        return None
    return ChangeWeight(Term(term), ppm)


def _change_quota(fields: Fields, known: Known) -> Edit | None:
    if not fields.given("queue"):
        fields.refuse("queue", Fault.REQUIRED)
    queue = fields.choice("queue", known.queues)
    # Null is a value here: no cap.
    if not fields.there("percent"):
        fields.refuse("percent", Fault.REQUIRED)
    percent = fields.number("percent", low=0, high=100)
    if queue is None:
        return None
    return ChangeQuota(known.queues[queue], None if percent is None else round(percent * PPM_PER_PERCENT))


READERS: Mapping[EditKind, Callable[[Fields, Known], Edit | None]] = {
    EditKind.ADD_JOB: _add_job,
    EditKind.DRAIN_NODE: _drain_node,
    EditKind.CHANGE_WEIGHT: _change_weight,
    EditKind.CHANGE_QUOTA: _change_quota,
    EditKind.ADD_NODES: _add_nodes,
}

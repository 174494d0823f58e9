"""What would become of the waiting jobs if something were different: edits of a situation, and its plan. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from scheduling.engine.bounds import MOST_MIB
from scheduling.engine.emptying import emptied
from scheduling.engine.ordering import in_service_order
from scheduling.engine.plan import Planner, plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    AGENTLESS,
    PAUSED,
    DeviceHealth,
    EnginePolicy,
    ExpectedShape,
    NodeInfo,
    PendingJob,
    Plan,
    Request,
    Reservation,
    Running,
    Term,
)

# Ids above all that rows can have in practice, so that made-up nodes, devices and jobs meet no stored ones.
FIRST_NODE = 2**40
FIRST_DEVICE = 2**41
FIRST_JOB = 2**62
DRAINED = "draining"


@dataclass(frozen=True)
class Situation:
    """What a plan is made from. Jobs of the queues in `stopped` are not served; `reservations` were promised before."""

    nodes: tuple[NodeInfo, ...]
    jobs: tuple[PendingJob, ...]
    policy: EnginePolicy
    now_ms: int
    seed: int
    expected: tuple[ExpectedShape, ...] = ()
    stopped: frozenset[int] = frozenset()
    running: tuple[Running, ...] = ()
    reservations: tuple[Reservation, ...] = ()


@dataclass(frozen=True)
class AddJobs:
    """So many jobs like this one, the last to come; of no team (0) they are held back by the caps of queues alone.
    `runs_ms`: how long each should run, None when nobody knows. Not looked at: the fields that could hold them
    (`gates`), and tasks of an array that wait for a slot.
    """

    name: str
    queue: int
    priority: int
    request: Request
    count: int = 1
    replicas: int = 1
    team: int = 0
    owner: int = 0
    runs_ms: int | None = None
    gates: tuple[str, ...] = ()
    waits_for_slots: bool = False


@dataclass(frozen=True)
class DrainNode:
    """A node takes nothing new."""

    node: int


@dataclass(frozen=True)
class ChangeWeight:
    """Another weight of one score term."""

    term: Term
    weight_ppm: int


@dataclass(frozen=True)
class ChangeQuota:
    """Another cap of one queue; None is no cap."""

    queue: int
    quota_ppm: int | None


@dataclass(frozen=True)
class AddNodes:
    """So many nodes like this one, as they would come new: empty, ready, every device whole and open to jobs."""

    like: int
    count: int = 1


Edit = AddJobs | DrainNode | ChangeWeight | ChangeQuota | AddNodes


def edited(before: Situation, edits: Sequence[Edit]) -> Situation:
    """The situation after all edits, in their order. Edits must name nodes and queues that are there."""
    nodes, devices, jobs = count(FIRST_NODE), count(FIRST_DEVICE), count(FIRST_JOB)
    twins_of: Counter[int] = Counter()
    after = before
    for edit in edits:
        match edit:
            case AddJobs():
                new = tuple(_job(edit, next(jobs), after.now_ms) for _ in range(edit.count))
                after = replace(after, jobs=(*after.jobs, *new))
            case DrainNode(node):
                after = replace(after, nodes=tuple(_drained(info, node) for info in after.nodes))
            case ChangeWeight(term, weight_ppm):
                weights = {**after.policy.weights_ppm, term: weight_ppm}
                after = replace(after, policy=replace(after.policy, weights_ppm=weights))
            case ChangeQuota(queue, quota_ppm):
                after = replace(after, policy=_with_quota(after.policy, queue, quota_ppm))
            case AddNodes(like):
                model = next(info for info in after.nodes if info.node == like)
                paused = any(i.not_ready == PAUSED and i.node_set == model.node_set for i in after.nodes)
                new_one = replace(model, not_ready=PAUSED if paused else None)
                # Twins of an earlier edit have their names already.
                first = 1 + twins_of[like]
                twins_of[like] += edit.count
                numbers = range(first, first + edit.count)
                twins = (_twin(new_one, next(nodes), number, devices) for number in numbers)
                after = replace(after, nodes=(*after.nodes, *twins))
    return after


def made_plan(situation: Situation, *, state: ClusterState | None = None, limit: int | None = None) -> Plan:
    """What would be decided, of the first jobs if there is a limit; `state` is that of the nodes, if it is at hand."""
    return plan(
        ClusterState.build(situation.nodes) if state is None else state,
        [job for job in situation.jobs if job.queue not in situation.stopped],
        situation.policy,
        now_ms=situation.now_ms,
        seed=situation.seed,
        expected=situation.expected,
        limit=limit,
        running=situation.running,
        reservations=situation.reservations,
    )


def first_in_line(jobs: Iterable[PendingJob], policy: EnginePolicy, most: int) -> tuple[PendingJob, ...]:
    """The jobs that are served first, at most so many."""
    return tuple(in_service_order(jobs, policy)[: max(0, most)])


class AtBest:
    """The nodes as they would be with nothing on them, sound and open, and no cap in force; unknown sizes are large. Of
    nodes that are alike there are as many as the largest of the jobs could use.
    """

    def __init__(self, nodes: Iterable[NodeInfo], policy: EnginePolicy, jobs: Sequence[PendingJob]) -> None:
        most = max((job.replicas for job in jobs), default=1)
        alike: dict[Hashable, list[NodeInfo]] = defaultdict(list)
        for info in nodes:
            some = alike[_kind_of(info)]
            if len(some) < most:
                some.append(info)
        kept = [_at_best(info) for some in alike.values() for info in some]
        free = replace(policy, capped=False, power_cap_mw=None, reserve_after_ms=None, preempts=False)
        self._planner = Planner(ClusterState.build(kept), free, ())

    def never_starts(self, job: PendingJob) -> bool:
        """Whether even so no node takes the job."""
        return self._planner.would_start(_at_ease(job)) is None


def _kind_of(info: NodeInfo) -> Hashable:
    """What decides about room on an empty node."""
    devices = (
        (
            one.model,
            one.memory_total_mib,
            one.memory_reserved_mib,
            one.numa,
            one.parent is None,
            one.power_limit_mw,
        )
        for one in info.devices
    )
    cpus = Counter((cpu.numa, cpu.max_mhz) for cpu in info.cpus if cpu.online and not cpu.reserved)
    return (
        info.not_ready == AGENTLESS,
        info.node_set,
        info.labels,
        info.memory_mib,
        info.read_bandwidth_total_mib_s,
        (info.idle_mw, info.core_mw, info.power_cap_mw),
        info.runs_containers,
        tuple(devices),
        len({cpu.core for cpu in info.cpus}),
        frozenset(cpus.items()),
    )


def _at_best(info: NodeInfo) -> NodeInfo:
    devices = (
        replace(
            one,
            health=DeviceHealth.HEALTHY,
            cordoned=False,
            memory_total_mib=MOST_MIB if one.memory_total_mib is None else one.memory_total_mib,
            memory_booked_mib=0,
            memory_used_mib=None,
            compute_booked_milli=0,
            foreign_mib=0,
        )
        for one in info.devices
    )
    return replace(
        info,
        not_ready=AGENTLESS if info.not_ready == AGENTLESS else None,
        observe_only=False,
        memory_mib=info.memory_mib or MOST_MIB,
        memory_booked_mib=0,
        read_bandwidth_booked_mib_s=0,
        measured_mw=None,
        holds=(),
        cpus=tuple(replace(cpu, booked=False) if cpu.booked else cpu for cpu in info.cpus),
        devices=tuple(devices),
    )


def _at_ease(job: PendingJob) -> PendingJob:
    """What it avoids, it need not avoid for ever."""
    return replace(job, request=replace(job.request, excluded_nodes=(), excluded_devices=()))


def _job(edit: AddJobs, job: int, now_ms: int) -> PendingJob:
    return PendingJob(
        job=job,
        attempt=1,
        queue=edit.queue,
        team=edit.team,
        owner=edit.owner,
        priority=edit.priority,
        submitted_at_ms=now_ms,
        request=edit.request,
        replicas=edit.replicas,
        runs_ms=edit.runs_ms,
    )


def _drained(info: NodeInfo, node: int) -> NodeInfo:
    return replace(info, not_ready=info.not_ready or DRAINED) if info.node == node else info


def _with_quota(policy: EnginePolicy, queue: int, quota_ppm: int | None) -> EnginePolicy:
    queues = tuple(replace(q, quota_ppm=quota_ppm) if q.queue == queue else q for q in policy.queues)
    return replace(policy, queues=queues)


def _twin(model: NodeInfo, node: int, number: int, ids: count[int]) -> NodeInfo:
    """The same machine as it would come new. What was decided about or went wrong with that one is not copied; a pause
    of its node set holds for all nodes in it.
    """
    empty = emptied(model)
    parents = (device.parent for device in empty.devices if device.parent is not None)
    known = dict.fromkeys((*(device.device for device in empty.devices), *parents))
    numbers = {device: next(ids) for device in known}
    devices = (
        replace(
            device,
            device=numbers[device.device],
            health=DeviceHealth.HEALTHY,
            cordoned=False,
            parent=None if device.parent is None else numbers[device.parent],
        )
        for device in empty.devices
    )
    return replace(
        empty,
        node=node,
        not_ready=model.not_ready,
        observe_only=False,
        name=f"{model.name}+{number}",
        devices=tuple(devices),
        links=tuple(replace(link, a=numbers[link.a], b=numbers[link.b]) for link in model.links),
    )

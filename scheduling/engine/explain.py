"""Why a job waits and what would help, as data: the texts in two languages are made from it elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine import filters
from scheduling.engine.changes import Change, smallest_changes
from scheduling.engine.filters import Filtered
from scheduling.engine.fitting import fit
from scheduling.engine.frame import frame_of, whole_frame
from scheduling.engine.gangs import room_for
from scheduling.engine.ledger import Ledger
from scheduling.engine.ordering import expected_shapes, in_service_order
from scheduling.engine.quantities import Ints
from scheduling.engine.reasons import filter_counts, near_misses
from scheduling.engine.scores import score, term_scores
from scheduling.engine.scores.scale import Scale, scale_of
from scheduling.engine.shapes import Demand, demand_of
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    WHOLE_MILLI,
    EnginePolicy,
    ExpectedShape,
    NearMiss,
    PendingJob,
    ReasonCode,
    Refusal,
    Request,
    TermScore,
)


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """One filter: how many nodes it removed and how many it left, in filter order."""

    code: ReasonCode
    removed: int
    left: int


@dataclass(frozen=True, slots=True)
class NearNode:
    """A node that failed late, with its shortfall, and its score as if the filter that removed it had let it pass.

    `score_ppm` and `terms` are None and empty where the device itself is missing, so that nothing could be scored.
    """

    miss: NearMiss
    score_ppm: int | None
    terms: tuple[TermScore, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that a page about one waiting job shows; `code` is None when a node would take it by now."""

    job: int
    code: ReasonCode | None
    nodes: int
    funnel: tuple[FunnelRow, ...]
    near: tuple[NearNode, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class DeviceFit:
    """What one device could take now. Unknown sizes are None.

    `shared_mib` is the largest slice that passes the pre-check; `alone_mib` the largest request that fits when it
    gets the device for itself. `code` says why the device takes nothing at all.
    """

    device: int
    node: int
    code: ReasonCode | None
    alone_mib: int | None
    shared_mib: int | None


def explain(
    state: ClusterState,
    refusal: Refusal,
    job: PendingJob,
    policy: EnginePolicy,
    *,
    jobs: Sequence[PendingJob] = (),
    expected: Sequence[ExpectedShape] = (),
) -> Explanation:
    """Explain a refusal against a state (normally the one after the plan's placements). `jobs` are the other pending
    jobs, `expected` the classes of jobs that the plan was told to expect. What is held for the job counts as free.
    """
    ledger = Ledger(state)
    for hold in ledger.holds.get(job.job, ()):
        ledger.give_back(hold)
    scale = scale_of(ledger, policy, expected_shapes(expected, jobs or (job,), policy))
    demand = demand_of(job.request, policy)
    verdicts = filters.run(whole_frame(ledger), demand).verdicts
    counts = filter_counts(filters.counts(verdicts))
    passed = verdicts == filters.PASSED
    if passed.any():
        code, misses = _of_the_cluster(ledger, demand, refusal, job)
        if code is None:
            return Explanation(job.job, None, len(state), funnel(verdicts), (), ())
        verdicts = np.where(passed, filters.number_of(code), verdicts)
        near_nodes = tuple(NearNode(miss, None, ()) for miss in misses)
        return Explanation(job.job, code, len(state), funnel(verdicts), near_nodes, ())
    code = counts[-1].code if counts else refusal.code
    near = near_misses(ledger, demand, verdicts)
    return Explanation(
        job=job.job,
        code=code,
        nodes=len(state),
        funnel=funnel(verdicts),
        near=tuple(_near_node(ledger, scale, demand, miss) for miss in near),
        changes=smallest_changes(ledger, scale, job.request),
    )


def _of_the_cluster(
    ledger: Ledger, demand: Demand, refusal: Refusal, job: PendingJob
) -> tuple[ReasonCode | None, tuple[NearMiss, ...]]:
    """What keeps a job waiting although there are nodes that would take it; None when nothing does."""
    if refusal.code in filters.OF_THE_CLUSTER:
        return refusal.code, tuple(miss for miss in refusal.near if miss.code is refusal.code)
    if job.replicas == 1:
        return None, ()
    room = np.minimum(room_for(ledger, demand), job.replicas)
    if room.sum() >= job.replicas:
        return None, ()
    node = int(ledger.node.id[np.flatnonzero(room)[0]])
    return ReasonCode.GANG, (NearMiss(node, ReasonCode.GANG, job.replicas, int(room.sum())),)


def funnel(verdicts: Ints) -> tuple[FunnelRow, ...]:
    """Filters that removed nodes, with what was left after each."""
    left, rows = len(verdicts), []
    for count in filter_counts(filters.counts(verdicts)):
        left -= count.removed
        rows.append(FunnelRow(count.code, count.removed, left))
    return tuple(rows)


def what_fits(state: ClusterState, device_id: int, *, num: int = 6, den: int = 5) -> DeviceFit:
    """The largest request one device could take at once; KeyError when it is not here."""
    found = np.flatnonzero(state.device.id == device_id)
    if not len(found):
        raise KeyError(device_id)
    row = int(found[0])
    device, node = state.device, int(state.joins().device_node[row])
    code = _node_code(state, node, bool(device.usable[row]))
    compute = int(device.compute_free[row])
    # Memory that a hold keeps without compute is kept, too.
    kept = device.free[row] < device.allocatable[row]
    idle = compute == WHOLE_MILLI and device.foreign[row] == 0 and not kept
    known = device.allocatable[row] >= 0
    if code is None and (compute == 0 or (known and not idle and device.free[row] == 0)):
        code = ReasonCode.DEVICE_BUSY if device.foreign[row] == 0 else ReasonCode.FOREIGN_USE
    node_id = int(state.node.id[node])
    if code is not None:
        return DeviceFit(device_id, node_id, code, 0, 0)
    shared = _largest_shared(int(device.free[row]), int(device.allocatable[row]), compute, num=num, den=den)
    return DeviceFit(
        device=device_id,
        node=node_id,
        code=None,
        alone_mib=(int(device.total[row]) if idle else 0) if known else None,
        shared_mib=shared if known else None,
    )


def runnable_here(
    state: ClusterState, device_id: int, jobs: Sequence[PendingJob], policy: EnginePolicy
) -> tuple[int, ...]:
    """Pending jobs, in order of service, that could use this device now: alone or as one of several of its node."""
    found = np.flatnonzero(state.device.id == device_id)
    if not len(found):
        raise KeyError(device_id)
    node = state.joins().device_node[found]
    frame = frame_of(Ledger(state), node)
    here = int(np.flatnonzero(frame.device.id == device_id)[0])
    verdict: dict[Request, bool] = {}
    for job in jobs:
        if job.request not in verdict:
            demand = demand_of(job.request, policy)
            verdict[job.request] = demand.wants_devices and _takes(
                filters.run(frame, demand), here, frame.device_pool
            )
    return tuple(job.job for job in in_service_order(jobs, policy) if verdict[job.request])


def _takes(filtered: Filtered, device: int, device_pool: Ints) -> bool:
    fits = any(cut.devices[device] and cut.pools[device_pool[device]] for cut in filtered.cuts)
    return bool(filtered.passed()[0]) and fits


def _node_code(state: ClusterState, node: int, usable: bool) -> ReasonCode | None:
    if state.node.paused[node]:
        return ReasonCode.NODE_PAUSED
    if not state.node.ready[node]:
        return ReasonCode.NODE_NOT_READY
    if state.node.observe_only[node]:
        return ReasonCode.OBSERVE_ONLY
    return None if usable else ReasonCode.DEVICE_HEALTH


def _largest_shared(free: int, allocatable: int, compute_free: int, *, num: int, den: int) -> int:
    """Largest memory-only slice: its pre-check fits the free memory and its compute share the free compute."""
    by_memory = free * den // num
    by_compute = allocatable * compute_free // WHOLE_MILLI
    return max(0, min(by_memory, by_compute))


def _near_node(ledger: Ledger, scale: Scale, demand: Demand, miss: NearMiss) -> NearNode:
    """Score the node with the failing filter passed over: the devices it stumbled at are chosen as if they fitted."""
    frame = frame_of(ledger, np.array([ledger.state.index_of(miss.node)], dtype=np.int64))
    cuts = filters.open_cuts(frame, demand) if demand.wants_devices else []
    for cut in cuts:
        filters.narrow_until(frame, demand, cut, miss.code)
        cut.keep(frame, cut.devices, cut.count)
    passed = np.array([filters.PASSED], dtype=np.int64)
    rows = fit(frame, demand, Filtered(passed, tuple(cuts)))
    if not len(rows):
        return NearNode(miss, None, ())
    values, total = score(frame, demand, rows, scale)
    best = int(np.argmax(total))
    return NearNode(miss, int(total[best]), term_scores(scale.policy.weights_ppm, values[:, best].tolist()))

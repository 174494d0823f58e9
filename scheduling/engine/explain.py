"""Why a job waits and what would help, as data: the texts in two languages are made from it elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine import filters
from scheduling.engine.changes import Change, smallest_changes
from scheduling.engine.filters import Filtered, node_power
from scheduling.engine.fitting import fit
from scheduling.engine.frame import frame_of
from scheduling.engine.holders import holder_of
from scheduling.engine.ledger import Ledger
from scheduling.engine.ordering import expected_shapes, in_service_order
from scheduling.engine.plan import Planner
from scheduling.engine.scores import score, term_scores
from scheduling.engine.scores.scale import Scale, scale_of
from scheduling.engine.shapes import Demand, demand_of
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    WHOLE_MILLI,
    CapMiss,
    EnginePolicy,
    ExpectedShape,
    FilterCount,
    NearMiss,
    PendingJob,
    ReasonCode,
    Refusal,
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
    cap: CapMiss | None = None


@dataclass(frozen=True, slots=True)
class DeviceFit:
    """What one device could take now. Unknown sizes are None.

    `shared_mib` is the largest slice that passes the pre-check; `alone_mib` the largest request that fits when it
    gets the device for itself; `compute_milli` is the compute that is free and may be powered. `code` says why the
    device takes nothing at all.
    """

    device: int
    node: int
    code: ReasonCode | None
    alone_mib: int | None
    shared_mib: int | None
    compute_milli: int


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
    shapes = expected_shapes(expected, jobs or (job,), policy)
    planner = Planner(state, policy, shapes)
    planner.serve(job.job)
    placed = planner.would_start(job)
    if placed is not None:
        return Explanation(job.job, None, len(state), funnel(placed[0].counts, len(state)), (), ())
    now = planner.refusal_of(job)
    code = now.code if now.nodes else refusal.code
    demand, scale = demand_of(job.request, policy), scale_of(planner.ledger, policy, shapes)
    of_the_cluster = code in filters.OF_THE_CLUSTER
    near = [miss for miss in now.near if not of_the_cluster or miss.code is code]
    return Explanation(
        job=job.job,
        code=code,
        nodes=now.nodes,
        funnel=funnel(now.counts, now.nodes),
        near=tuple(
            NearNode(miss, None, ()) if of_the_cluster else _near_node(planner.ledger, scale, demand, miss)
            for miss in near
        ),
        changes=smallest_changes(planner, policy, job),
        cap=now.cap,
    )


def funnel(counts: Sequence[FilterCount], nodes: int) -> tuple[FunnelRow, ...]:
    """Filters that removed nodes, with what was left after each."""
    left, rows = nodes, []
    for count in counts:
        left -= count.removed
        rows.append(FunnelRow(count.code, count.removed, left))
    return tuple(rows)


def what_fits(
    state: ClusterState, device_id: int, *, num: int = 6, den: int = 5, power_cap_mw: int | None = None
) -> DeviceFit:
    """The largest request one device could take at once, under the node's power cap and the one of all nodes;
    KeyError when it is not here.
    """
    found = np.flatnonzero(state.device.id == device_id)
    if not len(found):
        raise KeyError(device_id)
    row = int(found[0])
    device, node = state.device, int(state.joins().device_node[row])
    code = _node_code(state, node, bool(device.usable[row]))
    compute, capped = _compute_in_power(state, row, node, power_cap_mw)
    # Memory that a hold keeps without compute is kept, too.
    kept = device.free[row] < device.allocatable[row]
    idle = compute == WHOLE_MILLI and device.foreign[row] == 0 and not kept
    known = device.allocatable[row] >= 0
    if code is None and (compute == 0 or (known and not idle and device.free[row] == 0)):
        code = ReasonCode.DEVICE_BUSY if device.foreign[row] == 0 else ReasonCode.FOREIGN_USE
        code = code if capped is None or compute else capped
    if code is None and device.allocatable[row] == 0:
        code = ReasonCode.DEVICE_TOO_SMALL
    node_id = int(state.node.id[node])
    if code is not None:
        return DeviceFit(device_id, node_id, code, 0, 0, 0)
    shared = _largest_shared(int(device.free[row]), int(device.allocatable[row]), compute, num=num, den=den)
    return DeviceFit(
        device=device_id,
        node=node_id,
        code=None,
        alone_mib=(int(device.total[row]) if idle else 0) if known else None,
        shared_mib=shared if known else None,
        compute_milli=compute,
    )


def runnable_here(
    state: ClusterState, device_id: int, jobs: Sequence[PendingJob], policy: EnginePolicy
) -> tuple[int, ...]:
    """Pending jobs, in order of service, that would start now and could use this device: alone, or as one of several
    of its node, within all caps. What is held for a job counts as free for it, and replicas start together.
    """
    found = np.flatnonzero(state.device.id == device_id)
    if not len(found):
        raise KeyError(device_id)
    device = int(found[0])
    anybody, held = Planner(state, policy, ()), state.holds()
    verdicts: dict[object, bool] = {}
    takes = set()
    for job in jobs:
        if job.job in held:
            starts = _starts_on(Planner(state, policy, ()), policy, job, device)
        else:
            kind = (job.request, job.replicas, holder_of(job) if policy.capped else None)
            if kind not in verdicts:
                verdicts[kind] = _starts_on(anybody, policy, job, device)
            starts = verdicts[kind]
        if starts:
            takes.add(job.job)
    return tuple(job.job for job in in_service_order(jobs, policy) if job.job in takes)


def _starts_on(planner: Planner, policy: EnginePolicy, job: PendingJob, device: int) -> bool:
    """Whether the job would start and this device (a row of the state) could give a piece for it."""
    demand = demand_of(job.request, policy)
    if not demand.wants_devices:
        return False
    planner.serve(job.job)
    node = planner.ledger.state.joins().device_node[[device]]
    frame = frame_of(planner.ledger, node)
    here = device - int(frame.devices[0])
    pool, filtered = frame.device_pool[here], filters.run(frame, demand)
    room_uw = planner.room_uw()
    takes = any(
        cut.devices[here]
        and cut.pools[pool]
        and (room_uw is None or node_power.added_uw(frame, demand, cut)[pool] <= room_uw)
        for cut in filtered.cuts
    )
    if not takes or not filtered.passed()[0]:
        return False
    if policy.capped and not planner.open_to(job)[frame.pools[pool]]:
        return False
    return job.replicas == 1 or planner.would_start(job) is not None


def _node_code(state: ClusterState, node: int, usable: bool) -> ReasonCode | None:
    if state.node.paused[node]:
        return ReasonCode.NODE_PAUSED
    if state.node.agentless[node]:
        return ReasonCode.NO_AGENT
    if not state.node.ready[node]:
        return ReasonCode.NODE_NOT_READY
    if state.node.observe_only[node]:
        return ReasonCode.OBSERVE_ONLY
    return None if usable else ReasonCode.DEVICE_HEALTH


def _compute_in_power(
    state: ClusterState, row: int, node: int, cap_mw: int | None
) -> tuple[int, ReasonCode | None]:
    """Free compute of a device as far as the caps leave power for it, and which cap leaves less than is free."""
    free, limit_mw = int(state.device.compute_free[row]), int(state.device.power_mw[row])
    node_cap_mw = int(state.node.power_cap_mw[node])
    rooms_uw = []
    if node_cap_mw >= 0:
        left = WHOLE_MILLI * node_cap_mw - int(state.node.draw_uw[node])
        rooms_uw.append((max(0, left), ReasonCode.NODE_POWER))
    if cap_mw is not None:
        left = WHOLE_MILLI * cap_mw - int(state.node.draw_uw.sum())
        rooms_uw.append((max(0, left), ReasonCode.POWER_CAP))
    room_uw, code = min(rooms_uw, default=(0, None))
    if code is None or not limit_mw or room_uw // limit_mw >= free:
        return free, None
    return room_uw // limit_mw, code


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

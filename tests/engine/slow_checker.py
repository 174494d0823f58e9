"""An obvious, slow second opinion on hard constraints, written without the engine's columns, filters and fitting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from scheduling.engine.modelnames import matches
from scheduling.engine.types import (
    SIMULATED,
    DeviceHealth,
    DeviceInfo,
    EnginePolicy,
    NodeInfo,
    PendingJob,
    Placed,
    Plan,
    Request,
)


@dataclass
class Books:
    """What is left of one node."""

    node: NodeInfo
    memory: dict[int, int] = field(default_factory=dict)
    milli: dict[int, int] = field(default_factory=dict)
    cpus: set[int] = field(default_factory=set)
    host: int = 0

    def __post_init__(self) -> None:
        for d in self.node.devices:
            self.memory[d.device] = _free(d)
            self.milli[d.device] = 1000 - max(d.compute_booked_milli, int(d.memory_booked_mib > 0))
        self.cpus = {c.cpu for c in self.node.cpus if c.online and not c.reserved and not c.booked}
        self.host = max(0, self.node.memory_mib - self.node.memory_booked_mib)


def _size(d: DeviceInfo) -> int:
    return 0 if d.memory_total_mib is None else max(0, d.memory_total_mib - d.memory_reserved_mib)


def _free(d: DeviceInfo) -> int:
    has_jobs = d.memory_booked_mib or d.compute_booked_milli
    used = d.memory_used_mib if has_jobs and d.memory_used_mib is not None else 0
    return max(0, _size(d) - max(d.memory_booked_mib + d.foreign_mib, used))


def wants_devices(request: Request) -> bool:
    return request.devices > 0 or request.device_memory_mib is not None or bool(request.models)


def node_allows(node: NodeInfo, request: Request) -> bool:
    """All that does not depend on bookings, but for devices."""
    return (
        node.not_ready is None
        and not node.observe_only
        and node.node not in request.excluded_nodes
        and (not request.node_sets or node.node_set in request.node_sets)
        and all(pair in node.labels for pair in request.node_labels)
        and (SIMULATED in node.labels) <= (SIMULATED in request.node_labels)
    )


def device_allows(d: DeviceInfo, request: Request) -> bool:
    """All that does not depend on bookings."""
    return (
        (not request.models or any(matches(name, d.model) for name in request.models))
        and d.health in (DeviceHealth.HEALTHY, DeviceHealth.SUSPECT)
        and not d.cordoned
        and d.device not in request.excluded_devices
    )


def share(
    d: DeviceInfo, books: Books, request: Request, *, count: int, policy: EnginePolicy
) -> tuple[int, int] | None:
    """What one device would give a job of `count` devices (MiB, milli); None when it cannot."""
    if not device_allows(d, request):
        return None
    asked = request.device_memory_mib
    piece = asked if asked is None or not request.splittable else (asked + count - 1) // count
    if piece is not None and (d.memory_total_mib is None or d.memory_total_mib < piece):
        return None
    untouched = books.milli[d.device] == 1000 and d.foreign_mib == 0
    whole = (_size(d), 1000) if untouched else None
    milli = request.device_compute_milli
    if not request.shareable or milli == 1000:
        return whole
    if piece is None:
        memory = _size(d) * milli // 1000
        return (
            (memory, milli) if books.milli[d.device] >= milli and books.memory[d.device] >= memory else None
        )
    need = -(-policy.precheck_num * piece // policy.precheck_den)
    if need > _size(d):
        return whole
    if milli == 0:
        milli = min(1000, max(1, -(-1000 * piece // _size(d))))
    return (piece, milli) if books.memory[d.device] >= need and books.milli[d.device] >= milli else None


def fits(books: Books, request: Request, policy: EnginePolicy) -> bool:
    """Whether the node could take one such job now."""
    if not node_allows(books.node, request):
        return False
    if len(books.cpus) < request.cores or books.host < (request.host_memory_mib or 0):
        return False
    if not wants_devices(request):
        return True
    counts = [request.devices] if request.devices else [1]
    if not request.devices and request.splittable and request.device_memory_mib is not None:
        counts = list(range(1, len(books.node.devices) + 1))
    for count in counts:
        able = [d.model for d in books.node.devices if share(d, books, request, count=count, policy=policy)]
        if any(number >= count for number in Counter(able).values()):
            return True
    return False


def book(books: Books, job: PendingJob, placed: Placed, policy: EnginePolicy) -> None:
    """Check every hard constraint of one placement, then take it."""
    request, node = job.request, books.node
    assert node_allows(node, request)
    assert len(placed.cpus) == len(set(placed.cpus)) == request.cores
    assert set(placed.cpus) <= books.cpus
    assert set(placed.loader_cpus) <= set(placed.cpus)
    assert books.host >= placed.host_memory_mib == (request.host_memory_mib or 0)
    devices = {d.device: d for d in node.devices}
    given = [devices[s.device] for s in placed.slices]
    assert len({d.device for d in given}) == len(given)
    assert bool(given) == wants_devices(request)
    assert len({d.model for d in given}) <= 1
    assert not request.devices or len(given) == request.devices
    for d, s in zip(given, placed.slices, strict=True):
        assert share(d, books, request, count=len(given), policy=policy) == (s.memory_mib, s.compute_milli)
    for s in placed.slices:
        books.memory[s.device] -= s.memory_mib
        books.milli[s.device] -= s.compute_milli
        assert books.milli[s.device] >= 0
        assert books.memory[s.device] >= 0
    books.cpus -= set(placed.cpus)
    books.host -= placed.host_memory_mib


def check(nodes: Sequence[NodeInfo], jobs: Sequence[PendingJob], policy: EnginePolicy, plan: Plan) -> None:
    """Nothing over-booked, every constraint kept, every refusal true, every node counted."""
    by_id = {job.job: job for job in jobs}
    books = {node.node: Books(node) for node in nodes}
    for placed in plan.placed:
        book(books[placed.node], by_id[placed.job], placed, policy)
        assert placed.candidates + sum(c.removed for c in placed.counts) == len(nodes)
    for refusal in plan.refused:
        request = by_id[refusal.job].request
        assert not any(fits(b, request, policy) for b in books.values())
        assert sum(c.removed for c in refusal.counts) == refusal.nodes == len(nodes)
        assert refusal.code is refusal.counts[-1].code if nodes else True
        assert all(miss.needed > miss.available for miss in refusal.near)
    assert sorted([p.job for p in plan.placed] + [r.job for r in plan.refused]) == sorted(by_id)

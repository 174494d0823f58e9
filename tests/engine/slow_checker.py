"""An obvious, slow second opinion on hard constraints, written without the engine's columns, filters and fitting."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

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
    ReasonCode,
    Refusal,
    Request,
)


@dataclass
class Share:
    """What one hold or placement takes."""

    memory: Counter[int] = field(default_factory=Counter)
    milli: Counter[int] = field(default_factory=Counter)
    cpus: set[int] = field(default_factory=set)
    host: int = 0
    reads: int = 0


@dataclass
class Books:
    """What is left of one node; `held` is what holds keep of it, per job."""

    node: NodeInfo
    memory: dict[int, int] = field(default_factory=dict)
    milli: dict[int, int] = field(default_factory=dict)
    cpus: set[int] = field(default_factory=set)
    host: int = 0
    reads: int = 0
    draw_uw: int = 0
    held: dict[int, list[Share]] = field(default_factory=lambda: defaultdict(list))
    devices: dict[int, DeviceInfo] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.devices = {d.device: _settled(d, self.node) for d in self.node.devices}
        for d in self.devices.values():
            self.memory[d.device] = _free(d)
            self.milli[d.device] = max(0, 1000 - max(d.compute_booked_milli, int(d.memory_booked_mib > 0)))
        self.cpus = {c.cpu for c in self.node.cpus if c.online and not c.reserved and not c.booked}
        self.host = max(0, self.node.memory_mib - self.node.memory_booked_mib)
        self.reads = self.node.read_bandwidth_booked_mib_s
        self.draw_uw = _draw_uw(self.node)
        for hold in self.node.holds:
            given = {s.device: s for s in hold.slices if s.device in self.devices}.values()
            share = Share(
                Counter({s.device: min(s.memory_mib, self.memory[s.device]) for s in given}),
                Counter({s.device: min(s.compute_milli, self.milli[s.device]) for s in given}),
                set(hold.cpus) & self.cpus,
                min(hold.host_memory_mib, self.host),
                hold.read_bandwidth_mib_s,
            )
            self.held[hold.job].append(share)
            self.take(share, 1)

    def take(self, share: Share, sign: int) -> None:
        """Take (1) or give back (-1)."""
        for device, mib in share.memory.items():
            self.memory[device] -= sign * mib
        for device, milli in share.milli.items():
            self.milli[device] -= sign * milli
        self.cpus = self.cpus - share.cpus if sign > 0 else self.cpus | share.cpus
        self.host -= sign * share.host
        self.reads += sign * share.reads
        self.draw_uw += sign * self.added_uw(share.milli, len(share.cpus))
        assert min([*self.memory.values(), *self.milli.values(), self.host, 0]) == 0

    def added_uw(self, milli: Counter[int], cores: int) -> int:
        """What this share adds to the draw."""
        on_devices = sum((self.devices[d].power_limit_mw or 0) * share for d, share in milli.items())
        return on_devices + 1000 * cores * (self.node.core_mw or 0)

    def give_to(self, job: int) -> None:
        """Give back what is kept for this job."""
        for share in self.held[job]:
            self.take(share, -1)

    def keep_rest(self, job: int, taken: Sequence[Share]) -> None:
        """Keep what the job left of its holds."""
        rest = Share()
        for share in self.held.pop(job, []):
            rest.memory.update(share.memory)
            rest.milli.update(share.milli)
            rest.cpus |= share.cpus
            rest.host += share.host
            rest.reads += share.reads
        for share in taken:
            rest.memory.subtract(share.memory)
            rest.milli.subtract(share.milli)
            rest.cpus -= share.cpus
            rest.host -= share.host
            rest.reads -= share.reads
        rest = Share(+rest.memory, +rest.milli, rest.cpus, max(0, rest.host), max(0, rest.reads))
        self.held[job] = [rest]
        self.take(rest, 1)


def _settled(d: DeviceInfo, node: NodeInfo) -> DeviceInfo:
    """The device with its part of a shared memory, cordoned where whole and slices exclude one another."""
    whole = next((w for w in node.devices if w.device == d.parent), None)
    out = any(o.parent == d.device for o in node.devices) or (
        whole is not None and bool(whole.memory_booked_mib or whole.compute_booked_milli)
    )
    same = [o for o in node.devices if (o.parent, o.memory_group) == (d.parent, d.memory_group)]
    parts = len(same) if d.memory_group is not None else 1
    return replace(
        d,
        cordoned=d.cordoned or out,
        memory_total_mib=None if d.memory_total_mib is None else d.memory_total_mib // parts,
        memory_reserved_mib=-(-d.memory_reserved_mib // parts),
        foreign_mib=-(-d.foreign_mib // parts),
        memory_used_mib=None if d.memory_used_mib is None else -(-d.memory_used_mib // parts),
    )


def _draw_uw(node: NodeInfo) -> int:
    booked = sum((d.power_limit_mw or 0) * min(1000, d.compute_booked_milli) for d in node.devices)
    booked += 1000 * (node.core_mw or 0) * len([c for c in node.cpus if c.booked])
    return max(booked + 1000 * (node.idle_mw or 0), 1000 * (node.measured_mw or 0))


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
        and (request.image is None or node.runs_containers)
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
    kept = books.memory[d.device] < _size(d)
    untouched = books.milli[d.device] == 1000 and d.foreign_mib == 0 and not kept
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
    """Whether the node could take one such job now, power of the whole cluster aside."""
    if not node_allows(books.node, request):
        return False
    if len(books.cpus) < request.cores or books.host < (request.host_memory_mib or 0):
        return False
    total = books.node.read_bandwidth_total_mib_s
    reads = request.read_bandwidth_mib_s or 0
    if reads and total is not None and books.reads + reads > total:
        return False
    if not wants_devices(request):
        return _may_draw(books, books.added_uw(Counter(), request.cores))
    counts = [request.devices] if request.devices else [1]
    if not request.devices and request.splittable and request.device_memory_mib is not None:
        counts = list(range(1, len(books.devices) + 1))
    return any(_pool_fits(books, request, count, policy) for count in counts)


def _pool_fits(books: Books, request: Request, count: int, policy: EnginePolicy) -> bool:
    """Whether `count` devices of one model fit, with the power of the hungriest device of that model for each."""
    by_model: dict[str | None, list[DeviceInfo]] = defaultdict(list)
    for d in books.devices.values():
        by_model[d.model].append(d)
    for pool in by_model.values():
        able = [d for d in pool if share(d, books, request, count=count, policy=policy)]
        added = max((d.power_limit_mw or 0) * _milli(d, request, count, policy) for d in pool)
        cores = books.added_uw(Counter(), request.cores)
        if len(able) >= count and _may_draw(books, count * added + cores):
            return True
    return False


def _milli(d: DeviceInfo, request: Request, count: int, policy: EnginePolicy) -> int:
    """The compute that a piece would book of this device, if it fitted there."""
    asked, milli = request.device_memory_mib, request.device_compute_milli
    if not request.shareable or milli == 1000:
        return 1000
    if asked is None:
        return milli
    piece = (asked + count - 1) // count if request.splittable else asked
    unknown = d.memory_total_mib is None
    if unknown or -(-policy.precheck_num * piece // policy.precheck_den) > _size(d):
        return 1000
    return milli or min(1000, max(1, -(-1000 * piece // max(1, _size(d)))))


def _may_draw(books: Books, added_uw: int) -> bool:
    cap = books.node.power_cap_mw
    return cap is None or not added_uw or books.draw_uw + added_uw <= 1000 * cap


def book(books: Books, job: PendingJob, placed: Placed, policy: EnginePolicy) -> Share:
    """Check every hard constraint of one placement, then take it."""
    request, node = job.request, books.node
    assert node_allows(node, request)
    assert len(placed.cpus) == len(set(placed.cpus)) == request.cores
    assert set(placed.cpus) <= books.cpus
    assert set(placed.loader_cpus) <= set(placed.cpus)
    assert books.host >= placed.host_memory_mib == (request.host_memory_mib or 0)
    given = [books.devices[s.device] for s in placed.slices]
    assert len({d.device for d in given}) == len(given)
    assert bool(given) == wants_devices(request)
    assert len({d.model for d in given}) <= 1
    assert not request.devices or len(given) == request.devices
    for d, s in zip(given, placed.slices, strict=True):
        assert share(d, books, request, count=len(given), policy=policy) == (s.memory_mib, s.compute_milli)
    taken = Share(
        Counter({s.device: s.memory_mib for s in placed.slices}),
        Counter({s.device: s.compute_milli for s in placed.slices}),
        set(placed.cpus),
        placed.host_memory_mib,
        placed.read_bandwidth_mib_s,
    )
    books.take(taken, 1)
    total = node.read_bandwidth_total_mib_s
    assert not taken.reads or total is None or books.reads <= total
    assert (
        node.power_cap_mw is None
        or books.draw_uw <= 1000 * node.power_cap_mw
        or not books.added_uw(taken.milli, len(taken.cpus))
    )
    return taken


def check(nodes: Sequence[NodeInfo], jobs: Sequence[PendingJob], policy: EnginePolicy, plan: Plan) -> None:
    """Nothing over-booked, every constraint kept, gangs whole, every refusal true, every node counted."""
    by_id = {job.job: job for job in jobs}
    books = {node.node: Books(node) for node in nodes}
    for number, replicas in groupby(plan.placed, key=lambda placed: placed.job):
        _check_job(books, by_id[number], list(replicas), policy)
    if policy.power_cap_mw is not None and plan.placed:
        idle = {node.node: Books(node).draw_uw for node in nodes}
        added = sum(b.draw_uw - idle[b.node.node] for b in books.values())
        assert added <= 0 or sum(b.draw_uw for b in books.values()) <= 1000 * policy.power_cap_mw
    for refusal in plan.refused:
        _check_refusal(books, by_id[refusal.job], refusal, policy)
    assert sorted({p.job for p in plan.placed} | {r.job for r in plan.refused}) == sorted(by_id)
    assert len({p.job for p in plan.placed}) + len(plan.refused) == len(by_id)


def _check_job(
    books: dict[int, Books], job: PendingJob, replicas: Sequence[Placed], policy: EnginePolicy
) -> None:
    assert [placed.replica for placed in replicas] == list(range(job.replicas))
    for b in books.values():
        b.give_to(job.job)
    taken: dict[int, list[Share]] = defaultdict(list)
    for placed in replicas:
        taken[placed.node].append(book(books[placed.node], job, placed, policy))
        assert placed.candidates + sum(c.removed for c in placed.counts) == len(books)
    for b in books.values():
        b.keep_rest(job.job, taken[b.node.node])


def _check_refusal(books: dict[int, Books], job: PendingJob, refusal: Refusal, policy: EnginePolicy) -> None:
    assert sum(c.removed for c in refusal.counts) == refusal.nodes == len(books)
    assert refusal.code is refusal.counts[-1].code if books else True
    assert all(miss.available is None or miss.needed > miss.available for miss in refusal.near)
    able = [b for b in books.values() if fits(b, job.request, policy)]
    if refusal.code is ReasonCode.GANG:
        assert job.replicas > 1
    elif refusal.code is ReasonCode.POWER_CAP:
        assert policy.power_cap_mw is not None
    else:
        assert not able

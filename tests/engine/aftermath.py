"""What a cluster is once a plan was carried out and its jobs use what they booked, worked out the obvious way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from scheduling.engine.types import Hold, NodeInfo, PendingJob, Placed, Plan, SliceChoice


def after_plan(nodes: Sequence[NodeInfo], jobs: Sequence[PendingJob], plan: Plan) -> list[NodeInfo]:
    """The nodes with every placement booked; holds of placed jobs keep what those left of them."""
    return [_booked(info, [p for p in plan.placed if p.node == info.node], plan) for info in nodes]


def _booked(info: NodeInfo, placed: Sequence[Placed], plan: Plan) -> NodeInfo:
    memory: Counter[int] = Counter()
    milli: Counter[int] = Counter()
    for s in (s for p in placed for s in p.slices):
        memory[s.device] += s.memory_mib
        milli[s.device] += s.compute_milli
    cpus = {cpu for p in placed for cpu in p.cpus}
    started = {p.job for p in plan.placed}
    limits = {d.device: d.power_limit_mw or 0 for d in info.devices}
    # Of a memory that several slices share each counts an equal part of what is used: as if all used what it does.
    sharers: Counter[tuple[int | None, int | None]] = Counter()
    sharers.update((d.parent, d.memory_group) for d in info.devices if d.memory_group is not None)
    alike = {d.device: max(1, sharers[d.parent, d.memory_group]) for d in info.devices}
    added = sum(limits[device] * share for device, share in milli.items()) + 1000 * len(cpus) * (
        info.core_mw or 0
    )
    return replace(
        info,
        devices=tuple(
            replace(
                d,
                memory_booked_mib=d.memory_booked_mib + memory[d.device],
                memory_used_mib=None
                if d.memory_used_mib is None
                else d.memory_used_mib + alike[d.device] * memory[d.device],
                compute_booked_milli=max(d.compute_booked_milli, int(d.memory_booked_mib > 0))
                + milli[d.device],
            )
            for d in info.devices
        ),
        cpus=tuple(replace(c, booked=c.booked or c.cpu in cpus) for c in info.cpus),
        memory_booked_mib=info.memory_booked_mib + sum(p.host_memory_mib for p in placed),
        read_bandwidth_booked_mib_s=info.read_bandwidth_booked_mib_s
        + sum(p.read_bandwidth_mib_s for p in placed),
        measured_mw=None if info.measured_mw is None else info.measured_mw - (-added // 1000),
        holds=tuple(
            _rest(hold, [p for p in placed if p.job == hold.job]) if hold.job in started else hold
            for hold in info.holds
        ),
    )


def _rest(hold: Hold, placed: Sequence[Placed]) -> Hold:
    """A hold less what its job took; two holds of one job both count the whole of it, which keeps less than it may."""
    memory: Counter[int] = Counter({s.device: s.memory_mib for s in hold.slices})
    milli: Counter[int] = Counter({s.device: s.compute_milli for s in hold.slices})
    for p in placed:
        memory.subtract({s.device: s.memory_mib for s in p.slices})
        milli.subtract({s.device: s.compute_milli for s in p.slices})
    given = {cpu for p in placed for cpu in p.cpus}
    return replace(
        hold,
        slices=tuple(
            SliceChoice(s.device, max(0, memory[s.device]), max(0, milli[s.device])) for s in hold.slices
        ),
        cpus=tuple(cpu for cpu in hold.cpus if cpu not in given),
        host_memory_mib=max(0, hold.host_memory_mib - sum(p.host_memory_mib for p in placed)),
        read_bandwidth_mib_s=max(0, hold.read_bandwidth_mib_s - sum(p.read_bandwidth_mib_s for p in placed)),
    )

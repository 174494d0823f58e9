"""Why nodes were refused, as numbers: counts per filter and the nearest nodes with their exact shortfall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine import filters
from scheduling.engine.filters import device_busy, node_power
from scheduling.engine.filters.cut import Cut, free_but_for_foreign, lacks_memory
from scheduling.engine.frame import Frame, frame_of, whole_frame
from scheduling.engine.ledger import Ledger
from scheduling.engine.quantities import Bools, Ints
from scheduling.engine.shapes import Demand
from scheduling.engine.types import WHOLE_MILLI, FilterCount, NearMiss, ReasonCode, Refusal

NEAR_AT_MOST = 5
_NEAR_FROM = filters.number_of(ReasonCode.DEVICE_TOO_SMALL)
_UNMET = 1 << 60

MEMORY_CODES = frozenset(
    {
        ReasonCode.DEVICE_TOO_SMALL,
        ReasonCode.DEVICE_MEMORY_TOTAL,
        ReasonCode.DEVICE_MEMORY_PIECE,
        ReasonCode.FOREIGN_USE,
    }
)


def filter_counts(counts: Ints) -> tuple[FilterCount, ...]:
    """Filters that removed nodes, in filter order."""
    return tuple(
        FilterCount(code, int(removed))
        for code, removed in zip(filters.CODES, counts[: filters.PASSED], strict=True)
        if removed
    )


def refusal_of(
    job: int, ledger: Ledger, demand: Demand, verdicts: Ints, first: Sequence[NearMiss] = ()
) -> Refusal:
    """The refusal of a job that no node takes. The dominant code is the last filter that removed nodes (no nodes at
    all: not ready). `first` are near misses that no single node explains.
    """
    counts = filter_counts(filters.counts(verdicts))
    code = counts[-1].code if counts else ReasonCode.NODE_NOT_READY
    near = (*first, *near_misses(ledger, demand, verdicts))[:NEAR_AT_MOST]
    return Refusal(job, code, len(verdicts), counts, near)


def near_misses(ledger: Ledger, demand: Demand, verdicts: Ints) -> tuple[NearMiss, ...]:
    """Nodes that came furthest, then with the least shortfall relative to the need, then by node id."""
    found: list[NearMiss] = []
    seen = np.flatnonzero(filters.counts(verdicts)[: filters.PASSED]).tolist()
    for number in reversed([each for each in seen if each >= _NEAR_FROM]):
        if len(found) < NEAR_AT_MOST and filters.CODES[number] not in filters.OF_THE_CLUSTER:
            nodes = np.flatnonzero(verdicts == number)
            found += _nearest(ledger, demand, filters.CODES[number], nodes, NEAR_AT_MOST - len(found))
    return tuple(found)


@dataclass(slots=True, eq=False)
class _Gap:
    """Per node what the failing filter needed and found, and the devices it looked at."""

    needed: Ints
    available: Ints
    devices: Bools


def _nearest(ledger: Ledger, demand: Demand, code: ReasonCode, nodes: Ints, wanted: int) -> list[NearMiss]:
    frame = whole_frame(ledger) if len(nodes) == len(ledger.state) else frame_of(ledger, nodes)
    gap = _host_gap(frame, demand, code) if code in _HOST else _device_gap(frame, demand, code)
    relative = (gap.needed - gap.available) * 1000 // np.maximum(gap.needed, 1)
    unknown = _unknown(frame, gap, code)
    order = np.lexsort((frame.node.id, gap.needed - gap.available, relative))[:wanted]
    return [
        NearMiss(
            node=int(frame.node.id[i]),
            code=code,
            needed=int(gap.needed[i]),
            available=None if unknown[i] else int(gap.available[i]),
            pieces=_pieces(frame, gap, code, i),
        )
        for i in order.tolist()
    ]


def _unknown(frame: Frame, gap: _Gap, code: ReasonCode) -> Bools:
    """Nodes of which nobody knows how much memory there is: of none of the devices looked at, or of the host."""
    if code in (ReasonCode.HOST_MEMORY_TOTAL, ReasonCode.HOST_MEMORY_FREE):
        return frame.node.host_total <= 0
    if code is not ReasonCode.DEVICE_TOO_SMALL:
        return np.zeros(len(frame), dtype=np.bool_)
    known = gap.devices & (frame.device.total >= 0)
    found: Bools = np.bincount(frame.device_node[known], minlength=len(frame)) == 0
    return found


def _pieces(frame: Frame, gap: _Gap, code: ReasonCode, node: int) -> tuple[int, ...]:
    if code not in MEMORY_CODES:
        return ()
    column = frame.device.total if code is ReasonCode.DEVICE_TOO_SMALL else frame.device.free
    found = column[(frame.device_node == node) & gap.devices]
    return tuple(sorted((int(x) for x in found if x > 0), reverse=True))


_HOST = frozenset(
    {
        ReasonCode.CORES_TOTAL,
        ReasonCode.CORES_FREE,
        ReasonCode.HOST_MEMORY_TOTAL,
        ReasonCode.HOST_MEMORY_FREE,
        ReasonCode.READ_BANDWIDTH,
        ReasonCode.NODE_POWER,
    }
)


def _host_gap(frame: Frame, demand: Demand, code: ReasonCode) -> _Gap:
    node, request = frame.node, demand.request
    columns: dict[ReasonCode, tuple[int | None, Ints]] = {
        ReasonCode.CORES_TOTAL: (request.cores, node.cores_total),
        ReasonCode.CORES_FREE: (request.cores, node.cores_free),
        ReasonCode.HOST_MEMORY_TOTAL: (request.host_memory_mib, node.host_total),
        ReasonCode.HOST_MEMORY_FREE: (request.host_memory_mib, node.host_free),
        ReasonCode.READ_BANDWIDTH: (
            request.read_bandwidth_mib_s,
            np.maximum(node.read_total - node.read_bandwidth, 0),
        ),
    }
    none = np.zeros(len(frame.device), dtype=np.bool_)
    if code is ReasonCode.NODE_POWER:
        return _Gap(_needed_mw(frame, demand), _room_mw(frame), none)
    needed, available = columns[code]
    return _Gap(np.full(len(frame), needed or 0, dtype=np.int64), available, none)


def _needed_mw(frame: Frame, demand: Demand) -> Ints:
    """What the job may add to each node's draw, in the pool that adds least; rounded up."""
    if not demand.wants_devices:
        return frame.node.core_mw * demand.request.cores
    least = np.full(len(frame), _UNMET, dtype=np.int64)
    for cut in filters.open_cuts(frame, demand):
        filters.narrow_until(frame, demand, cut, ReasonCode.NODE_POWER)
        pools = np.flatnonzero(cut.pools)
        np.minimum.at(least, frame.pool_node[pools], node_power.added_uw(frame, demand, cut)[pools])
    return -(-least // WHOLE_MILLI)


def _room_mw(frame: Frame) -> Ints:
    return np.maximum(frame.node.power_cap_mw - -(-frame.node.draw_uw // WHOLE_MILLI), 0)


def _device_gap(frame: Frame, demand: Demand, code: ReasonCode) -> _Gap:
    """For a job that may take several numbers of devices, per node the number that leaves the least shortfall."""
    best: _Gap | None = None
    for cut in filters.open_cuts(frame, demand):
        filters.narrow_until(frame, demand, cut, code)
        gap = _gap_of_cut(frame, demand, cut, code)
        if best is None:
            best = gap
        else:
            better = gap.needed - gap.available < best.needed - best.available
            best.needed = np.where(better, gap.needed, best.needed)
            best.available = np.where(better, gap.available, best.available)
            best.devices = np.where(better[frame.device_node], gap.devices, best.devices)
    assert best is not None
    return best


def _gap_of_cut(frame: Frame, demand: Demand, cut: Cut, code: ReasonCode) -> _Gap:
    """Pools that an earlier filter took out for this number of devices do not count."""
    devices = cut.devices & cut.pools[frame.device_pool]
    if code is ReasonCode.DEVICE_COUNT or code is ReasonCode.DEVICE_BUSY:
        idle = device_busy.unbooked(frame, demand, cut)
        counted = devices if code is ReasonCode.DEVICE_COUNT else devices & idle
        needed = np.full(len(frame.pools), cut.count, dtype=np.int64)
        return _best_pool(frame, cut, devices, needed, frame.count_by_pool(counted))
    if code is ReasonCode.DEVICE_MEMORY_TOTAL:
        free = np.where(devices, free_but_for_foreign(frame, cut), 0)
        needed = np.full(len(frame.pools), cut.count * demand.need_mib(cut.piece or 0), dtype=np.int64)
        return _best_pool(frame, cut, devices, needed, frame.sum_by_pool(free))
    count = 1 if code is ReasonCode.DEVICE_TOO_SMALL else cut.count
    needed, available = _device_amounts(frame, demand, cut, code)
    row = _ranked(frame, needed - available, devices, count)
    found = row >= 0
    return _best_pool(
        frame, cut, devices, np.where(found, needed[row], _UNMET), np.where(found, available[row], 0)
    )


def _device_amounts(frame: Frame, demand: Demand, cut: Cut, code: ReasonCode) -> tuple[Ints, Ints]:
    """Per device what it would need and what it has, in MiB or milli."""
    if code is ReasonCode.DEVICE_COMPUTE:
        compute = frame.device.compute_free
        return np.where(lacks_memory(frame, demand, cut), compute, cut.milli), compute
    if code is ReasonCode.DEVICE_TOO_SMALL:
        return np.full(len(frame.device), cut.piece or 0, dtype=np.int64), np.maximum(frame.device.total, 0)
    if code is ReasonCode.DEVICE_MEMORY_PIECE:
        return cut.need, free_but_for_foreign(frame, cut)
    clean = np.maximum(np.maximum(frame.device.allocatable, frame.device.foreign), 1)
    alone = cut.alone | demand.whole
    needed = np.where(alone, clean, cut.need)
    return needed, np.where(alone, clean - frame.device.foreign, frame.device.free)


def _best_pool(frame: Frame, cut: Cut, devices: Bools, needed: Ints, available: Ints) -> _Gap:
    """Per node the pool that is still in and has the least shortfall."""
    needed = np.where(cut.pools, needed, _UNMET)
    order = np.lexsort((needed - available, frame.pool_node))
    nodes, first = np.unique(frame.pool_node[order], return_index=True)
    gap = _Gap(np.full(len(frame), _UNMET, dtype=np.int64), np.zeros(len(frame), dtype=np.int64), devices)
    gap.needed[nodes] = needed[order[first]]
    gap.available[nodes] = available[order[first]]
    return gap


def _ranked(frame: Frame, shortfall: Ints, devices: Bools, rank: int) -> Ints:
    """Per pool the device with the rank-th smallest shortfall among the marked ones, -1 where there are fewer."""
    rows = np.flatnonzero(devices)
    pool = frame.device_pool[rows]
    order = np.lexsort((shortfall[rows], pool))
    sizes = np.bincount(pool, minlength=len(frame.pools))
    starts = np.cumsum(sizes) - sizes
    found = np.full(len(frame.pools), -1, dtype=np.int64)
    enough = sizes >= rank
    found[enough] = rows[order][starts[enough] + rank - 1]
    return found

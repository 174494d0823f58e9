"""Which devices of a pool a job would get: healthy before suspect, beside free cores, then best linked or tightest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduling.engine.columns import layout_number
from scheduling.engine.filters import Filtered
from scheduling.engine.filters.cut import Cut
from scheduling.engine.frame import Frame
from scheduling.engine.links import best_subset
from scheduling.engine.quantities import Bools, Ints
from scheduling.engine.rows import MASK_BITS, Rows, rows_of_nodes
from scheduling.engine.shapes import Demand


def fit(frame: Frame, demand: Demand, filtered: Filtered) -> Rows:
    """One row per pool (or node) that passed, in the frame's order; each pool takes the least number of devices that
    works.
    """
    passed = filtered.passed()
    if not demand.wants_devices:
        return rows_of_nodes(np.flatnonzero(passed))
    open_pools = passed[frame.pool_node]
    groups = []
    for cut in filtered.cuts:
        pools = np.flatnonzero(cut.pools & open_pools)
        open_pools = open_pools & ~cut.pools
        if len(pools):
            groups.append((cut, pools, _choose(frame, demand, cut, pools)))
    return _join(frame, groups)


def _join(frame: Frame, groups: Sequence[tuple[Cut, Ints, Ints]]) -> Rows:
    width = max((cut.count for cut, _, _ in groups), default=0)
    if not groups:
        none = np.empty((0, width), dtype=np.int64)
        empty = np.empty(0, dtype=np.int64)
        return Rows(empty, empty, none, none, none)
    pools = np.concatenate([pools for _, pools, _ in groups])
    chosen = np.concatenate([_padded(chosen, width, -1) for _, _, chosen in groups])
    memory = np.concatenate([_padded(cut.memory[chosen], width, 0) for cut, _, chosen in groups])
    milli = np.concatenate([_padded(cut.milli[chosen], width, 0) for cut, _, chosen in groups])
    if len(groups) > 1:
        order = np.argsort(pools, kind="stable")
        pools, chosen, memory, milli = pools[order], chosen[order], memory[order], milli[order]
    return Rows(frame.pool_node[pools], pools, chosen, memory, milli)


def _padded(columns: Ints, width: int, filler: int) -> Ints:
    missing = width - columns.shape[1]
    return np.pad(columns, ((0, 0), (0, missing)), constant_values=filler) if missing else columns


def _choose(frame: Frame, demand: Demand, cut: Cut, pools: Ints) -> Ints:
    """Device rows, one line per pool, ascending."""
    asked = np.zeros(len(frame.pools), dtype=np.bool_)
    asked[pools] = True
    offered = cut.devices & asked[frame.device_pool]
    if cut.count == 1 and not demand.whole:
        return _tightest(frame, demand, offered)
    return _best_linked(frame, cut.count, _preferred(frame, demand, offered, cut.count), pools)


def _near_cores(frame: Frame, demand: Demand) -> Bools:
    """Devices whose NUMA node has all the job's cores free, or that have no preference."""
    if not len(frame.slot):
        return np.ones(len(frame.device), dtype=np.bool_)
    return (frame.device_slot < 0) | (frame.slot.free[frame.device_slot] >= demand.request.cores)


def _tightest(frame: Frame, demand: Demand, offered: Bools) -> Ints:
    """Per pool the one device with the least left: healthy, near free cores, least free compute, least free memory,
    lowest position.
    """
    rows = np.flatnonzero(offered)
    device, far = frame.device, ~_near_cores(frame, demand)
    pool = frame.device_pool[rows]
    order = np.lexsort(
        (
            device.position[rows],
            device.free[rows],
            device.compute_free[rows],
            far[rows],
            device.suspect[rows],
            pool,
        )
    )
    first = np.unique(pool[order], return_index=True)[1]
    chosen: Ints = rows[order[first]].reshape(-1, 1)
    return chosen


def _preferred(frame: Frame, demand: Demand, offered: Bools, count: int) -> Bools:
    """Healthy devices near free cores where a pool has enough of them, else its healthy ones, else all."""
    healthy = offered & ~frame.device.suspect
    kept = offered
    for better in (healthy, healthy & _near_cores(frame, demand)):
        enough = frame.count_by_pool(better) >= count
        kept = np.where(enough[frame.device_pool], better, kept)
    return kept


def _best_linked(frame: Frame, count: int, offered: Bools, pools: Ints) -> Ints:
    masks = _masks(frame, offered, pools)
    layouts = frame.pool.layout[pools].tolist()
    memo: dict[tuple[int, int], tuple[int, ...]] = {}
    picked = []
    for number, mask in zip(layouts, masks, strict=True):
        if (number, mask) not in memo:
            memo[number, mask] = best_subset(layout_number(frame.state.interned, number), mask, count)
        picked.append(memo[number, mask])
    positions = np.array(picked, dtype=np.int64).reshape(len(pools), count)
    return frame.pool_start[pools][:, None] + positions


def _masks(frame: Frame, offered: Bools, pools: Ints) -> list[int]:
    """Per pool the offered positions as a bit mask."""
    rows = np.flatnonzero(offered)
    position, pool = frame.device.position[rows], frame.device_pool[rows]
    if len(position) and int(position.max()) >= MASK_BITS:
        large = dict.fromkeys(pools.tolist(), 0)
        for p, bit in zip(pool.tolist(), position.tolist(), strict=True):
            large[p] |= 1 << bit
        return list(large.values())
    masks = np.zeros(len(frame.pools), dtype=np.int64)
    np.bitwise_or.at(masks, pool, np.int64(1) << position)
    found: list[int] = masks[pools].tolist()
    return found

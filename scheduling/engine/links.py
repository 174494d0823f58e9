"""How well devices of one node are linked: a value per pair in ppm, and the best-linked subset of a pool."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from scheduling.engine.quantities import Ints
from scheduling.engine.types import PPM, DeviceInfo, LinkInfo

_LANES = re.compile(r"NV(\d+)")
_MB_S_PER_NVLINK_LANE = 25_000
_FULL_MB_S = 300_000
_DIRECT = frozenset(
    {"HCCS", "HCCS_SW", "SIO", "UB", "XGMI", "MX", "METAX", "METAXLINK", "MT", "NV", "NVSWITCH"}
)
_DIRECT_FLOOR_PPM = 600_000
# PIB lies between PIX and PHB in Ascend's order; AMD's PCIE may be any path, also the longest.
_PATH_PPM = {
    "PIX": 500_000,
    "PXB": 400_000,
    "PIB": 400_000,
    "PHB": 300_000,
    "NODE": 200_000,
    "SYS": 100_000,
    "PCIE": 100_000,
}
_SAME_NUMA_PPM = _PATH_PPM["NODE"]
_UNKNOWN_PATH_PPM = _PATH_PPM["SYS"]
_ENUMERATE_AT_MOST = 16
# Where subsets grow from in larger pools: beyond this many, evenly spread ones.
_STARTS_AT_MOST = 64
# Below every sum of links.
_CHOSEN = -(1 << 60)


@dataclass(frozen=True, slots=True)
class Layout:
    """Link values between the positions of a pool (row by row) and the NUMA node of each position; equal layouts are
    shared by nodes.
    """

    size: int
    values: tuple[int, ...]
    numas: tuple[int | None, ...]


def is_direct(kind: str) -> bool:
    """Whether a link leads from device to device, not over PCIe or between sockets; an unknown kind does not."""
    return kind.upper() in _DIRECT or _LANES.fullmatch(kind.upper()) is not None


def link_ppm(link: LinkInfo) -> int:
    """Direct links lie between 600,000 and PPM by bandwidth (full at 300 GB/s; the vendor's word alone counts
    900,000), paths over PCIe below, where an unknown kind counts as the longest.
    """
    kind = link.kind.upper()
    if not is_direct(kind):
        return _PATH_PPM.get(kind, _UNKNOWN_PATH_PPM)
    if kind == "NVSWITCH":
        return PPM
    match = _LANES.fullmatch(kind)
    lanes = int(match.group(1)) if match else link.lanes if kind == "NV" else None
    bandwidth = (
        link.bandwidth_mb_s if link.bandwidth_mb_s is not None else lanes and lanes * _MB_S_PER_NVLINK_LANE
    )
    if bandwidth is None:
        return 900_000
    return _DIRECT_FLOOR_PPM + (PPM - _DIRECT_FLOOR_PPM) * min(bandwidth, _FULL_MB_S) // _FULL_MB_S


def layout_of(pool: Sequence[DeviceInfo], links: Sequence[LinkInfo]) -> Layout:
    """The layout of these devices; a pair without a reported link counts as a slow direct one within a link island,
    else by NUMA nodes, as the longest path it may have.
    """
    position = {device.device: i for i, device in enumerate(pool)}
    size = len(pool)
    values = [[_assumed(a, b) for b in pool] for a in pool]
    for link in links:
        a, b = position.get(link.a), position.get(link.b)
        if a is not None and b is not None and a != b:
            values[a][b] = values[b][a] = link_ppm(link)
    flat = tuple(values[a][b] if a != b else 0 for a in range(size) for b in range(size))
    return Layout(size, flat, tuple(_numa(device) for device in pool))


@lru_cache(maxsize=65_536)
def best_subset(layout: Layout, available: int, count: int) -> tuple[int, ...]:
    """The `count` positions of the bit mask `available` to give away, ascending.

    Best first: link value of the subset, fewest NUMA nodes, link value of what stays available, lowest positions.
    """
    positions = [i for i in range(layout.size) if available >> i & 1]
    if len(positions) == count:
        return tuple(positions)
    if len(positions) > _ENUMERATE_AT_MOST:
        return _grown_subset(layout, positions, count)
    matrix = _matrix(layout)[np.ix_(positions, positions)]
    chosen = _combinations(len(positions), count)
    within, least = _sums_and_least(matrix, chosen)
    pairs = max(1, count * (count - 1) // 2)
    value = (within // pairs + least) // 2
    rest = _rest_sum(matrix, chosen, within)
    numas = _numa_counts([layout.numas[i] for i in positions], chosen)
    best = np.lexsort((np.arange(len(chosen)), -rest, numas, -value))[0]
    return tuple(positions[i] for i in chosen[best].tolist())


@lru_cache(maxsize=65_536)
def subset_ppm(layout: Layout, mask: int) -> int:
    """Link value of the positions of a bit mask: the mean of average and weakest pair; PPM for a single device."""
    positions = [position for position in range(layout.size) if mask >> position & 1]
    return _value_ppm(_matrix(layout), np.array(positions, dtype=np.int64))


def _assumed(a: DeviceInfo, b: DeviceInfo) -> int:
    if a.link_island is not None and a.link_island == b.link_island:
        return _DIRECT_FLOOR_PPM
    return _SAME_NUMA_PPM if _numa(a) is not None and _numa(a) == _numa(b) else _UNKNOWN_PATH_PPM


def _numa(device: DeviceInfo) -> int | None:
    return None if device.numa is None or device.numa < 0 else device.numa


@lru_cache(maxsize=4096)
def _matrix(layout: Layout) -> Ints:
    return np.array(layout.values, dtype=np.int64).reshape(layout.size, layout.size)


@lru_cache(maxsize=256)
def _combinations(size: int, count: int) -> Ints:
    return np.array(list(combinations(range(size), count)), dtype=np.int64).reshape(-1, count)


def _sums_and_least(matrix: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    within = np.zeros(len(chosen), dtype=np.int64)
    least = np.full(len(chosen), PPM, dtype=np.int64)
    for a, b in combinations(range(chosen.shape[1]), 2):
        pair = matrix[chosen[:, a], chosen[:, b]]
        within += pair
        np.minimum(least, pair, out=least)
    return within, least


def _rest_sum(matrix: Ints, chosen: Ints, within: Ints) -> Ints:
    """Link sum among those left: all pairs, less the pairs that touch the chosen ones."""
    touching = matrix.sum(axis=1)[chosen].sum(axis=1) - within
    return matrix.sum() // 2 - touching


def _numa_counts(numas: Sequence[int | None], chosen: Ints) -> Ints:
    ordered = np.sort(np.array([-1 if n is None else n for n in numas], dtype=np.int64)[chosen], axis=1)
    return 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)


def _grown_subset(layout: Layout, positions: Sequence[int], count: int) -> tuple[int, ...]:
    """For pools too large to try every subset: start from each position, or from some of very many, add the
    best-linked next one, keep the best result. All starts grow at once, with sums that go on from those of the step
    before.
    """
    matrix = _matrix(layout)[np.ix_(positions, positions)]
    starts = np.arange(min(len(positions), _STARTS_AT_MOST), dtype=np.int64)
    newest: Ints = starts * len(positions) // len(starts)
    chosen = np.empty((len(starts), count), dtype=np.int64)
    sums = np.zeros((len(starts), len(positions)), dtype=np.int64)
    for step in range(count):
        chosen[:, step] = newest
        sums += matrix[newest]
        # A link to itself: whoever is chosen is never the best-linked one again.
        sums[starts, newest] = _CHOSEN
        newest = sums.argmax(axis=1)
    grown = np.unique(np.sort(chosen, axis=1), axis=0)
    values = [_value_ppm(matrix, subset) for subset in grown]
    # Ascending subsets: the first of the best is the one with the lowest positions.
    return tuple(positions[i] for i in grown[int(np.argmax(values))].tolist())


def _value_ppm(matrix: Ints, subset: Ints) -> int:
    """As `subset_ppm`, of positions of a link matrix."""
    if len(subset) < 2:
        return PPM
    pairs = matrix[np.ix_(subset, subset)][np.triu_indices(len(subset), 1)]
    return (int(pairs.sum()) // len(pairs) + int(pairs.min())) // 2

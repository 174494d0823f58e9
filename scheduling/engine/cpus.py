"""Which cores a job gets on its node: near its devices, whole physical cores first, fast ones for compute, slow ones
for data work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine.ledger import Ledger
from scheduling.engine.quantities import Ints
from scheduling.engine.shapes import Demand
from scheduling.engine.state import ClusterState
from scheduling.engine.types import UNKNOWN, CpuClass

# Core numbers of one socket stay below this many bits.
_CORE_BITS = 32
_LOADER_SHARE_COMPUTE = 4
_LOADER_SHARE_DATA = 2


@dataclass(frozen=True, slots=True, eq=False)
class CoreMap:
    """The physical cores of one node in order of socket and core: which each CPU row belongs to, and what each is.

    `plain` is the whole order, for compute and for data work, where nothing else matters: one NUMA node, no siblings;
    `rows` are the CPU rows of each core and left out then.
    """

    of_cpu: Ints
    size: Ints
    numas: Ints
    numa_of_core: Ints
    mhz: Ints
    rows: tuple[Ints, ...]
    plain: tuple[Ints, Ints] | None


def choose_cores(ledger: Ledger, demand: Demand, node: int, near: Sequence[int]) -> tuple[int, ...]:
    """CPU table rows for a job, in order of preference, exactly as many as it asks; the node must have them free.

    `near` are the NUMA nodes of its devices, empty when it has none or they have no preference. Written order of
    physical cores: near before far; a NUMA node that holds the whole job before one that does not, tightest first;
    wholly free cores before those whose sibling somebody has; fast first (compute) or slow first (data); socket and
    core number. Within a NUMA node an odd rest takes a core with just as many free CPUs before it splits one.
    """
    cores = core_map(ledger.state, node)
    first, last = ledger.state.offsets.cpu[node], ledger.state.offsets.cpu[node + 1]
    is_free = ledger.cpu.free[first:last]
    if cores.plain is not None:
        line = cores.plain[demand.cpu_class is CpuClass.DATA]
        fastest = line[is_free[line]][: demand.request.cores]
        return tuple((first + fastest).tolist())
    free = np.bincount(cores.of_cpu[is_free], minlength=len(cores.size)).astype(np.int64)
    ranks = _numa_ranks(cores, free, demand.request.cores, near)
    speed = cores.mhz if demand.cpu_class is CpuClass.DATA else -cores.mhz
    order = np.lexsort((speed, free < cores.size, ranks))
    order = order[free[order] > 0]
    picked = _fill(order.tolist(), free.tolist(), ranks.tolist(), demand.request.cores)
    chosen: list[int] = []
    for core in picked:
        rows = cores.rows[core]
        chosen += (first + rows[is_free[rows]]).tolist()
    return tuple(chosen[: demand.request.cores])


class CoreChoices:
    """`choose_cores` for one ledger, remembered as long as a node stays what it is."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: dict[tuple[int, int, CpuClass, tuple[int, ...]], tuple[int, tuple[int, ...]]] = {}

    def of(self, demand: Demand, node: int, slots: tuple[int, ...]) -> tuple[int, ...]:
        """CPU table rows for a job whose devices lie beside these NUMA slots."""
        key = (node, demand.request.cores, demand.cpu_class, slots)
        version = int(self._ledger.versions[node])
        known = self._known.get(key)
        if known is not None and known[0] == version:
            return known[1]
        chosen = choose_cores(self._ledger, demand, node, numas_of(self._ledger, slots))
        self._known[key] = (version, chosen)
        return chosen


def split_loader(ledger: Ledger, demand: Demand, rows: Sequence[int], *, isolate: bool) -> tuple[int, ...]:
    """The CPU rows kept for data loaders: the least preferred quarter (half for data work), whole physical cores if
    possible.
    """
    if not isolate or not demand.wants_devices or len(rows) < 2:
        return ()
    share = _LOADER_SHARE_DATA if demand.cpu_class is CpuClass.DATA else _LOADER_SHARE_COMPUTE
    count = max(1, len(rows) // share)
    groups: dict[tuple[int, int], list[int]] = {}
    for row in rows:
        groups.setdefault((int(ledger.cpu.socket[row]), int(ledger.cpu.core[row])), []).append(row)
    loader: list[int] = []
    for group in reversed(list(groups.values())):
        if len(loader) + len(group) <= count:
            loader += group
    rest = [row for row in reversed(rows) if row not in loader]
    return tuple(loader + rest[: count - len(loader)])


def core_map(state: ClusterState, node: int) -> CoreMap:
    """The node's physical cores, computed once per state version."""
    return state.derived(("core-map", node), lambda: _core_map(state, node))


def numas_of(ledger: Ledger, slots: Sequence[int]) -> tuple[int, ...]:
    """NUMA nodes behind slot rows, unknown ones left out."""
    numas = (int(ledger.slot.numa[slot]) for slot in slots)
    return tuple(numa for numa in numas if numa != UNKNOWN)


def _core_map(state: ClusterState, node: int) -> CoreMap:
    here = slice(int(state.offsets.cpu[node]), int(state.offsets.cpu[node + 1]))
    keys = (state.cpu.socket[here] << _CORE_BITS) + state.cpu.core[here]
    found, of_cpu = np.unique(keys, return_inverse=True)
    of_cpu = of_cpu.astype(np.int64)
    mhz = np.full(len(found), UNKNOWN, dtype=np.int64)
    np.maximum.at(mhz, of_cpu, state.cpu.mhz[here])
    size = np.bincount(of_cpu, minlength=len(found)).astype(np.int64)
    cpu_of = np.argsort(of_cpu, kind="stable")
    first = np.cumsum(size) - size
    numas, numa_of_core = np.unique(state.cpu.numa[here][cpu_of[first]], return_inverse=True)
    if len(found) == len(of_cpu) and len(numas) <= 1:
        plain = (cpu_of[np.argsort(-mhz, kind="stable")], cpu_of[np.argsort(mhz, kind="stable")])
        return CoreMap(of_cpu, size, numas, numa_of_core.astype(np.int64), mhz, (), plain)
    rows = tuple(cpu_of[start : start + count] for start, count in zip(first, size, strict=True))
    return CoreMap(of_cpu, size, numas, numa_of_core.astype(np.int64), mhz, rows, None)


def _numa_ranks(cores: CoreMap, free: Ints, wanted: int, near: Sequence[int]) -> Ints:
    """Place of each core's NUMA node in the written order."""
    held = np.bincount(cores.numa_of_core, weights=free, minlength=len(cores.numas)).astype(np.int64)
    keys = [
        (bool(near) and numa not in near, count < wanted, count if count >= wanted else -count, numa)
        for numa, count in zip(cores.numas.tolist(), held.tolist(), strict=True)
    ]
    rank = {key: place for place, key in enumerate(sorted(keys))}
    return np.array([rank[key] for key in keys], dtype=np.int64)[cores.numa_of_core]


def _fill(order: Sequence[int], free: Sequence[int], ranks: Sequence[int], wanted: int) -> list[int]:
    """Cores to take, in order; one that is larger than the rest waits until no core of its NUMA node fits the rest
    exactly.
    """
    picked: list[int] = []
    late: list[int] = []
    left = wanted
    for core in order:
        if left and late and ranks[core] != ranks[late[0]]:
            picked.append(late[0])
            left = 0
        if not left:
            break
        if free[core] <= left:
            picked.append(core)
            left -= free[core]
        else:
            late.append(core)
    if left and late:
        picked.append(late[0])
    return picked

"""The column tables of a cluster, and how one node becomes rows of them.

Integers are int64, flags bool. Names (models, node sets, link layouts) are interned numbers, UNKNOWN (-1) stands for
unknown. Within a node, devices are sorted by model, then index, then id, so that equal devices are neighbours: one
such run is a *pool*. One *slot* is the part of a node's CPUs that lies in one NUMA node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from scheduling.engine.links import Layout, layout_of
from scheduling.engine.partitions import blocked, partitioned, settled
from scheduling.engine.quantities import Bools, Ints, allocatable_mib, free_compute_milli, free_mib
from scheduling.engine.types import (
    AGENTLESS,
    PAUSED,
    UNKNOWN,
    WHOLE_MILLI,
    CpuInfo,
    DeviceHealth,
    DeviceInfo,
    NodeInfo,
)

_NAMES: dict[type, tuple[str, ...]] = {}
USABLE_HEALTH = frozenset({DeviceHealth.HEALTHY, DeviceHealth.SUSPECT})


def _names(table: type) -> tuple[str, ...]:
    found = _NAMES.get(table)
    if found is None:
        found = _NAMES[table] = tuple(f.name for f in fields(table))
    return found


class Table:
    """Columns of equal length."""

    def __len__(self) -> int:
        return len(getattr(self, _names(type(self))[0]))

    def pick(self, rows: Ints | slice) -> Self:
        """The same columns for these rows only."""
        return type(self)(*(getattr(self, name)[rows] for name in _names(type(self))))

    def copy(self) -> Self:
        """Columns of its own with the same values."""
        return type(self)(*(getattr(self, name).copy() for name in _names(type(self))))

    def splice(self, start: int, stop: int, block: Self) -> None:
        """Replace rows start..stop by the block: in place when it has as many rows, else by new arrays."""
        for name in _names(type(self)):
            old, new = getattr(self, name), getattr(block, name)
            if len(new) == stop - start:
                old[start:stop] = new
            else:
                setattr(self, name, np.concatenate([old[:start], new, old[stop:]]))

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """All parts below one another."""
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in _names(cls)))


@dataclass(slots=True)
class NodeTable(Table):
    """`draw_uw` (microwatts) is what the node draws: as measured, or by its bookings if that is more. `read_total`
    and `power_cap_mw` are UNKNOWN where nobody said.
    """

    id: Ints
    ready: Bools
    paused: Bools
    agentless: Bools
    observe_only: Bools
    runs_containers: Bools
    node_set: Ints
    cores_total: Ints
    cores_free: Ints
    host_total: Ints
    host_free: Ints
    read_bandwidth: Ints
    read_total: Ints
    devices_milli: Ints
    core_mw: Ints
    idle_uw: Ints
    draw_uw: Ints
    power_cap_mw: Ints


@dataclass(slots=True)
class DeviceTable(Table):
    """`slot` counts within the node, `position` within the pool; `power_mw` is 0 where the limit is unknown."""

    id: Ints
    model: Ints
    total: Ints
    allocatable: Ints
    free: Ints
    compute_free: Ints
    foreign: Ints
    usable: Bools
    suspect: Bools
    slot: Ints
    position: Ints
    power_mw: Ints


@dataclass(slots=True)
class PoolTable(Table):
    model: Ints
    size: Ints
    layout: Ints


@dataclass(slots=True)
class SlotTable(Table):
    numa: Ints
    free: Ints


@dataclass(slots=True)
class CpuTable(Table):
    cpu: Ints
    core: Ints
    socket: Ints
    numa: Ints
    mhz: Ints
    slot: Ints
    free: Bools


class Picked:
    """Some rows of a table; a column is picked when somebody first asks for it."""

    def __init__(self, table: Table, rows: Ints | slice, size: int) -> None:
        self._table, self._rows, self._size = table, rows, size

    def __getattr__(self, name: str) -> Ints:
        column: Ints = getattr(self._table, name)[self._rows]
        setattr(self, name, column)
        return column

    def __len__(self) -> int:
        return self._size


class Interner:
    """Numbers for equal values, in order of first appearance; nothing is ever decided by such a number."""

    def __init__(self) -> None:
        self.values: list[object] = []
        self._numbers: dict[object, int] = {}

    def copy(self) -> Interner:
        """A dictionary of its own with the same numbers."""
        twin = Interner()
        twin.values, twin._numbers = list(self.values), dict(self._numbers)
        return twin

    def number(self, value: object) -> int:
        """The value's number; UNKNOWN for None."""
        if value is None:
            return UNKNOWN
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self.values)
            self.values.append(value)
        return found

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Interned:
    """The dictionaries that all nodes of one state share."""

    models: Interner
    node_sets: Interner
    layouts: Interner


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of one node."""

    node: NodeTable
    device: DeviceTable
    pool: PoolTable
    slot: SlotTable
    cpu: CpuTable


def block_of(info: NodeInfo, interned: Interned) -> Block:
    """Rows of every table for one node, before its holds are hidden."""
    cpus = sorted(info.cpus, key=lambda c: c.cpu)
    numas = sorted({_numa(c.numa) for c in cpus})
    slot_of = {numa: i for i, numa in enumerate(numas)}
    cpu = _cpu_rows(cpus, slot_of)
    jobs_may = np.array([c.online and not c.reserved for c in cpus], dtype=np.bool_)
    slot = SlotTable(
        _ints(numas), np.bincount(cpu.slot[cpu.free], minlength=len(numas)).astype(np.int64)[: len(numas)]
    )
    devices = sort_devices(settled(info.devices))
    pools = _pools(devices)
    device = _device_rows(devices, pools, _DeviceSlots(info, slot_of), interned)
    layouts = [interned.layouts.number(layout_of(pool, info.links)) for pool in pools]
    models = [interned.models.number(pool[0].model) for pool in pools]
    pool_rows = PoolTable(_ints(models), _ints([len(pool) for pool in pools]), _ints(layouts))
    node = _node_row(info, int(jobs_may.sum()), int(cpu.free.sum()), interned)
    return Block(node, device, pool_rows, slot, cpu)


def sort_devices(devices: Sequence[DeviceInfo]) -> list[DeviceInfo]:
    """The order of devices within a node: model (unknown first), index, id."""
    return sorted(devices, key=lambda d: (d.model is not None, d.model or "", d.index, d.device))


def usable(devices: Sequence[DeviceInfo]) -> frozenset[int]:
    """Devices of a node that take jobs."""
    never = blocked(devices)
    return frozenset(
        d.device for d in devices if d.health in USABLE_HEALTH and not d.cordoned and d.device not in never
    )


def layout_number(interned: Interned, number: int) -> Layout:
    """The link layout behind a number of the pool table."""
    layout = interned.layouts.values[number]
    assert isinstance(layout, Layout)
    return layout


def _node_row(info: NodeInfo, cores_total: int, cores_free: int, interned: Interned) -> NodeTable:
    devices = len(info.devices) - len(partitioned(info.devices))
    return NodeTable(
        id=_ints([info.node]),
        ready=_flags([info.not_ready is None]),
        paused=_flags([info.not_ready == PAUSED]),
        agentless=_flags([info.not_ready == AGENTLESS]),
        observe_only=_flags([info.observe_only]),
        runs_containers=_flags([info.runs_containers]),
        node_set=_ints([interned.node_sets.number(info.node_set)]),
        cores_total=_ints([cores_total]),
        cores_free=_ints([cores_free]),
        host_total=_ints([info.memory_mib]),
        host_free=_ints([max(0, info.memory_mib - info.memory_booked_mib)]),
        read_bandwidth=_ints([info.read_bandwidth_booked_mib_s]),
        read_total=_ints([_known(info.read_bandwidth_total_mib_s)]),
        devices_milli=_ints([WHOLE_MILLI * devices]),
        core_mw=_ints([info.core_mw or 0]),
        idle_uw=_ints([WHOLE_MILLI * (info.idle_mw or 0)]),
        draw_uw=_ints([_draw_uw(info)]),
        power_cap_mw=_ints([_known(info.power_cap_mw)]),
    )


def _draw_uw(info: NodeInfo) -> int:
    """By the bookings: idle draw, each device's limit by its booked compute, each busy core; as measured if that is
    more.
    """
    on_devices = sum((d.power_limit_mw or 0) * min(d.compute_booked_milli, WHOLE_MILLI) for d in info.devices)
    steady_mw = (info.idle_mw or 0) + (info.core_mw or 0) * sum(c.booked for c in info.cpus)
    return max(on_devices + WHOLE_MILLI * steady_mw, WHOLE_MILLI * (info.measured_mw or 0))


def _known(value: int | None) -> int:
    return UNKNOWN if value is None else value


def _cpu_rows(cpus: Sequence[CpuInfo], slot_of: dict[int, int]) -> CpuTable:
    rows = [
        (
            c.cpu,
            c.core,
            c.socket,
            _numa(c.numa),
            UNKNOWN if c.max_mhz is None else c.max_mhz,
            slot_of[_numa(c.numa)],
        )
        for c in cpus
    ]
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 6)
    free = _flags([c.online and not c.reserved and not c.booked for c in cpus])
    cpu, core, socket, numa, mhz, slot = (np.ascontiguousarray(table[:, i]) for i in range(6))
    return CpuTable(cpu, core, socket, numa, mhz, slot, free)


class _DeviceSlots:
    """NUMA slot of a device: its NUMA node, else the only NUMA node of its CPU affinity, else no preference."""

    def __init__(self, info: NodeInfo, slot_of: dict[int, int]) -> None:
        self._slot_of = slot_of
        self._numa_of = {c.cpu: _numa(c.numa) for c in info.cpus}

    def of(self, device: DeviceInfo) -> int:
        numa = _numa(device.numa)
        if numa == UNKNOWN and device.cpu_affinity:
            near = {self._numa_of.get(cpu, UNKNOWN) for cpu in device.cpu_affinity}
            numa = near.pop() if len(near) == 1 else UNKNOWN
        return UNKNOWN if numa == UNKNOWN else self._slot_of.get(numa, UNKNOWN)


def _pools(devices: Sequence[DeviceInfo]) -> list[list[DeviceInfo]]:
    pools: list[list[DeviceInfo]] = []
    for device in devices:
        if pools and pools[-1][0].model == device.model:
            pools[-1].append(device)
        else:
            pools.append([device])
    return pools


def _device_rows(
    devices: Sequence[DeviceInfo],
    pools: Sequence[Sequence[DeviceInfo]],
    slots: _DeviceSlots,
    interned: Interned,
) -> DeviceTable:
    for_jobs = usable(devices)
    return DeviceTable(
        id=_ints([d.device for d in devices]),
        model=_ints([interned.models.number(d.model) for d in devices]),
        total=_ints([UNKNOWN if d.memory_total_mib is None else d.memory_total_mib for d in devices]),
        allocatable=_ints([allocatable_mib(d.memory_total_mib, d.memory_reserved_mib) for d in devices]),
        free=_ints([free_mib(d) for d in devices]),
        compute_free=_ints([free_compute_milli(d) for d in devices]),
        foreign=_ints([d.foreign_mib for d in devices]),
        usable=_flags([d.device in for_jobs for d in devices]),
        suspect=_flags([d.health is DeviceHealth.SUSPECT for d in devices]),
        slot=_ints([slots.of(d) for d in devices]),
        position=_ints([position for pool in pools for position in range(len(pool))]),
        power_mw=_ints([d.power_limit_mw or 0 for d in devices]),
    )


def _numa(numa: int | None) -> int:
    return UNKNOWN if numa is None or numa < 0 else numa


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _flags(values: Sequence[bool]) -> Bools:
    return np.array(values, dtype=np.bool_)

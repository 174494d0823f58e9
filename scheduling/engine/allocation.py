"""What one placement or hold takes of a node, as rows and amounts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from scheduling.engine.quantities import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """Rows of the state's tables (device and CPU rows at most once) and the amounts taken of them."""

    node: int
    devices: Ints
    memory_mib: Ints
    compute_milli: Ints
    cpus: Ints
    host_memory_mib: int
    read_bandwidth_mib_s: int


def rest_of(node: int, held: Iterable[Allocation], taken: Iterable[Allocation]) -> Allocation:
    """What is left of things held on a node once others took their share of it: nothing less than zero."""
    memory: Counter[int] = Counter()
    milli: Counter[int] = Counter()
    cpus: set[int] = set()
    host = reads = 0
    for sign, allocations in ((1, held), (-1, taken)):
        for a in allocations:
            memory.update({device: sign * mib for device, mib in _pairs(a.devices, a.memory_mib)})
            milli.update({device: sign * share for device, share in _pairs(a.devices, a.compute_milli)})
            cpus = cpus | set(a.cpus.tolist()) if sign > 0 else cpus - set(a.cpus.tolist())
            host += sign * a.host_memory_mib
            reads += sign * a.read_bandwidth_mib_s
    devices = sorted(device for device in memory if memory[device] > 0 or milli[device] > 0)
    return Allocation(
        node=node,
        devices=_ints(devices),
        memory_mib=_ints(max(0, memory[device]) for device in devices),
        compute_milli=_ints(max(0, milli[device]) for device in devices),
        cpus=_ints(sorted(cpus)),
        host_memory_mib=max(0, host),
        read_bandwidth_mib_s=max(0, reads),
    )


def _pairs(devices: Ints, amounts: Ints) -> list[tuple[int, int]]:
    return list(zip(devices.tolist(), amounts.tolist(), strict=True))


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), dtype=np.int64)

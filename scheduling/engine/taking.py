"""From what a decision or a promise names to rows of a state, and to what of it is there to take."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from scheduling.engine.allocation import Allocation
from scheduling.engine.ledger import Ledger
from scheduling.engine.shapes import Demand
from scheduling.engine.state import ClusterState
from scheduling.engine.types import UNKNOWN, Hold, Placed, Reservation, SliceChoice


def allocation_of(state: ClusterState, placed: Placed | Reservation) -> Allocation:
    """The rows of a place; KeyError where its node or a device of it is gone."""
    node = state.index_of(placed.node)
    rows = _device_rows(state, node)
    return _rows_of(state, node, placed, {rows[s.device]: s for s in placed.slices})


def held_rows(state: ClusterState, node: int, hold: Hold) -> Allocation:
    """What a hold names of this node (by row), as far as it is still there."""
    rows = _device_rows(state, node)
    return _rows_of(state, node, hold, {rows[s.device]: s for s in hold.slices if s.device in rows})


def _device_rows(state: ClusterState, node: int) -> dict[int, int]:
    first, last = int(state.offsets.device[node]), int(state.offsets.device[node + 1])
    return {device: first + i for i, device in enumerate(state.device.id[first:last].tolist())}


def _rows_of(
    state: ClusterState, node: int, placed: Placed | Reservation | Hold, slices: Mapping[int, SliceChoice]
) -> Allocation:
    first, last = int(state.offsets.cpu[node]), int(state.offsets.cpu[node + 1])
    return Allocation(
        node=node,
        devices=np.array(list(slices), dtype=np.int64),
        memory_mib=np.array([s.memory_mib for s in slices.values()], dtype=np.int64),
        compute_milli=np.array([s.compute_milli for s in slices.values()], dtype=np.int64),
        cpus=first + np.flatnonzero(np.isin(state.cpu.cpu[first:last], placed.cpus)),
        host_memory_mib=placed.host_memory_mib,
        read_bandwidth_mib_s=placed.read_bandwidth_mib_s,
    )


def as_far_as_free(ledger: Ledger, wanted: Allocation) -> Allocation:
    """What is there of it now."""
    return replace(
        wanted,
        memory_mib=np.minimum(wanted.memory_mib, ledger.device.free[wanted.devices]),
        compute_milli=np.minimum(wanted.compute_milli, ledger.device.compute_free[wanted.devices]),
        cpus=wanted.cpus[ledger.cpu.free[wanted.cpus]],
        host_memory_mib=min(wanted.host_memory_mib, int(ledger.node.host_free[wanted.node])),
        read_bandwidth_mib_s=min(wanted.read_bandwidth_mib_s, _reads_left(ledger, wanted)),
    )


def _reads_left(ledger: Ledger, wanted: Allocation) -> int:
    """What the node still serves; as much as is wanted where nobody knows."""
    total = int(ledger.node.read_total[wanted.node])
    return (
        wanted.read_bandwidth_mib_s
        if total < 0
        else max(0, total - int(ledger.node.read_bandwidth[wanted.node]))
    )


def with_what_must_be_free(
    state: ClusterState, places: Sequence[Reservation], demand: Demand
) -> tuple[Reservation, ...]:
    """The places with all the memory that the job must find free there to start, of which shared slices book less. Of
    replicas that share a device the last one needs it.
    """
    if demand.whole or demand.request.device_memory_mib is None:
        return tuple(places)
    found: list[Reservation] = []
    seen: set[int] = set()
    for place in reversed(places):
        found.append(replace(place, slices=_slices_free(state, place, demand, seen)))
        seen |= {part.device for part in place.slices}
    return tuple(reversed(found))


def _slices_free(
    state: ClusterState, place: Reservation, demand: Demand, but: Collection[int]
) -> tuple[SliceChoice, ...]:
    rows = allocation_of(state, place)
    parts = zip(place.slices, state.device.allocatable[rows.devices].tolist(), strict=True)
    return tuple(
        part
        if part.device in but
        else replace(part, memory_mib=max(part.memory_mib, min(demand.need_mib(part.memory_mib), most_mib)))
        for part, most_mib in parts
    )


def model_of(state: ClusterState, slices: tuple[SliceChoice, ...]) -> int:
    """The interned model of a placement, all slices of which are of one; UNKNOWN where nobody knows it or there are
    none.
    """
    device = slices[0].device if slices else UNKNOWN
    return int(max(state.device.model[state.device.id == device].tolist(), default=UNKNOWN))

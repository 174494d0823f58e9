"""Partitioned devices (MIG, vNPU): which of whole and slices may take jobs, and memory that several slices share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from scheduling.engine.types import DeviceInfo


def settled(devices: Sequence[DeviceInfo]) -> list[DeviceInfo]:
    """The devices with equal parts of the memory that several slices share, so that it counts once. What is reserved,
    foreign or used of it is shared out rounded up.
    """
    sharers = Counter(_memory(d) for d in devices if d.memory_group is not None)
    return [_part(d, sharers[_memory(d)]) if sharers.get(_memory(d), 1) > 1 else d for d in devices]


def blocked(devices: Sequence[DeviceInfo]) -> frozenset[int]:
    """Devices that take no jobs: wholes beside their slices, and slices whose whole is booked."""
    wholes = partitioned(devices)
    held = {
        d.device for d in devices if d.device in wholes and (d.memory_booked_mib or d.compute_booked_milli)
    }
    return wholes | {d.device for d in devices if d.parent in held}


def partitioned(devices: Sequence[DeviceInfo]) -> frozenset[int]:
    """Wholes whose slices are here beside them: the slices are the capacity then."""
    parents = {d.parent for d in devices}
    return frozenset(d.device for d in devices if d.device in parents)


def _memory(device: DeviceInfo) -> tuple[int | None, int | None]:
    return (device.parent, device.memory_group)


def _part(device: DeviceInfo, sharers: int) -> DeviceInfo:
    total, used = device.memory_total_mib, device.memory_used_mib
    return replace(
        device,
        memory_total_mib=None if total is None else total // sharers,
        memory_reserved_mib=-(-device.memory_reserved_mib // sharers),
        memory_used_mib=None if used is None else -(-used // sharers),
        foreign_mib=-(-device.foreign_mib // sharers),
    )

"""A node as it would be with nothing on it."""

from __future__ import annotations

from dataclasses import replace

from scheduling.engine.types import NodeInfo


def emptied(info: NodeInfo) -> NodeInfo:
    """Ready, and without bookings, holds, measured use and draw, or foreign use; broken devices stay broken."""
    return replace(
        info,
        not_ready=None,
        memory_booked_mib=0,
        read_bandwidth_booked_mib_s=0,
        holds=(),
        measured_mw=None,
        cpus=tuple(replace(cpu, booked=False) for cpu in info.cpus),
        devices=tuple(
            replace(device, memory_booked_mib=0, memory_used_mib=None, compute_booked_milli=0, foreign_mib=0)
            for device in info.devices
        ),
    )

"""Wire types of the memory guard; part of `agent.protocol`."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class PressureKind(StrEnum):
    """What is wrong with a job's memory: near its booking, or growing towards it without end."""

    NEAR = "near"
    LEAK = "leak"


class Pressure(msgspec.Struct, frozen=True):
    """A memory that a task is about to run out of, with the figures of the moment in which that began; of the device
    named, else of the host.
    """

    kind: PressureKind
    used_mib: int
    booked_mib: int
    device: str | None = None
    mib_per_hour: int | None = None


class DeviceUse(msgspec.Struct, frozen=True):
    """What a task uses of one device's memory; unknown where no tool tells it apart from others' use."""

    device: str
    memory_used_mib: int | None = None


class GuardRules(msgspec.Struct, frozen=True):
    """When a task's memory is an alert: above a share of what it booked of a shared device, of a whole one or of the
    host, until `clear_percent` points below; or growing all through a window, so that it would be full within a time.
    """

    shared_percent: int
    whole_percent: int
    host_percent: int
    clear_percent: int
    leak_window_s: int
    leak_within_s: int

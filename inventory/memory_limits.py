"""What keeps a job within the memory that it booked: the hardware, a control group of the node, or nobody. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

WHOLE_MILLI = 1000
NOT_ENFORCED = "memory-not-enforced"


class MemoryLimit(StrEnum):
    """HARDWARE: the whole device or hardware slice is the job's, and there is no more of it. CONTROL_GROUP: the node's
    kernel ends a job that goes beyond. WATCHED: an alert is raised, nothing is enforced. NONE: nothing was booked.
    """

    HARDWARE = "hardware"
    CONTROL_GROUP = "control-group"
    WATCHED = "watched"
    NONE = "none"


def of_device(compute_milli: int) -> MemoryLimit:
    """Of a booked share of a device; sharers are kept apart by nobody."""
    return MemoryLimit.HARDWARE if compute_milli >= WHOLE_MILLI else MemoryLimit.WATCHED


def of_host(facts: Mapping[str, Any], *, memory_mib: int | None, in_container: bool) -> MemoryLimit | None:
    """Of the host memory of a job on a node with these facts, as the node tells now; None where it never told."""
    if memory_mib is None:
        return MemoryLimit.NONE
    if in_container:
        return MemoryLimit.CONTROL_GROUP
    warnings = facts.get("warnings")
    if warnings is None:
        return None
    told = {entry["code"] for entry in warnings if isinstance(entry, dict)}
    return MemoryLimit.WATCHED if NOT_ENFORCED in told else MemoryLimit.CONTROL_GROUP

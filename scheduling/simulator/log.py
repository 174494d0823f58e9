"""The event log of a run: what happened when, enough to check a run without knowing how it was made."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum

from scheduling.simulator.cluster import Part


class Happened(StrEnum):
    """Kinds of events."""

    SUBMIT = "submit"
    PLACE = "place"
    SPEED = "speed"
    END = "end"
    REQUEUE = "requeue"
    GIVE_UP = "give-up"
    NODE_FAILED = "node-failed"
    NODE_READY = "node-ready"


Event = dict[str, object]
Sink = Callable[[Event], None]


def part_of(part: Part) -> dict[str, object]:
    """A booking: node, [device, MiB, milli] each, logical CPUs."""
    return {"node": part.node, "devices": [list(given) for given in part.devices], "cpus": list(part.cpus)}


def line_of(event: Event) -> str:
    """One line of the log file."""
    return json.dumps(event, separators=(",", ":"), allow_nan=False) + "\n"

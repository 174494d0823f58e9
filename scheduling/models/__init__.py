"""Placements with their bookings, decisions, cycles, desired state of nodes, and logs."""

from scheduling.models.decision import Cycle, Decision, Outcome, ShapeReason
from scheduling.models.desired import DesiredState
from scheduling.models.log import LogChunk
from scheduling.models.placement import DEAD_PHASES, LIVE_PHASES, CoreBooking, Hold, Phase, Placement, Slice

__all__ = [
    "DEAD_PHASES",
    "LIVE_PHASES",
    "CoreBooking",
    "Cycle",
    "Decision",
    "DesiredState",
    "Hold",
    "LogChunk",
    "Outcome",
    "Phase",
    "Placement",
    "ShapeReason",
    "Slice",
]

"""Placements with their bookings, decisions, cycles and their recordings, desired state of nodes, pauses,
logs, and jobs of the past.
"""

from scheduling.models.decision import Cycle, Decision, Outcome, ShapeReason
from scheduling.models.desired import DesiredState
from scheduling.models.imported import ImportedJob
from scheduling.models.log import LogChunk
from scheduling.models.pause import Pause
from scheduling.models.placement import (
    DEAD_PHASES,
    LIVE_PHASES,
    STARTED_PHASES,
    CoreBooking,
    Hold,
    Phase,
    Placement,
    Slice,
)
from scheduling.models.promise import Promise
from scheduling.models.pulse import Pulse
from scheduling.models.recording import ExpectedJobs, Recording, RecordingWish
from scheduling.models.usage import TeamUsage, UsageCount

__all__ = [
    "DEAD_PHASES",
    "LIVE_PHASES",
    "STARTED_PHASES",
    "CoreBooking",
    "Cycle",
    "Decision",
    "DesiredState",
    "ExpectedJobs",
    "Hold",
    "ImportedJob",
    "LogChunk",
    "Outcome",
    "Pause",
    "Phase",
    "Placement",
    "Promise",
    "Pulse",
    "Recording",
    "RecordingWish",
    "ShapeReason",
    "Slice",
    "TeamUsage",
    "UsageCount",
]

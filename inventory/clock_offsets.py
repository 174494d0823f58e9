"""Judges a node's clock: an alert only when its offset is surely too large, cleared when it is back."""

from __future__ import annotations

from agent.protocol import ClockSample
from controlplane.alerts.models import Severity
from controlplane.alerts.service import clear_alert, raise_alert
from inventory import plausible
from inventory.models import Node, NodeContact

CLOCK_ALERT = "clock-offset"


def note_clock(node: Node, contact: NodeContact, sample: ClockSample | None, *, limit_ms: int) -> None:
    """Sets the clock columns of `contact` (the caller saves them) and raises or clears the alert."""
    if sample is None:
        return
    offset_us = plausible.CLOCK_US.clean(sample.offset_us)
    uncertainty_us = plausible.CLOCK_US.clean(abs(sample.uncertainty_us))
    contact.clock_offset_us, contact.clock_uncertainty_us = offset_us, uncertainty_us
    if offset_us is None or uncertainty_us is None:
        return
    alarm = judge(offset_us, uncertainty_us, limit_us=limit_ms * 1000, alarm=contact.clock_alarm)
    if alarm and not contact.clock_alarm:
        details = {"name": node.name, "offset_us": offset_us, "uncertainty_us": uncertainty_us}
        raise_alert(CLOCK_ALERT, Severity.WARNING, subject_type="node", subject_id=node.pk, details=details)
    elif contact.clock_alarm and not alarm:
        clear_alert(CLOCK_ALERT, subject_type="node", subject_id=node.pk)
    contact.clock_alarm = alarm


def judge(offset_us: int, uncertainty_us: int, *, limit_us: int, alarm: bool) -> bool:
    """The alert rises when the offset is surely above the limit, and falls when its best estimate is within."""
    if abs(offset_us) - uncertainty_us > limit_us:
        return True
    return alarm and abs(offset_us) > limit_us

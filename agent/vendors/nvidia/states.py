"""What NVIDIA's words for a broken device mean."""

from __future__ import annotations

import re

from agent.protocol import CheckResult

LOST = re.compile(r"gpu is lost|fallen off the bus|gpu lost", re.IGNORECASE)
RESET = re.compile(r"requires reset|reset required|gpu reset|reboot", re.IGNORECASE)
ERROR = re.compile(r"\bERR!?(?=\W|$)|unknown error", re.IGNORECASE)
DRAIN = re.compile(r"drain", re.IGNORECASE)


def judge_text(text: str) -> tuple[CheckResult, str] | None:
    """Result and code for a device's error text; None if it names no error."""
    if LOST.search(text):
        return CheckResult.FATAL, "lost"
    if DRAIN.search(text):
        return CheckResult.FAILED, "drain-recommended"
    if RESET.search(text):
        return CheckResult.FATAL, "reset-required"
    if ERROR.search(text):
        return CheckResult.FAILED, "error-state"
    return None

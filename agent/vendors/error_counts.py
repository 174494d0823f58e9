"""Running counts of uncorrectable errors: only what is new counts against a device, never a lifetime's total."""

from __future__ import annotations

from agent.protocol import Check, CheckResult
from agent.vendors.base import Reading


class ErrorCounts:
    """The last counts per device."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def judge(self, reading: Reading) -> Check:
        """The reading's check, failed where errors were added since the last look."""
        name, count = reading.check.device, reading.uncorrectable
        before = self._last.get(name)
        if count is not None:
            self._last[name] = count
        fatal = reading.check.result is CheckResult.FATAL
        if count is None or before is None or count <= before or fatal:
            return reading.check
        evidence = f"{count - before} new uncorrectable memory errors ({before} -> {count})"
        return Check(device=name, result=CheckResult.FAILED, code="ecc-uncorrectable", evidence=evidence)

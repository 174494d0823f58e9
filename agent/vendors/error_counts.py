"""Running counts of uncorrectable errors: only what is new counts against a device, never a lifetime's total."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agent.protocol import Check, CheckResult
from agent.vendors.base import Reading


class ErrorCounts:
    """The `last` counts per device, for whoever keeps them beyond this object."""

    def __init__(self, last: Mapping[str, int] | None = None) -> None:
        self.last = dict(last or {})

    def judge(self, reading: Reading) -> Reading:
        """The reading, with a failed check where errors were added since the last look; the worst comes first."""
        name, count = reading.check.device, reading.uncorrectable
        before = self.last.get(name)
        if count is not None:
            self.last[name] = count
        if count is None or before is None or count <= before:
            return reading
        evidence = f"{count - before} new uncorrectable memory errors ({before} -> {count})"
        added = Check(device=name, result=CheckResult.FAILED, code="ecc-uncorrectable", evidence=evidence)
        older = reading.check
        first, second = (older, added) if older.result is CheckResult.FATAL else (added, older)
        return msgspec.structs.replace(reading, check=first, findings=[second, *reading.findings])

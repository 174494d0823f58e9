"""NVIDIA's table of failed checks: what the words of its tools mean for a device."""

from __future__ import annotations

import re
from functools import lru_cache

from agent.protocol import Check, CheckResult
from agent.vendors.base import EVIDENCE_CHARS

FATAL, FAILED, UNKNOWN = CheckResult.FATAL, CheckResult.FAILED, CheckResult.UNKNOWN
NOT_SAID = "not-said"

# Words in the place of a value, or of a recovery action; the first line that fits counts.
WORDS: tuple[tuple[re.Pattern[str], CheckResult, str], ...] = tuple(
    (re.compile(words, re.IGNORECASE), result, code)
    for words, result, code in (
        (r"gpu (?:is )?lost|fallen off the bus|no longer available", FATAL, "lost"),
        (r"\bdrain\b", FAILED, "drain-recommended"),
        (r"requires? (?:a )?reset|reset required|(?:gpu|bus) reset|reboot", FATAL, "reset-required"),
        (
            r"(?<![a-z])err(?:or)?!|(?<![a-z])err(?![a-z])|unknown error|(?<![a-z.])error",
            FAILED,
            "error-state",
        ),
        (r"\btimed? ?out\b", FAILED, "driver-timeout"),
    )
)
# What else a tool may report, by code. Rows and pages that wait for their replacement are in use until the next reset:
# the device may hit them again, so it takes no new jobs, yet what runs on it goes on, so it is not fatal.
CODES: dict[str, CheckResult] = {
    "reset-required": FATAL,
    "error-state": FAILED,
    "drain-recommended": FAILED,
    "row-remap-failed": FAILED,
    "sram-errors-exceeded": FAILED,
    "row-remap-pending": FAILED,
    "page-retirement-pending": FAILED,
    "over-temperature": FAILED,
    "fabric-failed": FAILED,
    "ecc-uncorrectable": FAILED,
    "fabric-not-ready": UNKNOWN,
}
WAITING = frozenset({"row-remap-pending", "page-retirement-pending"})


@lru_cache(maxsize=4096)
def judge_text(text: str) -> tuple[CheckResult, str] | None:
    """Result and code for a device's error text; None if it names no error."""
    return next(((result, code) for words, result, code in WORDS if words.search(text)), None)


def judge_action(action: str) -> str | None:
    """The code of a recovery action that the driver names; None where there is nothing to recover."""
    clean = action.strip().strip("[]").lower()
    if clean in ("", "none", "n/a", "na", "-", "not supported") or "deprecated" in clean:
        return None
    return (
        "reset-required" if re.search("reset|reboot", clean) and "drain" not in clean else "drain-recommended"
    )


def severity(check: Check) -> int:
    """Worse is more; a source that says nothing of health weighs less than one that says well."""
    if check.result is UNKNOWN and check.code == NOT_SAID:
        return -1
    return check.result.severity


def is_broken(check: Check) -> bool:
    """Whether a check counts against the device."""
    return check.result in (FAILED, FATAL)


def hides_use(check: Check) -> bool:
    """Whether a device's memory use of 0 tells nothing; one that only waits for replacements reports as it should."""
    return is_broken(check) and check.code not in WAITING


def failed(name: str, judged: tuple[CheckResult, str], evidence: str) -> Check:
    """The check that a judgement amounts to."""
    return Check(device=name, result=judged[0], code=judged[1], evidence=evidence.strip()[:EVIDENCE_CHARS])

"""What npu-smi's words for a device's health mean: the table of failed checks of Ascend."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agent.protocol import CheckResult
from agent.vendors.base import EVIDENCE_CHARS
from agent.vendors.reading.complaints import ANOTHER_HOST

OK, UNKNOWN, FAILED, FATAL = CheckResult.OK, CheckResult.UNKNOWN, CheckResult.FAILED, CheckResult.FATAL
Verdict = tuple[CheckResult, str, str]
"""Result, code and evidence."""

# The vendor documents: Warning = minor alarm, Alarm = major alarm, Critical = critical alarm, UNKNOWN = the device does
# not exist or was not started. Its own cluster plug-in keeps a device with a minor alarm in use, so it is no failed
# check here either: it is said as a notice.
HEALTH: Mapping[str, tuple[CheckResult, str]] = {
    "ok": (OK, ""),
    "warning": (OK, "minor-alarm"),
    "alarm": (FAILED, "error-state"),
    "critical": (FATAL, "error-state"),
    "fault": (FAILED, "error-state"),
    "error": (FAILED, "error-state"),
    "abnormal": (FAILED, "error-state"),
    "unhealthy": (FAILED, "error-state"),
    "offline": (FATAL, "lost"),
    "lost": (FATAL, "lost"),
}
_ERROR = re.compile(
    r"fail|error|denied|can(?:no|')t\b|unable|not found|not exist|no such|time[d -]*out|refused|\blost\b|dropped"
    r"|offline",
    re.IGNORECASE,
)
_GONE = re.compile(r"\blost\b|dropped|offline|not exist|not present|not in place", re.IGNORECASE)
_RESET = re.compile(r"requires? reset|reset required", re.IGNORECASE)
_TROUBLE = re.compile(r"\berr|error|fail|fault|abnormal|critical|timed? ?out", re.IGNORECASE)
_VALUE = re.compile(
    r"(?:[-+]?[\d.]+(?:%|W|C|M|MB|MiB)?|N/?A|-)(?:/(?:[-+]?[\d.]+(?:MB|MiB)?|N/?A|-))?", re.IGNORECASE
)
_COUNTER = re.compile(r"(?:count|cnt|code|information|rate\(%\))\s*:", re.IGNORECASE)
_NUMBERED = re.compile(r"\b(?:npu|card|device|dev)[ _-]?(?:id)?[\s:=(\[]{0,3}(\d{1,5})\b", re.IGNORECASE)


def judge_health(word: str | None) -> Verdict:
    """The verdict on a health word; one that is not in the table is unknown, never healthy."""
    text = (word or "").strip()
    result, code = HEALTH.get(text.lower()) or _judge_trouble(text) or (UNKNOWN, "no-reading")
    return result, code, f"Health: {text or 'not reported'}"[:EVIDENCE_CHARS]


def judge_value(label: str, text: str) -> Verdict | None:
    """What the text in a value's place says of the device; None where it is a value, or none is there."""
    clean = " ".join(text.split())
    trouble = _judge_trouble(clean)
    if trouble:
        return trouble[0], trouble[1], f"{label}: {clean}"[:EVIDENCE_CHARS]
    tokens = re.sub(r"\s*/\s*", "/", clean).split()
    if all(_VALUE.fullmatch(token) for token in tokens):
        return None
    return UNKNOWN, "unreadable", f"{label}: {clean}"[:EVIDENCE_CHARS]


def _judge_trouble(text: str) -> tuple[CheckResult, str] | None:
    if _GONE.search(text):
        return FATAL, "lost"
    if _RESET.search(text):
        return FATAL, "reset-required"
    return (FAILED, "error-state") if _TROUBLE.search(text) else None


def worse(first: Verdict | None, second: Verdict | None) -> Verdict | None:
    """The worse of two verdicts; the first of equals."""
    if first is None or second is None:
        return first or second
    return second if second[0].severity > first[0].severity else first


def complaints(captured: str) -> list[str]:
    """Lines outside tables and fields that say that something failed."""
    return [
        line.strip()[:EVIDENCE_CHARS]
        for line in captured.splitlines()
        if line.strip()[:1] not in ("|", "+", ":") and _ERROR.search(line) and not _COUNTER.search(line)
    ]


def complained_device(line: str) -> tuple[int, Verdict] | None:
    """The NPU that a complaint names, and what it says of it; None if it names none."""
    match = None if ANOTHER_HOST.search(line) else _NUMBERED.search(line)
    if match is None:
        return None
    result, code = (FATAL, "card-dropped") if _GONE.search(line) else (UNKNOWN, "no-reading")
    return int(match.group(1)), (result, code, line)

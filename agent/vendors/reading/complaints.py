"""What tools say beside their tables and lists: that a device is broken, that nothing was found, that they fail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from agent.notices import notice
from agent.protocol import normal_pci
from agent.vendors.base import EVIDENCE_CHARS, NO_INDEX
from agent.vendors.reading.findings import Capture, Finding, Table, known
from agent.vendors.reading.tables import Entry

_BUS = re.compile(
    r"(?<![0-9A-Fa-f])((?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])(?![0-9A-Fa-f])"
)
_NUMBERED = re.compile(r"\b(?:GPU|DCU|HCU|MLU|Card|Device)\s*[\[#]?\s*(\d{1,4})\b", re.IGNORECASE)
NO_DEVICES = re.compile(
    r"no (\w+ ){0,2}(devices?|gpus?|cards?|mlus?|chips?)\b|unable to detect any gpu|not? found any",
    re.IGNORECASE,
)
_ASKS_FOR_TROUBLE = re.compile(r"reset required$|(failure|error) occurred$")
ANOTHER_HOST = re.compile(
    r"\bssh\b|\bunreachable!|connect to (the )?host\b|\bconnection (closed|refused|timed out)\b",
    re.IGNORECASE,
)
UNSUPPORTED = re.compile(r"not[ _]supported|unsupported", re.IGNORECASE)
TROUBLE = re.compile(
    r"permission denied|not (loaded|initiali[sz]ed|accessible|running)|unable to|cannot|could ?n.t|command not found",
    re.IGNORECASE,
)


def spoken(entries: Iterable[Entry]) -> tuple[str, ...]:
    """All values of a device's list, and the questions of trouble that are answered with yes; what another host could
    not do says nothing of this one's devices.
    """
    told = [
        entry
        for entry in entries
        if known(entry.value) and not ANOTHER_HOST.search(f"{entry.path[-1]}: {entry.value}")
    ]
    yes = [entry.path[-1] for entry in told if entry.value.lower() in ("yes", "true")]
    return (*(entry.value for entry in told), *(key for key in yes if _ASKS_FOR_TROUBLE.search(key)))


def add_complaints(capture: Capture, loose: Iterable[str], table: Table) -> Capture:
    """Lines outside of tables and lists: one that names a broken device, by its bus id or its number, makes it broken
    and not forgotten; any other that tells of trouble is a warning.
    """
    found = {finding.key: finding for finding in capture.findings}
    warnings = list(capture.warnings)
    for line in (line.strip()[:EVIDENCE_CHARS] for line in loose):
        if UNSUPPORTED.search(line) or not (table.judge(line) or TROUBLE.search(line)):
            continue
        named = None if ANOTHER_HOST.search(line) else _named(line, found)
        if named is None:
            warnings.append(notice("tool-failed", problem=line))
        elif line not in named.complaints:
            found[named.key] = replace(named, complaints=(*named.complaints, line))
    return replace(capture, findings=tuple(found.values()), warnings=tuple(warnings))


def loose_lines(text: str) -> list[str]:
    """Lines that are neither of a table nor of a list of keys nor of a document."""
    kept = []
    for line in (line.strip() for line in text.splitlines()):
        listed = re.match(r"^[^:]{1,60}\s:\s|^[^:]{1,60}\s:$", line)
        if (
            line
            and "|" not in line
            and not line.startswith(("$ ", "{", "}", '"', "[", "]", "<"))
            and not listed
        ):
            kept.append(line)
    return kept


def _bus_of(line: str) -> str | None:
    match = _BUS.search(line)
    return normal_pci(match.group(1)) if match else None


def _named(line: str, found: Mapping[object, Finding]) -> Finding | None:
    """The device that a line names, by its bus id before its number."""
    bus_id = _bus_of(line)
    if bus_id is not None:
        same = (finding for finding in found.values() if normal_pci(finding.pci_bus_id) == bus_id)
        return next(same, Finding(index=NO_INDEX, pci_bus_id=bus_id))
    match = _NUMBERED.search(line)
    return found.get(int(match.group(1)), Finding(index=int(match.group(1)))) if match else None


def with_damage(capture: Capture, damaged: bool, *, tool: str) -> Capture:
    """Say that a part of the output could not be read."""
    if not damaged:
        return capture
    return replace(capture, warnings=(*capture.warnings, notice("output-damaged", tool=tool)))


def nothing_found(capture: Capture, text: str, *, tool: str) -> Capture:
    """Say why a capture holds no device, where nothing else says it."""
    if capture.findings or capture.links:
        return capture
    if NO_DEVICES.search(text):
        return replace(capture, warnings=(*capture.warnings, notice("no-devices", tool=tool)))
    return capture if capture.warnings else replace(capture, warnings=(notice("not-recognised"),))

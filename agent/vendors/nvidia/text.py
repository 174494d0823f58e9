"""Free lines of NVIDIA's tools: what they say of devices that no longer answer, and of themselves."""

from __future__ import annotations

import re

from agent.notices import notice
from agent.protocol import Check, CheckResult, DeviceFacts, DeviceSample, Notice, Vendor, normal_pci
from agent.vendors.base import EVIDENCE_CHARS, NO_INDEX, Reading, Readout, device_name
from agent.vendors.nvidia import states
from agent.vendors.nvidia.merging import Merged

_BUS = re.compile(
    r"(?<![0-9A-Fa-f:])((?:[0-9A-Fa-f]{1,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])(?![0-9A-Fa-f])"
    r"|(?<![0-9A-Fa-f:])([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2})(?![0-9A-Fa-f])"
)
_UUID = re.compile(r"\bGPU-[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{8,}")
_INDEX = re.compile(r"\bgpu\s*#?(\d{1,3})(?![0-9A-Fa-f]|:[0-9A-Fa-f]{2}[:.])", re.IGNORECASE)
_COMPLAINT = re.compile(
    r"unable to \w{1,20} the device handle"
    r"|\bgpu\b[^,|<]{0,60}\b(?:is lost|is not responding|no longer available|requires? (?:a )?reset)"
    r"|(?:fallen|fell) off the bus",
    re.IGNORECASE,
)
_CELL = re.compile(r"\[[^\]]*\]")  # where a tool puts such words in the place of a value
_WORTH_READING = re.compile(
    r"handle|lost|respond|available|reset|off the bus|failed|couldn|mismatch|permission|corrupt", re.I
)
_NONE = re.compile(r"no devices (?:were )?found", re.IGNORECASE)
_TOOL_FAULT = re.compile(
    r"nvidia-smi has failed|failed to initialize nvml|couldn't communicate with the nvidia driver"
    r"|driver/library version mismatch|infoROM is corrupted|not enough permission",
    re.IGNORECASE,
)
MOST_TOLD = 20


def is_complaint(line: str) -> bool:
    """Whether a line is a sentence about a device that no longer answers, not a row with such words in its cells."""
    return "|" not in line and "<" not in line and bool(_COMPLAINT.search(_CELL.sub("", line)))


def parse_lines(captured: str) -> Readout:
    """Devices that a complaint names by bus id or number: they are broken, not forgotten."""
    merged = Merged()
    told: list[str] = []
    lines = captured.splitlines() if _WORTH_READING.search(captured) else []
    for line in lines:
        if "NVRM" in line or not line.strip():
            continue
        if is_complaint(line):
            broken = _broken(line.strip())
            merged.add(broken)
            if broken.facts.index < 0 and not broken.facts.pci_bus_id and not broken.facts.uuid:
                told.append(line)
        elif _TOOL_FAULT.search(line):
            told.append(line)
    warnings: list[Notice] = []
    if _NONE.search(captured):
        warnings.append(notice("no-devices", tool="nvidia-smi"))
    for line in list(dict.fromkeys(line.strip() for line in told))[:MOST_TOLD]:
        warnings.append(notice("tool-failed", problem=line[:EVIDENCE_CHARS]))
    return Readout(vendor=Vendor.NVIDIA, readings=merged.readings(), warnings=warnings)


def find_bus(line: str) -> str | None:
    """The first PCI address in a line, in one spelling."""
    match = _BUS.search(line)
    return normal_pci(match.group(1) or match.group(2)) if match else None


def _broken(line: str) -> Reading:
    uuid, number = _UUID.search(line), _INDEX.search(line)
    facts = DeviceFacts(
        vendor=Vendor.NVIDIA,
        index=int(number.group(1)) if number else NO_INDEX,
        uuid=uuid.group(0) if uuid else None,
        pci_bus_id=find_bus(line),
    )
    judged = states.judge_text(line)
    code = "reset-required" if judged and judged[1] == "reset-required" else "lost"
    check = Check(
        device=device_name(facts), result=CheckResult.FATAL, code=code, evidence=line[:EVIDENCE_CHARS]
    )
    return Reading(facts=facts, sample=DeviceSample(device=device_name(facts)), check=check)

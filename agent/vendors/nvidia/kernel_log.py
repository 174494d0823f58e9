"""Xid lines of the kernel log: which GPU, which fault, and what it means.

Source of the table: NVIDIA's Xid catalogue (docs.nvidia.com/deploy/xid-errors), by its immediate action: a reset or
a restart of the machine is fatal; a fault of the memory, a link or the firmware that the device survived counts;
faults of programs are noted only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agent.notices import notice
from agent.protocol import Check, CheckResult, DeviceFacts, DeviceSample, Notice, Vendor, normal_pci
from agent.vendors.base import EVIDENCE_CHARS, NO_INDEX, Reading, Readout, device_name
from agent.vendors.nvidia import states
from agent.vendors.nvidia.look import gap
from agent.vendors.nvidia.merging import Merged
from agent.vendors.nvidia.text import find_bus

FATAL_XIDS = frozenset({46, 62, 64, 79, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158, 167, 169})
COUNTED_XIDS = frozenset({48, 54, 61, 74, 92, 94, 121, 137, 151, 157, 161, 168, 171, 172})
NOTED_XIDS = frozenset(range(1, 173)) - FATAL_XIDS - COUNTED_XIDS
LINK_XIDS = frozenset(range(144, 151))  # fatal or not as their text says
ACTION_XID = 154
MOST_TOLD = 20
STUCK = "reset-required"

_XID = re.compile(r"NVRM:\s*Xid\s*\((?:PCI:)?\s*([0-9A-Fa-f:.]+)[^)\n]*\)\s*:\s*(\d{1,4})\b[\s,]*([^\n]*)")
_ACTION = re.compile(r"changed from .*?\bto\s+(?:0x[0-9a-fA-F]+\s*)?\(?([^)\n]*)\)?", re.IGNORECASE)
_LOST = re.compile(
    r"NVRM:.*(?:(?:fallen|fell) off the bus|attempting to remove device .*non-zero usage)", re.IGNORECASE
)
_SUBJECT = re.compile(r"NVRM:\s*The NVIDIA GPU\s")
_DEAD = re.compile(
    r"NVRM:.*(?:rm_?init_?adapter failed|failed to (?:initialize|power up) the GPU)", re.IGNORECASE
)
_STUCK = re.compile(r"NVRM:.*\bGPU (?:likely |may )?needs? to be reset", re.IGNORECASE)
# Of a GPU by the driver's own number, which is neither a tool's index nor an address.
_FIRMWARE = re.compile(
    r"NVRM:\s*(?:(GPU\d{1,3})\b)?.*?(?:\bGSP\b.{0,40}\b(?:timed out|timeout|error|CrashCat)\b|heartbeat timed out"
    r"|cannot initialize GSP|probably locked|in a bad state|needs? to be reset)",
    re.IGNORECASE,
)
_UUID = re.compile(r"NVRM:\s*GPU at\s+(?:PCI:)?([0-9A-Fa-f:.]+?):?\s+(GPU-[0-9A-Fa-f-]{8,})")
_SWITCH = re.compile(r"\bSXid\s*\(", re.IGNORECASE)


@dataclass(frozen=True)
class Event:
    """One fault of one GPU; `result` is None for what is only noted."""

    bus_id: str
    code: str
    result: CheckResult | None
    line: str


def looks_like_log(captured: str) -> bool:
    """Whether the driver wrote some of these lines."""
    return "NVRM:" in captured or bool(_SWITCH.search(captured))


def read_events(lines: Iterable[str]) -> Iterator[tuple[str, Event | None]]:
    """Every line with the fault that it tells, or None. A message of several lines names its GPU in the first."""
    subject: str | None = None
    for line in lines:
        if _SUBJECT.search(line):
            subject = find_bus(line)
        yield line, find_event(line, subject)


def find_event(line: str, subject: str | None = None) -> Event | None:
    """The fault that a line tells, or None; `subject` is the GPU that the message began with."""
    match = _XID.search(line)
    if match:
        bus_id = normal_pci(match.group(1))
        if bus_id is None:
            return None
        number = int(match.group(2))
        return Event(bus_id, f"xid-{number}", judge_xid(number, match.group(3)), line.strip())
    for words, code, result in (
        (_LOST, "lost", CheckResult.FATAL),
        (_DEAD, "init-failed", CheckResult.FAILED),
        (_STUCK, STUCK, CheckResult.FATAL),
    ):
        bus_id = (find_bus(line.replace("PCI:", "")) or subject) if words.search(line) else None
        if bus_id is not None:
            return Event(bus_id, code, result, line.strip())
    return None


def judge_xid(number: int, text: str) -> CheckResult | None:
    """What an Xid means; None where it is only noted. One that no table knows is unknown."""
    if number == ACTION_XID:
        action = _ACTION.search(text)
        code = states.judge_action(action.group(1) if action else text)
        return states.CODES[code] if code else None
    if number in LINK_XIDS:
        return CheckResult.FATAL if re.search(r"(?<!non)(?<!non-)\bfatal\b", text, re.IGNORECASE) else None
    judged = states.judge_text(text)
    if number in FATAL_XIDS or (judged and judged[1] == "lost"):
        return CheckResult.FATAL
    if number in COUNTED_XIDS:
        return CheckResult.FAILED
    return None if number in NOTED_XIDS else CheckResult.UNKNOWN


def parse_log(captured: str) -> Readout:
    """One device per bus id with a fault; repeated Xids of a device are one fault."""
    uuids = {normal_pci(bus): uuid for bus, uuid in _UUID.findall(captured)}
    merged = Merged()
    told: list[str] = []
    numbered: dict[str, str] = {}
    faulty: set[str] = set()
    for line, event in read_events(captured.splitlines()):
        if event is not None:
            if event.code != STUCK or event.bus_id not in faulty:  # what follows from a fault is no other one
                merged.add(_reading(event, uuids.get(event.bus_id)))
            if event.result is None:
                told.append(line.strip())
            else:
                faulty.add(event.bus_id)
        elif _SWITCH.search(line) or _DEAD.search(line):
            # Old drivers do not say which device failed to start.
            told.append(line.strip())
        elif firmware := _FIRMWARE.search(line):
            numbered.setdefault(firmware.group(1) or "", line.strip())
    told = list(dict.fromkeys([*numbered.values(), *told]))[:MOST_TOLD]
    warnings: list[Notice] = [notice("tool-failed", problem=line[:EVIDENCE_CHARS]) for line in told]
    return Readout(vendor=Vendor.NVIDIA, readings=merged.readings(), warnings=warnings)


def check_of(event: Event, name: str) -> Check:
    """The check that an event amounts to."""
    if event.result is None:
        return gap(name, "the log notes faults of programs only")
    return Check(device=name, result=event.result, code=event.code, evidence=event.line[:EVIDENCE_CHARS])


def _reading(event: Event, uuid: str | None) -> Reading:
    facts = DeviceFacts(vendor=Vendor.NVIDIA, index=NO_INDEX, uuid=uuid, pci_bus_id=event.bus_id)
    name = device_name(facts)
    return Reading(facts=facts, sample=DeviceSample(device=name), check=check_of(event, name))

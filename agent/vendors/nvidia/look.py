"""What one output of NVIDIA's tools prints about one device, and the facts, readings and checks that follow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from agent.protocol import Check, CheckResult, DeviceFacts, DeviceSample, Partition, Vendor, normal_pci
from agent.vendors.base import (
    EVIDENCE_CHARS,
    MOST_ERRORS,
    MOST_POWER_W,
    Port,
    Process,
    Reading,
    device_name,
    to_int,
    to_mib,
    to_number,
)
from agent.vendors.nvidia import states

MOST_INDEX = 4096
UNIFIED_MEMORY = re.compile(r"\bGB10\b|\bThor\b|\bOrin\b|\bXavier\b")
_ABSENT = re.compile(
    r"^(?:\W*|N/?A|\[.*\]|not (?:supported|available|found|active)|unknown|none)$", re.IGNORECASE
)
_IDENTITY = re.compile(r"(?:MIG-)?(?:GPU-)?[0-9A-Fa-f/-]+")
_ECC = {"enabled": True, "on": True, "disabled": False, "off": False}


@dataclass(frozen=True)
class Look:
    """One device as printed, values with their units and as they stand. `words` are labelled texts in which trouble
    would show; `found` are conclusions (code, evidence) of the format's own. `memory_due`: its absence is a gap.
    """

    index: int
    uuid: str | None = None
    bus_id: str | None = None
    name: str | None = None
    total: str | None = None
    used: str | None = None
    reserved: str | None = None
    utilization: str | None = None
    temperature: str | None = None
    slowdown_at: str | None = None
    draws: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    ecc: str | None = None
    uncorrectable: int | None = None
    words: tuple[tuple[str, str], ...] = ()
    found: tuple[tuple[str, str], ...] = ()
    memory_due: bool = True
    cut: bool = False
    partitions: tuple[Partition, ...] = ()
    processes: tuple[Process, ...] = ()
    ports: tuple[Port, ...] = ()


def conclude(look: Look, driver: str | None = None) -> Reading:
    """The reading of a device as printed."""
    total, used = to_mib(look.total) or None, to_mib(look.used)
    if used is not None and total is not None and used > total:
        used = None
    limits = first_numbers(look.limits, low=1)
    facts = DeviceFacts(
        vendor=Vendor.NVIDIA,
        index=look.index,
        uuid=identity(look.uuid),
        pci_bus_id=normal_pci(look.bus_id),
        model=known(look.name),
        memory_total_mib=total,
        memory_reserved_mib=to_mib(look.reserved),
        driver_version=driver,
        power_limit_w=None if limits is None else round(limits),
    )
    draw = first_numbers(look.draws, low=0)
    sample = DeviceSample(
        device=device_name(facts),
        memory_used_mib=used,
        utilization_pct=to_int(look.utilization, low=0, high=100),
        temperature_c=to_int(look.temperature, low=-40, high=200),
        power_mw=None if draw is None else round(draw * 1000),
    )
    check, *others = _checks(look, facts, sample)
    if used == 0 and states.hides_use(check):  # a broken device is not an empty one
        sample = msgspec.structs.replace(sample, memory_used_mib=None)
    return Reading(
        facts=facts,
        sample=sample,
        check=check,
        ecc=_ECC.get((look.ecc or "").strip().lower()),
        uncorrectable=look.uncorrectable,
        partitions=list(look.partitions),
        processes=list(look.processes),
        ports=list(look.ports),
        findings=others,
    )


def silent(look: Look) -> Reading:
    """The reading of a device in an output that says nothing of health, unless it complains."""
    reading = conclude(look)
    if states.is_broken(reading.check):
        return reading
    return Reading(
        facts=reading.facts,
        sample=DeviceSample(device=reading.sample.device),
        check=gap(reading.sample.device, "this output says nothing of health"),
        partitions=reading.partitions,
        processes=reading.processes,
        ports=reading.ports,
    )


def gap(name: str, evidence: str) -> Check:
    """A check that knows nothing."""
    return Check(device=name, result=CheckResult.UNKNOWN, code=states.NOT_SAID, evidence=evidence)


def told(value: str | None) -> str | None:
    """A text of others, such as a program's name; None for what stands in its place when there is none."""
    clean = (value or "").strip()
    absent = not clean or clean.upper() in ("N/A", "NA", "-", "NONE") or clean.startswith("[")
    return None if absent else clean


def known(value: str | None) -> str | None:
    """A name or identity of a device; None, too, where an error stands in its place."""
    clean = told(value)
    return None if clean is None or states.judge_text(clean) else clean


def identity(value: str | None) -> str | None:
    """A UUID; None also for one that somebody masked before showing it."""
    clean = known(value)
    return clean if clean and _IDENTITY.fullmatch(clean) and clean.strip("GPUMI-0") else None


def told_apart(looks: Sequence[Look], *, numbered: bool = True) -> list[Look]:
    """The devices of one listing; a UUID or an address that stands at several devices is a mask and tells nothing.
    Where the listing tells no numbers, a UUID with several addresses and an address with several UUIDs are such.
    """
    uuids: dict[str, set[str | int]] = {}
    buses: dict[str, set[str | int]] = {}
    for look in looks:
        uuid, bus_id = identity(look.uuid), normal_pci(look.bus_id)
        if uuid and (bus_id or numbered) and (look.index >= 0 or not numbered):
            uuids.setdefault(uuid, set()).add(look.index if numbered else bus_id or "")
        if bus_id and (uuid or numbered) and (look.index >= 0 or not numbered):
            buses.setdefault(bus_id, set()).add(look.index if numbered else uuid or "")
    return [
        replace(
            look,
            uuid=None if len(uuids.get(identity(look.uuid) or "", ())) > 1 else look.uuid,
            bus_id=None if len(buses.get(normal_pci(look.bus_id) or "", ())) > 1 else look.bus_id,
        )
        for look in looks
    ]


def first_numbers(texts: Iterable[str], *, low: float) -> float | None:
    """The first of several readings of one quantity, in watts, that says something."""
    found = (to_number(text, low=low, high=MOST_POWER_W) for text in texts)
    return next((value for value in found if value is not None), None)


def to_count(text: str | None) -> int | None:
    """A running count of errors."""
    return to_int(text, low=0, high=MOST_ERRORS)


def to_index(text: str | None) -> int | None:
    """A device's number."""
    clean = (text or "").strip()
    return int(clean) if clean.isascii() and clean.isdecimal() and len(clean) <= 4 else None


def _checks(look: Look, facts: DeviceFacts, sample: DeviceSample) -> list[Check]:
    """All findings, the worst first; never empty."""
    name = device_name(facts)
    checks: dict[str, Check] = {}
    for label, text in (("name", look.name or ""), *look.words):
        judged = states.judge_text(text)
        if judged and judged[1] not in checks:
            evidence = f"{label}: {text.strip()}"[:EVIDENCE_CHARS]
            checks[judged[1]] = Check(device=name, result=judged[0], code=judged[1], evidence=evidence)
    for code, evidence in (*look.found, *_heat(look, sample)):
        check = Check(device=name, result=states.CODES[code], code=code, evidence=evidence[:EVIDENCE_CHARS])
        checks.setdefault(code, check)
    missing = _missing(look, facts, sample)
    if missing and not any(states.is_broken(check) for check in checks.values()):
        code, evidence = missing
        checks["unreadable"] = Check(device=name, result=CheckResult.UNKNOWN, code=code, evidence=evidence)
    ranked = sorted(checks.values(), key=states.severity, reverse=True)
    return ranked or [Check(device=name, result=CheckResult.OK)]


def _heat(look: Look, sample: DeviceSample) -> list[tuple[str, str]]:
    limit = to_int(look.slowdown_at, low=40, high=200)
    heat = sample.temperature_c
    if limit is None or heat is None or heat < limit:
        return []
    return [("over-temperature", f"{heat} C, slows down at {limit} C")]


def _unreadable(look: Look, sample: DeviceSample) -> str | None:
    """A figure that is there and cannot be read."""
    for text, value in (
        (look.used, sample.memory_used_mib),
        (look.total, to_mib(look.total)),
        (look.utilization, sample.utilization_pct),
        (look.temperature, sample.temperature_c),
        *((draw, to_number(draw, low=0, high=MOST_POWER_W)) for draw in look.draws),
    ):
        if value is None and text and not _ABSENT.match(text.strip()):
            return text.strip()[:EVIDENCE_CHARS]
    return None


def _missing(look: Look, facts: DeviceFacts, sample: DeviceSample) -> tuple[str, str] | None:
    """Code and words for what the output should have said and did not; a value that was not asked for is no gap."""
    evidence = None
    unread = _unreadable(look, sample)
    live = (sample.memory_used_mib, sample.utilization_pct, sample.temperature_c, sample.power_mw)
    if look.cut:
        evidence = "the output about this device is cut off or damaged"
    elif unread:
        evidence = f"unreadable: {unread}"
    elif all(value is None for value in live):
        if not any((look.used, look.utilization, look.temperature, *look.draws)):
            return states.NOT_SAID, "this output says nothing of health"
        evidence = "no reading of this device"
    elif (
        not look.memory_due
        or UNIFIED_MEMORY.search(facts.model or "")
        or any(part.memory_used_mib is not None for part in look.partitions)
    ):
        return None
    elif sample.memory_used_mib is None:
        evidence = "memory use is not reported"
    elif facts.memory_total_mib is None and look.total:
        evidence = "the size of the memory is not reported"
    return ("no-reading", evidence) if evidence else None

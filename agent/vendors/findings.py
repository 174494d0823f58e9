"""What a vendor's tools printed about one device, and what is to be concluded from it: facts, a reading, a check."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

from agent.host.files import parse_cpu_list
from agent.notices import notice
from agent.protocol import (
    Check,
    CheckResult,
    DeviceFacts,
    DeviceSample,
    Link,
    Notice,
    Partition,
    Vendor,
    normal_pci,
)
from agent.vendors.base import (
    EVIDENCE_CHARS,
    MOST_MEMORY_MIB,
    MOST_POWER_W,
    NO_INDEX,
    Process,
    Reading,
    Readout,
    device_name,
    to_int,
    to_number,
)
from agent.vendors.tables import ProcessRow

MOST_ERRORS = 1 << 50
_ABSENT = re.compile(
    r"^([-/.*\s]*|\[?n/?a\]?\b.*|\[?(not supported|unknown|insufficient permissions)\]?|none|null|nan|undefined)$",
    re.IGNORECASE,
)
_SIZE = re.compile(r"^(\d{1,18}(?:\.\d{1,9})?)\s*([KMGT]?)(i?B)?$", re.IGNORECASE)
_PLACES = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_NUMBER_LIKE = re.compile(r"^[-+]?[\d.]+(e[-+]?\d+)?\s*[%°℃A-Za-z/]{0,6}$")
_BUS = re.compile(
    r"(?<![0-9A-Fa-f])((?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])(?![0-9A-Fa-f])"
)
_NUMBERED = re.compile(r"\b(?:GPU|DCU|HCU|MLU|Card|Device)\s*[\[#]?\s*(\d{1,4})\b", re.IGNORECASE)
NO_DEVICES = re.compile(
    r"no (\w+ ){0,2}(devices?|gpus?|cards?|mlus?|chips?)\b|unable to detect any gpu|not? found any",
    re.IGNORECASE,
)
UNSUPPORTED = re.compile(r"not[ _]supported|unsupported", re.IGNORECASE)
TROUBLE = re.compile(
    r"permission denied|not (loaded|initiali[sz]ed|accessible|running)|unable to|cannot|could ?n.t|command not found",
    re.IGNORECASE,
)
_SEVERITY = {CheckResult.OK: 0, CheckResult.UNKNOWN: 1, CheckResult.FAILED: 2, CheckResult.FATAL: 3}


@dataclass(frozen=True)
class Rule:
    """Words that mean a failed check, with the check's result and code."""

    words: re.Pattern[str]
    result: CheckResult
    code: str


def rule(words: str, result: CheckResult, code: str) -> Rule:
    """One line of a vendor's table of failed checks."""
    return Rule(re.compile(words, re.IGNORECASE), result, code)


COMMON_RULES = (
    rule(r"\blost\b|fallen off|no such device|device dropped|card dropped", CheckResult.FATAL, "lost"),
    rule(r"requires? (a )?reset|reset (is )?required|needs? (a )?reset", CheckResult.FATAL, "reset-required"),
    rule(r"timed?[ -]?out\b", CheckResult.FAILED, "driver-timeout"),
    rule(r"over[ -]?temp|overheat", CheckResult.FAILED, "over-temperature"),
    rule(
        r"\berr(or)?\b|\bfail(ed|ure)?\b|\babnormal\b|\bfault(y)?\b|\bunhealthy\b|\bcritical\b|\bbad\b|\bfatal\b",
        CheckResult.FAILED,
        "error-state",
    ),
)


@dataclass(frozen=True)
class Table:
    """A vendor's table of failed checks: words, states that mean good health, the temperature that is too high."""

    rules: tuple[Rule, ...] = COMMON_RULES
    good_states: frozenset[str] = frozenset()
    too_hot_c: int = 115

    def judge(self, text: str) -> Rule | None:
        """The worst line that these words fall under."""
        hits = [line for line in self.rules if line.words.search(text)]
        return max(hits, key=lambda line: _SEVERITY[line.result], default=None)


@dataclass(frozen=True)
class Finding:
    """One device as printed: texts with their units, None where the tool does not say. `states` are the tool's own
    words for its health, `complaints` are lines about it, `damaged` means that a part of it is cut off. Without
    `tells_memory` this kind of output may be silent on memory use and the device nevertheless be well.
    """

    index: int
    uuid: str | None = None
    pci_bus_id: str | None = None
    model: str | None = None
    driver_version: str | None = None
    memory_total: str | None = None
    memory_used: str | None = None
    memory_reserved: str | None = None
    utilization: str | None = None
    temperature: str | None = None
    hottest_allowed: str | None = None
    power: str | None = None
    power_limit: str | None = None
    numa_node: str | None = None
    cpus: str | None = None
    compute_units: int | None = None
    ecc: bool | None = None
    uncorrectable: int | None = None
    states: tuple[tuple[str, str], ...] = ()
    complaints: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()
    processes: tuple[Process, ...] = ()
    memory_share: str | None = None
    damaged: bool = False
    tells_memory: bool = True

    @property
    def key(self) -> object:
        """What tells this device from others of one output: its number, or its address where it has none."""
        return self.index if self.index != NO_INDEX else normal_pci(self.pci_bus_id)

    def over(self, older: Finding) -> Finding:
        """Both findings of one device; this one's values where both say something."""
        mine = {field.name: getattr(self, field.name) for field in fields(self)}
        kept = {
            name: value
            for name, value in mine.items()
            if (known(value) if isinstance(value, str) else value is not None)
        }
        kept["states"] = (*older.states, *self.states)
        kept["complaints"] = (*older.complaints, *self.complaints)
        kept["partitions"] = self.partitions or older.partitions
        kept["processes"] = self.processes or older.processes
        kept["damaged"] = self.damaged or older.damaged
        kept["tells_memory"] = self.tells_memory and older.tells_memory
        return replace(older, **kept)


@dataclass(frozen=True)
class Capture:
    """All that one output, or several of one look, said."""

    findings: tuple[Finding, ...] = ()
    driver_version: str | None = None
    links: tuple[Link, ...] = ()
    warnings: tuple[Notice, ...] = ()


def merge(captures: Iterable[Capture]) -> Capture:
    """Several outputs of one tool, taken one after the other: the same index is the same device."""
    found: dict[object, Finding] = {}
    driver: str | None = None
    links: dict[tuple[int, int], Link] = {}
    warnings: list[Notice] = []
    for capture in captures:
        for finding in capture.findings:
            older = found.get(finding.key)
            found[finding.key] = finding.over(older) if older else finding
        driver = driver or capture.driver_version
        links |= {(link.a, link.b): link for link in capture.links}
        warnings += [said for said in capture.warnings if said not in warnings]
    return Capture(tuple(found.values()), driver, tuple(links.values()), tuple(warnings))


def with_processes(capture: Capture, rows: Iterable[ProcessRow]) -> Capture:
    """The capture, its devices with the processes on them."""
    by_device: dict[int, list[Process]] = {}
    for row in rows:
        process = Process(pid=row.pid, name=row.name or None, memory_used_mib=mib(row.memory))
        by_device.setdefault(row.device, []).append(process)
    findings = tuple(
        replace(finding, processes=tuple(by_device.get(finding.index, finding.processes)))
        for finding in capture.findings
    )
    return replace(capture, findings=findings)


def conclude(vendor: Vendor, capture: Capture, table: Table) -> Readout:
    """Facts, readings and checks of a capture."""
    return Readout(
        vendor=vendor,
        driver_version=capture.driver_version,
        readings=[_reading(vendor, finding, table, capture.driver_version) for finding in capture.findings],
        links=list(capture.links),
        warnings=list(capture.warnings),
    )


def known(text: str | None) -> str | None:
    """The text, or None for any way to say that there is none."""
    clean = (text or "").strip()
    return None if not clean or _ABSENT.match(clean) else clean


def mib(text: str | None, *, unit: str = "MiB") -> int | None:
    """A size in MiB; tools write MB where they count in 1024s, too. A bare number is in `unit`; 0 is a size."""
    clean = (text or "").strip()
    match = _SIZE.match(clean)
    if match is None:
        return None
    if not match.group(2) and not match.group(3):
        match = _SIZE.match(f"{clean} {unit}")
    if match is None:
        return None
    number = match.group(1)
    value = (float(number) if "." in number else int(number)) * 1024 ** _PLACES[match.group(2).upper()]
    rounded = round(value / (1 << 20))
    return rounded if rounded <= MOST_MEMORY_MIB else None


def add_complaints(capture: Capture, loose: Iterable[str], table: Table) -> Capture:
    """Lines outside of tables and lists: one that names a broken device, by its bus id or its number, makes it broken
    and not forgotten; any other that tells of trouble is a warning.
    """
    found = {finding.key: finding for finding in capture.findings}
    warnings = list(capture.warnings)
    for line in (line.strip()[:EVIDENCE_CHARS] for line in loose):
        if UNSUPPORTED.search(line) or not (table.judge(line) or TROUBLE.search(line)):
            continue
        named = _named(line, found)
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
        if line and "|" not in line and not line.startswith(("{", "}", '"', "[", "]", "<")) and not listed:
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


def _reading(vendor: Vendor, finding: Finding, table: Table, driver: str | None) -> Reading:
    limit = _watts(finding.power_limit)
    node = to_int(finding.numa_node, low=0, high=1 << 12)
    facts = DeviceFacts(
        vendor=vendor,
        index=finding.index,
        uuid=_sound(finding.uuid, table),
        pci_bus_id=normal_pci(finding.pci_bus_id),
        model=_sound(finding.model, table),
        memory_total_mib=mib(finding.memory_total) or None,
        memory_reserved_mib=mib(finding.memory_reserved),
        compute_units=finding.compute_units,
        numa_node=node,
        cpu_affinity=parse_cpu_list(finding.cpus) or None,
        driver_version=known(finding.driver_version) or driver,
        power_limit_w=round(limit) if limit else None,
        partitions=list(finding.partitions),
    )
    check = _check(finding, facts, table)
    used = mib(finding.memory_used)
    if used is not None and (used > (facts.memory_total_mib or used) or (used == 0 and _is_bad(check))):
        used = None
    power = _watts(finding.power)
    return Reading(
        facts=facts,
        sample=DeviceSample(
            device=device_name(facts),
            memory_used_mib=used,
            utilization_pct=to_int(finding.utilization, low=0, high=100),
            temperature_c=to_int(_degrees(finding.temperature), low=-40, high=200),
            power_mw=None if power is None else round(power * 1000),
        ),
        check=check,
        ecc=finding.ecc,
        uncorrectable=finding.uncorrectable,
        partitions=list(finding.partitions),
        processes=list(finding.processes),
        memory_used_pct=to_int(finding.memory_share, low=0, high=100),
    )


def _check(finding: Finding, facts: DeviceFacts, table: Table) -> Check:
    name = device_name(facts)
    printed = {
        "model": finding.model,
        "uuid": finding.uuid,
        "bus": finding.pci_bus_id,
        "memory total": finding.memory_total,
        "memory used": finding.memory_used,
        "utilization": finding.utilization,
        "temperature": finding.temperature,
        "power": finding.power,
        **dict(finding.states),
    }
    worst: tuple[Rule, str] | None = None
    for label, text in [*printed.items(), *finding.states, *(("", line) for line in finding.complaints)]:
        hit = None if text and text.strip().lower() in table.good_states else table.judge(text or "")
        if hit and (worst is None or _SEVERITY[hit.result] > _SEVERITY[worst[0].result]):
            worst = hit, f"{label}: {text}" if label else text or ""
    if worst:
        return _not_ok(name, worst[0].result, worst[0].code, worst[1])
    heat, allowed = _heat(finding), _allowed(finding, table)
    if heat is not None and heat >= allowed:
        return _not_ok(name, CheckResult.FAILED, "over-temperature", f"{heat:g} C of {allowed:g} C")
    return _unclear(name, finding, facts, table) or Check(device=name, result=CheckResult.OK)


def _unclear(name: str, finding: Finding, facts: DeviceFacts, table: Table) -> Check | None:
    """UNKNOWN where something is unreadable, or nothing was said that only a working device says."""
    good = False
    for label, text in finding.states:
        if known(text) and text.strip().lower() not in table.good_states:
            return _not_ok(name, CheckResult.UNKNOWN, "state-unknown", f"{label}: {text}")
        good = good or bool(known(text))
    live = {
        "memory used": finding.memory_used,
        "utilization": finding.utilization,
        "temperature": finding.temperature,
        "power": finding.power,
    }
    for label, printed in live.items():
        clean = known(printed)
        if clean and mib(clean) is None and not _NUMBER_LIKE.match(clean):
            return _not_ok(name, CheckResult.UNKNOWN, "unreadable", f"{label}: {clean}")
    if finding.damaged:
        return _not_ok(
            name, CheckResult.UNKNOWN, "unreadable", "a part of what the tool says of a device is missing"
        )
    used = mib(finding.memory_used)
    if known(finding.memory_used) and (used is None or used > (facts.memory_total_mib or used)):
        return _not_ok(name, CheckResult.UNKNOWN, "unreadable", f"memory used: {finding.memory_used}")
    figures = [
        used if facts.memory_total_mib else None,
        to_number(finding.utilization, low=0, high=100),
        _heat(finding),
        _watts(finding.power),
    ]
    others = sum(figure is not None for figure in figures[1:])
    answered = figures[0] is not None or (others > 1 and not finding.tells_memory)
    if good or answered:
        return None
    return _not_ok(name, CheckResult.UNKNOWN, "no-reading", "this output says nothing of the device's health")


def _not_ok(name: str, result: CheckResult, code: str, evidence: str) -> Check:
    return Check(device=name, result=result, code=code, evidence=" ".join(evidence.split())[:EVIDENCE_CHARS])


def _is_bad(check: Check) -> bool:
    return check.result in (CheckResult.FAILED, CheckResult.FATAL)


def _sound(text: str | None, table: Table) -> str | None:
    clean = known(text)
    return None if clean is None or clean.startswith("[") or table.judge(clean) else clean


def _degrees(text: str | None) -> str | None:
    return text.replace("°", "").replace("℃", "C") if text else None


def _heat(finding: Finding) -> float | None:
    return to_number(_degrees(finding.temperature), low=-40, high=200)


def _allowed(finding: Finding, table: Table) -> float:
    said = to_number(_degrees(finding.hottest_allowed), low=40, high=200)
    return said if said is not None else float(table.too_hot_c)


def _watts(text: str | None) -> float | None:
    return to_number(text, low=0, high=MOST_POWER_W)

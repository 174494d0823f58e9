"""What is to be concluded from what a tool printed of a device: facts, a reading, a check."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from agent.host.files import parse_cpu_list
from agent.protocol import Check, CheckResult, DeviceFacts, DeviceSample, Notice, Vendor, normal_pci
from agent.vendors.base import (
    EVIDENCE_CHARS,
    MOST_POWER_W,
    Reading,
    Readout,
    device_name,
    to_int,
    to_number,
)
from agent.vendors.reading.findings import Capture, Finding, Rule, Table, known, mib

_MASKED = re.compile(r"[x*#?]{3,}|\.{3}|redacted|masked|hidden|removed", re.IGNORECASE)
_NUMBER_LIKE = re.compile(r"^[-+]?[\d.]+(e[-+]?\d+)?\s*[%°℃A-Za-z/]{0,6}$")


def conclude(vendor: Vendor, capture: Capture, table: Table) -> Readout:
    """Facts, readings and checks of a capture."""
    driver = known(capture.driver_version)
    uuids = Counter(finding.uuid for finding in capture.findings)
    findings = [replace(one, uuid=None) if _is_anyones(one.uuid, uuids) else one for one in capture.findings]
    warnings: list[Notice] = []
    for said in capture.warnings:
        warnings += [said] if said not in warnings else []
    return Readout(
        vendor=vendor,
        driver_version=driver,
        readings=[_reading(vendor, finding, table, driver) for finding in findings],
        links=list(capture.links),
        warnings=warnings,
    )


def _is_anyones(uuid: str | None, uuids: Mapping[str | None, int]) -> bool:
    """Whether this was masked, or is told of several devices: it is the identity of none."""
    return uuid is not None and (uuids[uuid] > 1 or _MASKED.search(uuid) is not None)


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
    if power == 0 and limit == 0:  # of a die whose board is told of at another one
        power = None
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
        if hit and (worst is None or hit.result.severity > worst[0].result.severity):
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
    figures = (
        used,
        to_number(finding.utilization, low=0, high=100),
        _heat(finding),
        _watts(finding.power),
    )
    several = sum(figure is not None for figure in figures) > 1
    answered = (several and not finding.tells_memory) or (
        used is not None and facts.memory_total_mib is not None
    )
    # A driver that answers for a device tells some figure of it; its memory alone is known from elsewhere.
    silent = all(live[name] is not None for name in live) and not any(
        figure is not None for figure in figures[1:]
    )
    if good or (answered and not silent):
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

"""What a vendor's tools printed about each device, before anything is concluded from it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from agent.protocol import (
    CheckResult,
    Link,
    Notice,
    Partition,
    normal_pci,
)
from agent.vendors.base import MOST_ERRORS, NO_INDEX, Process, to_int, to_mib
from agent.vendors.reading.tables import Entry, ProcessRow

_ABSENT = re.compile(
    r"^([-/.*\s]*|\[?n/?a\]?\b.*|\[?(not supported|unknown|insufficient permissions)\]?|none|null|nan|undefined)$",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"\bno[ _](?:(?:ecc|xid|active|pending|known|new|hardware|(?:un)?correctable)[ _])?"
    r"(?:bad pages?|err(?:or)?s?|failures?|faults?)\b(?!!)",
    re.IGNORECASE,
)
_UNCORRECTABLE = re.compile(r"uncorrect|(?:double|two|multiple) bit|\bdbe\b")


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
        told = _NONE.sub("", text)
        hits = [line for line in self.rules if line.words.search(told)]
        return max(hits, key=lambda line: line.result.severity, default=None)


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

    @property
    def slot(self) -> str | None:
        """The address without the function, which may count slices of one device."""
        address = normal_pci(self.pci_bus_id)
        return address.rpartition(".")[0] if address else None

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
    """Several outputs of one tool, taken one after the other: the same index is the same device. Two slots under one
    index are two devices, of hosts whose outputs stand in one file.
    """
    found: dict[object, Finding] = {}
    slots: dict[object, str] = {}
    driver: str | None = None
    links: dict[tuple[int, int], Link] = {}
    warnings: list[Notice] = []
    for capture in captures:
        for finding in capture.findings:
            if finding.slot and slots.setdefault(finding.key, finding.slot) != finding.slot:
                finding = replace(finding, index=NO_INDEX)
            older = found.get(finding.key)
            found[finding.key] = finding.over(older) if older else finding
        driver = driver or known(capture.driver_version)
        links |= {(link.a, link.b): link for link in capture.links}
        warnings += [said for said in capture.warnings if said not in warnings]
    return Capture(tuple(found.values()), driver, tuple(links.values()), tuple(warnings))


def with_processes(capture: Capture, rows: Iterable[ProcessRow]) -> Capture:
    """The capture, its devices with the processes on them; of one told of twice the later row counts."""
    by_device: dict[int, dict[int, Process]] = {}
    for row in rows:
        process = Process(pid=row.pid, name=row.name or None, memory_used_mib=mib(row.memory))
        by_device.setdefault(row.device, {})[row.pid] = process
    findings = tuple(
        replace(finding, processes=tuple(by_device[finding.index].values()))
        if finding.index in by_device
        else finding
        for finding in capture.findings
    )
    return replace(capture, findings=findings)


def known(text: str | None) -> str | None:
    """The text, or None for any way to say that there is none."""
    clean = (text or "").strip()
    return None if not clean or _ABSENT.match(clean) else clean


def mib(text: str | None, *, unit: str = "MiB") -> int | None:
    """A size in MiB; a bare number is in `unit`. 0 is a size."""
    clean = (text or "").strip()
    return to_mib(f"{clean} {unit}" if re.fullmatch(r"[\d.]+", clean) else clean)


def first_told(*texts: str | None) -> str | None:
    """The first of these that says something; else the first way in which one says that it does not."""
    given = [text for text in texts if text]
    return next((text for text in given if known(text)), given[0] if given else None)


def uncorrectable_errors(entries: Iterable[Entry], *, within: str = "ecc") -> int | None:
    """All counts of uncorrectable memory errors in a list, below a heading with these letters."""
    counts = [
        count
        for entry in entries
        if within in entry.key and _UNCORRECTABLE.search(entry.key)
        if (count := to_int(entry.value, low=0, high=MOST_ERRORS)) is not None
    ]
    return sum(counts) if counts else None

"""The shape of a vendor's plug-in: live probing and pure parsing both end in a Readout."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

import msgspec

from agent.notices import sentence
from agent.protocol import (
    Check,
    CheckResult,
    DeviceFacts,
    DeviceSample,
    Link,
    Notice,
    Numa,
    Partition,
    Vendor,
)

MOST_MEMORY_MIB = 16 << 20
MOST_POWER_W = 20_000
EVIDENCE_CHARS = 500
_NUMBER = re.compile(r"^([-+]?\d{1,15}(?:\.\d+)?)\s*[%A-Za-z/]*$")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class ProbeError(Exception):
    """A vendor's interface did not answer; the text says how."""


class Reading(msgspec.Struct, frozen=True):
    """All that one look at one device gave. `uncorrectable` is the driver's running count of uncorrectable
    memory errors.
    """

    facts: DeviceFacts
    sample: DeviceSample
    check: Check
    ecc: bool | None = None
    uncorrectable: int | None = None
    partitions: list[Partition] = []


class Readout(msgspec.Struct, frozen=True):
    """All that one look at a vendor's devices gave."""

    vendor: Vendor
    driver_version: str | None = None
    readings: list[Reading] = []
    links: list[Link] = []
    numa: list[Numa] = []
    warnings: list[Notice] = []


class Probe(Protocol):
    """A vendor's plug-in. `read` may hang or crash: it runs in a process of its own."""

    def __init__(self, root: Path) -> None: ...

    @staticmethod
    def present(root: Path) -> bool:
        """Cheap look whether this vendor's driver or tool is here at all."""

    @staticmethod
    def parse(text: str) -> Readout:
        """Captured text of any of the vendor's tools; never raises, says in `warnings` what it could not read."""

    def read(self) -> Readout:
        """Look at the live devices; raises ProbeError."""


def with_vendor(said: Notice, vendor: Vendor) -> Notice:
    """The same, saying whose devices it is about."""
    return Notice(code=said.code, params={"vendor": vendor.value, **said.params})


def device_name(facts: DeviceFacts) -> str:
    """A device's identity in samples and checks."""
    return facts.uuid or facts.pci_bus_id or f"{facts.vendor}-{facts.index}"


def plain(text: str) -> str:
    """Without terminal colours and carriage returns."""
    return _ANSI.sub("", text).replace("\r", "")


def to_number(text: str | None, *, low: float, high: float) -> float | None:
    """A reading with or without its unit; words, N/A and impossible values are unknown."""
    match = _NUMBER.match((text or "").strip())
    value = float(match.group(1)) if match else None
    return value if value is not None and low <= value <= high else None


def to_int(text: str | None, *, low: int, high: int) -> int | None:
    """As `to_number`, rounded."""
    value = to_number(text, low=low, high=high)
    return None if value is None else round(value)


def in_range(value: float | None, *, low: float, high: float) -> int | None:
    """A measured number, or None where it is a sentinel or absurd."""
    return round(value) if value is not None and low <= value <= high else None


def document(readout: Readout) -> dict[str, object]:
    """The JSON document of `headrace-agent parse` and `probe`; what is unknown is null."""
    return {
        "vendor": readout.vendor.value,
        "driver_version": readout.driver_version,
        "devices": [_device(reading) for reading in readout.readings],
        "links": [
            {"a": link.a, "b": link.b, "kind": link.kind, "lanes": link.lanes} for link in readout.links
        ],
        "numa": [msgspec.to_builtins(node) for node in readout.numa],
        "warnings": [sentence(with_vendor(said, readout.vendor)) for said in readout.warnings],
    }


def _device(reading: Reading) -> dict[str, object]:
    facts, sample, check = reading.facts, reading.sample, reading.check
    words = {CheckResult.OK: "healthy", CheckResult.UNKNOWN: "unknown"}
    return {
        "index": facts.index,
        "uuid": facts.uuid,
        "pci_bus_id": facts.pci_bus_id,
        "model": facts.model,
        "memory_total_mib": facts.memory_total_mib,
        "memory_used_mib": sample.memory_used_mib,
        "memory_reserved_mib": facts.memory_reserved_mib,
        "utilization_pct": sample.utilization_pct,
        "temperature_c": sample.temperature_c,
        "power_w": None if sample.power_mw is None else sample.power_mw / 1000,
        "power_limit_w": facts.power_limit_w,
        "ecc": reading.ecc,
        "numa_node": facts.numa_node,
        "cpu_affinity": facts.cpu_affinity,
        "partitions": [msgspec.to_builtins(part) for part in reading.partitions],
        "health": words.get(check.result, "unhealthy"),
        "reasons": [] if check.result is CheckResult.OK else [f"{check.code}: {check.evidence}"],
    }

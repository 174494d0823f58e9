"""The shape of a vendor's plug-in: live probing and pure parsing both end in a Readout."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from agent.notices import sentence
from agent.protocol import (
    Check,
    CheckResult,
    Cpu,
    DeviceFacts,
    DeviceSample,
    Link,
    Notice,
    Numa,
    Partition,
)

MOST_MEMORY_MIB = 16 << 20
MOST_POWER_W = 20_000
MOST_ERRORS = 1 << 50
LONGEST_LINE = 8192
EVIDENCE_CHARS = 500
NO_INDEX = -1  # of a device known by its bus id only
CPU = "cpu"  # what the host's own processors are called beside the vendors
_NUMBER = re.compile(r"^([-+]?\d{1,15}(?:\.\d+)?)\s*[%A-Za-z/]*$")
_SIZE = re.compile(r"^(\d{1,15}(?:\.\d+)?)\s*([KMGT]i?B|M|B|)$", re.IGNORECASE)
_MIB_OF = dict.fromkeys(("", "m", "mib", "mb"), 1.0) | {
    "b": 1 / (1 << 20),
    "kb": 1 / 1024,
    "kib": 1 / 1024,
    "gb": 1024.0,
    "gib": 1024.0,
    "tb": float(1 << 20),
    "tib": float(1 << 20),
}
# Colours, also where the escape got lost or was spelled out when somebody copied the text.
_ANSI = re.compile(r"(?:\x1b|\u241b|\^\[)\[[0-9;?]*[A-Za-z]|\[\d{1,2}(?:;\d{1,3})*m(?!\w*\])")


class ProbeError(Exception):
    """A vendor's interface did not answer; the text says how."""


class Process(msgspec.Struct, frozen=True):
    """A process on a device; its memory is unknown where the tool does not say."""

    pid: int
    name: str | None = None
    memory_used_mib: int | None = None


class Port(msgspec.Struct, frozen=True):
    """One end of a link between devices, as the device counts them."""

    number: int
    active: bool
    mb_s: int | None = None


class Reading(msgspec.Struct, frozen=True):
    """All that one look at one device gave. `uncorrectable` is the driver's running count of uncorrectable
    memory errors; `check` is the worst finding, `findings` are the others.
    """

    facts: DeviceFacts
    sample: DeviceSample
    check: Check
    ecc: bool | None = None
    uncorrectable: int | None = None
    partitions: list[Partition] = []
    processes: list[Process] = []
    ports: list[Port] = []
    findings: list[Check] = []
    memory_used_pct: int | None = None  # where the tool tells no amount


class Readout(msgspec.Struct, frozen=True):
    """All that one look at a vendor's devices, or at the host's processors ("cpu"), gave."""

    vendor: str
    driver_version: str | None = None
    readings: list[Reading] = []
    links: list[Link] = []
    numa: list[Numa] = []
    warnings: list[Notice] = []
    cpu_model: str | None = None
    sockets: int | None = None
    cpus: list[Cpu] = []
    memory_mib: int | None = None  # of the host


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


def with_vendor(said: Notice, vendor: str) -> Notice:
    """The same, saying whose devices it is about."""
    return Notice(code=said.code, params={"vendor": str(vendor), **said.params})


def device_name(facts: DeviceFacts) -> str:
    """A device's identity in samples and checks."""
    return facts.uuid or facts.pci_bus_id or f"{facts.vendor}-{facts.index}"


def with_facts(reading: Reading, facts: DeviceFacts) -> Reading:
    """The reading of a device of which more is known now."""
    name = device_name(facts)
    return msgspec.structs.replace(
        reading,
        facts=facts,
        sample=msgspec.structs.replace(reading.sample, device=name),
        check=msgspec.structs.replace(reading.check, device=name),
        findings=[msgspec.structs.replace(check, device=name) for check in reading.findings],
    )


def plain(text: str) -> str:
    """Without terminal colours, carriage returns, byte order marks and lines that no tool prints; a document may stand
    on one line.
    """
    clean = _ANSI.sub("", text).replace("\r", "").replace("\ufeff", "")
    return without_long_lines(clean, but=("{", "[", "<"))


def without_long_lines(text: str, *, but: tuple[str, ...] = ()) -> str:
    """Lines of garbage cost the readers of lines much time; those stay that begin with one of `but`."""
    if len(text) <= LONGEST_LINE:
        return text
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if len(line) <= LONGEST_LINE or line.lstrip().startswith(but))


def to_number(text: str | None, *, low: float, high: float) -> float | None:
    """A reading with or without its unit; words, N/A and impossible values are unknown."""
    match = _NUMBER.match((text or "").strip())
    value = float(match.group(1)) if match else None
    return value if value is not None and low <= value <= high else None


def to_int(text: str | None, *, low: int, high: int) -> int | None:
    """As `to_number`, rounded."""
    value = to_number(text, low=low, high=high)
    return None if value is None else round(value)


def from_library(value: str | bytes | None) -> str | None:
    """A library's string without padding; None for an empty one."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return text.strip("\0 ") or None if text else None


def in_range(value: float | None, *, low: float, high: float) -> int | None:
    """A measured number, or None where it is a sentinel or absurd."""
    return round(value) if value is not None and low <= value <= high else None


def to_mib(text: str | None) -> int | None:
    """A size with its unit in MiB; without one it is MiB. Tools that write MB mean MiB."""
    match = _SIZE.match((text or "").strip())
    if match is None:
        return None
    value = float(match.group(1)) * _MIB_OF[match.group(2).lower()]
    return round(value) if 0 <= value <= MOST_MEMORY_MIB else None


def document(readout: Readout, *, also: Sequence[str] = ()) -> dict[str, object]:
    """The JSON document of `headrace-agent parse` and `probe`; what is unknown is null. `also` are warnings of the
    caller's own.
    """
    found: dict[str, object] = {
        "vendor": str(readout.vendor),
        "driver_version": readout.driver_version,
        "devices": [_device(reading) for reading in readout.readings],
        "links": [
            {"a": link.a, "b": link.b, "kind": link.kind, "lanes": link.lanes} for link in readout.links
        ],
        "numa": [msgspec.to_builtins(node) for node in readout.numa],
        "warnings": [*(sentence(with_vendor(said, readout.vendor)) for said in readout.warnings), *also],
    }
    if readout.vendor == CPU:
        found |= {
            "cpu_model": readout.cpu_model,
            "sockets": readout.sockets,
            "memory_mib": readout.memory_mib,
        }
        found["cpus"] = [_cpu(cpu) for cpu in readout.cpus]
    return found


def _cpu(cpu: Cpu) -> dict[str, object]:
    found: dict[str, object] = msgspec.to_builtins(cpu)
    return found | {name: None for name in ("core", "socket") if found[name] == NO_INDEX}


def _device(reading: Reading) -> dict[str, object]:
    facts, sample = reading.facts, reading.sample
    words = {CheckResult.OK: "healthy", CheckResult.UNKNOWN: "unknown"}
    checks = [check for check in (reading.check, *reading.findings) if check.result is not CheckResult.OK]
    return {
        "index": None if facts.index < 0 else facts.index,
        "uuid": facts.uuid,
        "pci_bus_id": facts.pci_bus_id,
        "model": facts.model,
        "compute_units": facts.compute_units,
        "memory_total_mib": facts.memory_total_mib,
        "memory_used_mib": sample.memory_used_mib,
        "memory_used_pct": reading.memory_used_pct,
        "memory_reserved_mib": facts.memory_reserved_mib,
        "utilization_pct": sample.utilization_pct,
        "temperature_c": sample.temperature_c,
        "power_w": None if sample.power_mw is None else sample.power_mw / 1000,
        "power_limit_w": facts.power_limit_w,
        "ecc": reading.ecc,
        "numa_node": facts.numa_node,
        "cpu_affinity": facts.cpu_affinity,
        "partitions": [msgspec.to_builtins(part) for part in reading.partitions],
        "processes": [msgspec.to_builtins(process) for process in reading.processes],
        "ports": [msgspec.to_builtins(port) for port in reading.ports],
        "health": words.get(reading.check.result, "unhealthy"),
        "reasons": [f"{check.code}: {check.evidence}" for check in checks],
    }

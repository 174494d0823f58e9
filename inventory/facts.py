"""Facts as an agent sends them, made safe to store: bounded, plausible, in one spelling. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.protocol import Cpu, DeviceFacts, Facts, Link, Mount, Notice, Numa, Runtime, normal_pci
from controlplane.base.texts import has_control_character, without_control_characters
from inventory import plausible
from inventory.identifiers import normal_uuid
from inventory.warnings import warning

MAX_CPUS = 4096
MAX_NUMA = 256
MAX_DEVICES = 256
MAX_LINKS = 8192
MAX_MOUNTS = 512
MAX_NAMES = 4096
MAX_LABELS = 128
MAX_RUNTIMES = 16
MAX_WARNINGS = 64
MAX_PARAMS = 8
MAX_NAME = 300
# The facts whose change alone concerns people but no decision.
UNSEEN_BY_SCHEDULING = frozenset({"arch", "os", "kernel", "mounts", "runtimes", "warnings"})


@dataclass(frozen=True, slots=True)
class CleanDevice:
    """One accelerator ready for the table; `columns` are the fields of the Device row that facts decide."""

    identity: str
    columns: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CleanLink:
    """A link between the devices with these indices, first < second."""

    first: int
    second: int
    columns: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CleanFacts:
    """Facts ready for the tables, with a warning for everything that was dropped."""

    columns: dict[str, Any]
    node_set: str | None
    facts: dict[str, Any]
    devices: tuple[CleanDevice, ...]
    links: tuple[CleanLink, ...]


@dataclass(slots=True)
class _Cleaner:
    warnings: list[dict[str, Any]] = field(default_factory=list)

    def number(self, name: str, value: int | None, limits: plausible.Range) -> int | None:
        cleaned = limits.clean(value)
        if value is not None and cleaned is None:
            self.warnings.append(warning("impossible-number", field=name, value=value))
        return cleaned

    def upto(self, name: str, items: Sequence[Any], limit: int) -> Sequence[Any]:
        if len(items) > limit:
            self.warnings.append(warning("too-many", field=name, count=len(items), limit=limit))
        return items[:limit]


def text(value: str | None, limit: int, *, allowed: str = "") -> str | None:
    """Bounded text without characters that cannot be stored or seen, other than those allowed; empty is unknown."""
    # Cut before and after: a megabyte of noise is not looked at character by character.
    return without_control_characters((value or "")[: 2 * limit], allowed=allowed)[:limit].strip() or None


def clean_facts(facts: Facts) -> CleanFacts:
    """Everything of `facts` that can be true."""
    cleaner = _Cleaner()
    devices = _devices(cleaner, facts.devices)
    links = _links(cleaner, facts.links, known={device.columns["index"] for device in devices})
    cpus = [_cpu(cleaner, cpu) for cpu in cleaner.upto("cpus", facts.cpus, MAX_CPUS) if _is_cpu(cleaner, cpu)]
    stored = {
        "arch": text(facts.arch, 50),
        "os": text(facts.os, 200),
        "kernel": text(facts.kernel, 200),
        "cpus": cpus,
        "numa": [_numa(cleaner, numa) for numa in cleaner.upto("numa", facts.numa, MAX_NUMA)],
        "mounts": [_mount(cleaner, mount) for mount in cleaner.upto("mounts", facts.mounts, MAX_MOUNTS)],
        "runtimes": [_runtime(runtime) for runtime in cleaner.upto("runtimes", facts.runtimes, MAX_RUNTIMES)],
        "images": _names(cleaner, "images", facts.images),
        "datasets": _names(cleaner, "datasets", facts.datasets),
        "reserved_cpus": _cpu_ids(facts.reserved_cpus),
    }
    columns = _node_columns(cleaner, facts, cpu_count=len(cpus) or None)
    stored["warnings"] = [*_said(facts), *cleaner.warnings][:MAX_WARNINGS]
    return CleanFacts(columns, text(facts.node_set, 100), stored, devices, links)


def _said(facts: Facts) -> list[Any]:
    """What the agent finds odd: codes, and prose of older agents."""
    prose = [text(entry, MAX_NAME) for entry in facts.warnings[:MAX_WARNINGS]]
    return [entry for entry in prose if entry] + [_notice(said) for said in facts.notices[:MAX_WARNINGS]]


def _notice(said: Notice) -> dict[str, Any]:
    params = list(said.params.items())[:MAX_PARAMS]
    return {
        "code": text(said.code, 50) or "",
        "params": {text(name, 50) or "": text(value, MAX_NAME) or "" for name, value in params},
    }


def _node_columns(cleaner: _Cleaner, facts: Facts, *, cpu_count: int | None) -> dict[str, Any]:
    given = cleaner.upto("labels", list(facts.labels.items()), MAX_LABELS)
    labels = {key[:MAX_NAME]: value[:MAX_NAME] for key, value in given if _storable(key + value)}
    if len(labels) < len(given):
        cleaner.warnings.append(warning("control-character", field="labels"))
    return {
        "name": text(facts.hostname, 255) or facts.machine_id[:255],
        "agent_version": text(facts.agent_version, 50) or "",
        "cpu_model": text(facts.cpu_model, 200),
        "cpu_count": cpu_count,
        "memory_mib": cleaner.number("memory_mib", facts.memory_mib, plausible.HOST_MEMORY_MIB),
        "labels": labels,
        "observe_only": facts.observe_only,
        "isolates_users": facts.isolates_users,
        "simulated": facts.simulated,
    }


def _devices(cleaner: _Cleaner, reported: Sequence[DeviceFacts]) -> tuple[CleanDevice, ...]:
    devices: dict[str, CleanDevice] = {}
    for facts in cleaner.upto("devices", reported, MAX_DEVICES):
        device = _device(cleaner, facts)
        if device is None:
            continue
        if device.identity in devices:
            cleaner.warnings.append(warning("device-twice", device=device.identity))
            continue
        devices[device.identity] = device
    return tuple(devices.values())


def _device(cleaner: _Cleaner, facts: DeviceFacts) -> CleanDevice | None:
    index = cleaner.number("devices.index", facts.index, plausible.DEVICE_INDEX)
    if index is None:
        return None
    uuid, pci = normal_uuid(facts.uuid), normal_pci(facts.pci_bus_id)
    name = f"devices.{index}"
    total = cleaner.number(f"{name}.memory_total_mib", facts.memory_total_mib, plausible.DEVICE_MEMORY_MIB)
    reserved_limits = plausible.Range(0, total or plausible.DEVICE_MEMORY_MIB.high)
    columns = {
        "uuid": uuid,
        "pci_bus_id": pci,
        "index": index,
        "vendor": facts.vendor.value,
        "model": text(facts.model, 200),
        "memory_total_mib": total,
        "memory_reserved_mib": cleaner.number(
            f"{name}.memory_reserved_mib", facts.memory_reserved_mib, reserved_limits
        ),
        "compute_units": cleaner.number(
            f"{name}.compute_units", facts.compute_units, plausible.COMPUTE_UNITS
        ),
        # Vendors say -1 where there is no preference; that is no fault worth a warning.
        "numa_node": plausible.NUMA_ID.clean(facts.numa_node),
        "cpu_affinity": None if facts.cpu_affinity is None else _cpu_ids(facts.cpu_affinity),
        "driver_version": text(facts.driver_version, 100),
        "power_limit_w": cleaner.number(
            f"{name}.power_limit_w", facts.power_limit_w, plausible.POWER_LIMIT_W
        ),
    }
    return CleanDevice(uuid or pci or f"{facts.vendor.value}:{index}", columns)


def _links(cleaner: _Cleaner, reported: Sequence[Link], *, known: set[int]) -> tuple[CleanLink, ...]:
    links: dict[tuple[int, int], CleanLink] = {}
    for link in cleaner.upto("links", reported, MAX_LINKS):
        first, second = sorted((link.a, link.b))
        if first == second or not {first, second} <= known:
            cleaner.warnings.append(warning("link-unknown", a=link.a, b=link.b))
            continue
        columns = {
            "kind": text(link.kind, 20) or "SYS",
            "lanes": plausible.LINK_LANES.clean(link.lanes),
            "bandwidth_mb_s": plausible.LINK_MB_S.clean(link.bandwidth_mb_s),
        }
        links.setdefault((first, second), CleanLink(first, second, columns))
    return tuple(links.values())


def _is_cpu(cleaner: _Cleaner, cpu: Cpu) -> bool:
    return cleaner.number("cpus.id", cpu.id, plausible.CPU_ID) is not None


def _cpu(cleaner: _Cleaner, cpu: Cpu) -> dict[str, Any]:
    return {
        "id": cpu.id,
        "core": plausible.CPU_ID.clean(cpu.core) or 0,
        "socket": plausible.CPU_ID.clean(cpu.socket) or 0,
        "numa": plausible.NUMA_ID.clean(cpu.numa),
        "max_mhz": cleaner.number(f"cpus.{cpu.id}.max_mhz", cpu.max_mhz, plausible.CPU_MHZ),
        "online": cpu.online,
    }


def _numa(cleaner: _Cleaner, numa: Numa) -> dict[str, Any]:
    return {
        "id": plausible.NUMA_ID.clean(numa.id),
        "cpus": _cpu_ids(numa.cpus),
        "memory_mib": cleaner.number(f"numa.{numa.id}.memory_mib", numa.memory_mib, plausible.HOST_USED_MIB),
        "distances": [plausible.NUMA_DISTANCE.clean(distance) for distance in numa.distances[:MAX_NUMA]],
    }


def _mount(cleaner: _Cleaner, mount: Mount) -> dict[str, Any]:
    return {
        "path": text(mount.path, 1000),
        "source": text(mount.source, 1000),
        "fs_type": text(mount.fs_type, 50),
        "total_mib": plausible.Range(0, 2**50).clean(mount.total_mib),
    }


def _runtime(runtime: Runtime) -> dict[str, Any]:
    return {"name": text(runtime.name, 50), "version": text(runtime.version, 100)}


def _names(cleaner: _Cleaner, name: str, values: Sequence[str]) -> list[str]:
    kept = cleaner.upto(name, values, MAX_NAMES)
    return sorted({value[:MAX_NAME] for value in kept if value and _storable(value)})


def _cpu_ids(values: Iterable[int]) -> list[int]:
    return sorted({value for value in values if plausible.CPU_ID.clean(value) is not None})[:MAX_CPUS]


def _storable(value: str) -> bool:
    return not has_control_character(value)

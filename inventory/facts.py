"""Facts as an agent sends them, made safe to store: bounded, plausible, in one spelling. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent.protocol import Cpu, Facts, Mount, Notice, Numa, Runtime, StoredImage
from controlplane.base.texts import has_control_character
from inventory import plausible
from inventory.cleaning import MAX_CPUS, Cleaner, cpu_ids, text
from inventory.device_facts import CleanDevice, CleanLink, clean_devices, clean_links

MAX_NUMA = 256
MAX_MOUNTS = 512
MAX_NAMES = 4096
MAX_LABELS = 128
MAX_RUNTIMES = 16
MAX_WARNINGS = 64
MAX_PARAMS = 8
MAX_NAME = 300
ENGINES = frozenset({"podman", "docker"})
# The facts whose change alone concerns people but no decision.
UNSEEN_BY_SCHEDULING = frozenset(
    {"arch", "os", "kernel", "mounts", "runtimes", "stored_images", "agent_labels", "warnings"}
)


@dataclass(frozen=True, slots=True)
class CleanFacts:
    """Facts ready for the tables, with a warning for everything that was dropped."""

    columns: dict[str, Any]
    node_set: str | None
    facts: dict[str, Any]
    devices: tuple[CleanDevice, ...]
    links: tuple[CleanLink, ...]


def clean_facts(facts: Facts) -> CleanFacts:
    """Everything of `facts` that can be true."""
    cleaner = Cleaner()
    devices = clean_devices(cleaner, facts.devices)
    links = clean_links(cleaner, facts.links, known={device.columns["index"] for device in devices})
    cpus = _cpus(cleaner, facts.cpus)
    images = _stored_images(cleaner, facts.stored_images)
    stored = {
        "arch": text(facts.arch, 50),
        "os": text(facts.os, 200),
        "kernel": text(facts.kernel, 200),
        "cpus": cpus,
        "numa": [_numa(cleaner, numa) for numa in cleaner.upto("numa", facts.numa, MAX_NUMA)],
        "mounts": [_mount(cleaner, mount) for mount in cleaner.upto("mounts", facts.mounts, MAX_MOUNTS)],
        "runtimes": [_runtime(runtime) for runtime in cleaner.upto("runtimes", facts.runtimes, MAX_RUNTIMES)],
        "images": _names(cleaner, "images", [*facts.images, *(image["name"] for image in images)]),
        "stored_images": images,
        "datasets": _names(cleaner, "datasets", facts.datasets),
        "reserved_cpus": cpu_ids(facts.reserved_cpus),
        "runs_containers": _runs_containers(facts),
    }
    columns = _node_columns(cleaner, facts, cpu_count=len(cpus) or None)
    stored["agent_labels"] = columns["labels"]
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


def _node_columns(cleaner: Cleaner, facts: Facts, *, cpu_count: int | None) -> dict[str, Any]:
    given = cleaner.upto("labels", list(facts.labels.items()), MAX_LABELS)
    labels = {key[:MAX_NAME]: value[:MAX_NAME] for key, value in given if _storable(key + value)}
    if len(labels) < len(given):
        cleaner.warn("control-character", field="labels")
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


def _cpus(cleaner: Cleaner, reported: Sequence[Cpu]) -> list[dict[str, Any]]:
    """Every logical CPU once; of two with one number the first counts."""
    found: dict[int, dict[str, Any]] = {}
    for cpu in cleaner.upto("cpus", reported, MAX_CPUS):
        if cleaner.number("cpus.id", cpu.id, plausible.CPU_ID) is not None and cpu.id not in found:
            found[cpu.id] = _cpu(cleaner, cpu)
    return list(found.values())


def _cpu(cleaner: Cleaner, cpu: Cpu) -> dict[str, Any]:
    return {
        "id": cpu.id,
        # Unknown is not core 0: whoever has that one would seem to be its sibling.
        "core": cleaner.number(f"cpus.{cpu.id}.core", cpu.core, plausible.CPU_ID),
        "socket": cleaner.number(f"cpus.{cpu.id}.socket", cpu.socket, plausible.CPU_ID),
        "numa": plausible.NUMA_ID.clean(cpu.numa),
        "max_mhz": cleaner.number(f"cpus.{cpu.id}.max_mhz", cpu.max_mhz, plausible.CPU_MHZ),
        "online": cpu.online,
    }


def _numa(cleaner: Cleaner, numa: Numa) -> dict[str, Any]:
    return {
        "id": plausible.NUMA_ID.clean(numa.id),
        "cpus": cpu_ids(numa.cpus),
        "memory_mib": cleaner.number(f"numa.{numa.id}.memory_mib", numa.memory_mib, plausible.HOST_USED_MIB),
        "distances": [plausible.NUMA_DISTANCE.clean(distance) for distance in numa.distances[:MAX_NUMA]],
    }


def _mount(cleaner: Cleaner, mount: Mount) -> dict[str, Any]:
    return {
        "path": text(mount.path, 1000),
        "source": text(mount.source, 1000),
        "fs_type": text(mount.fs_type, 50),
        "total_mib": plausible.Range(0, 2**50).clean(mount.total_mib),
    }


def _runs_containers(facts: Facts) -> bool:
    """As the agent says; of an older one, whether an engine that it would use is there."""
    if facts.runs_containers is not None:
        return facts.runs_containers
    return any(runtime.name in ENGINES for runtime in facts.runtimes)


def _runtime(runtime: Runtime) -> dict[str, Any]:
    return {"name": text(runtime.name, 50), "version": text(runtime.version, 100)}


def _stored_images(cleaner: Cleaner, reported: Sequence[StoredImage]) -> list[dict[str, Any]]:
    """Images with their sizes, by name."""
    found = {
        image.name[:MAX_NAME]: {
            "name": image.name[:MAX_NAME],
            "digest": text(image.digest, 100),
            "size_mib": plausible.IMAGE_MIB.clean(image.size_mib),
        }
        for image in cleaner.upto("stored_images", reported, MAX_NAMES)
        if image.name and _storable(image.name)
    }
    return [found[name] for name in sorted(found)]


def _names(cleaner: Cleaner, name: str, values: Sequence[str]) -> list[str]:
    kept = cleaner.upto(name, values, MAX_NAMES)
    return sorted({value[:MAX_NAME] for value in kept if value and _storable(value)})


def _storable(value: str) -> bool:
    return not has_control_character(value)

"""The facts of nodes that decisions need, parsed once per revision and digest."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inventory.models import Node
from scheduling.engine.types import CpuInfo

UNKNOWN_CORE = 65_535
# A notice of agents, and the reason why their nodes take no jobs.
DISK_LOW = "disk-low"
# Node.revision and Node.facts_digest: a restored backup may count up to an old revision again, with other facts.
Version = tuple[int, str]


@dataclass
class NodeFacts:
    """What facts say of a node's cores, containers and datasets, at a version; and its cores as they are booked."""

    version: Version
    free: tuple[CpuInfo, ...]
    images: tuple[str, ...]
    datasets: tuple[str, ...]
    runs_containers: bool
    disk_low: bool = False
    booked: frozenset[int] = frozenset()
    cpus: tuple[CpuInfo, ...] = ()

    @classmethod
    def of(cls, version: Version, facts: dict[str, Any]) -> NodeFacts:
        """Of the stored document."""
        free = _cpus(facts)
        images, datasets = tuple(facts.get("images", ())), tuple(facts.get("datasets", ()))
        runs_containers = bool(facts.get("runs_containers"))
        low = is_disk_low(facts)
        return cls(version, free, images, datasets, runs_containers, disk_low=low, cpus=free)

    def booked_as(self, booked: Collection[int]) -> tuple[CpuInfo, ...]:
        """All cores, those booked marked."""
        if self.booked != booked:
            self.booked = frozenset(booked)
            self.cpus = tuple(replace(cpu, booked=True) if cpu.cpu in booked else cpu for cpu in self.free)
        return self.cpus


def is_disk_low(facts: dict[str, Any]) -> bool:
    """Whether the node has too little room for new jobs, as its agent says."""
    said = facts.get("warnings", ())
    return any(isinstance(entry, dict) and entry["code"] == DISK_LOW for entry in said)


def learn(known: dict[int, NodeFacts], versions: Mapping[int, Version]) -> None:
    """Reads the facts of nodes that are not known at these versions; what is newer by then is newer in all."""
    stale = [
        node for node, version in versions.items() if node not in known or known[node].version != version
    ]
    columns = ("id", "revision", "facts_digest", "facts")
    rows = Node.objects.filter(id__in=stale).values_list(*columns) if stale else ()
    for node in stale:
        known.pop(node, None)
    for node, revision, digest, facts in rows:
        known[node] = NodeFacts.of((revision, digest), facts)


def _cpus(facts: dict[str, Any]) -> tuple[CpuInfo, ...]:
    reserved = frozenset(facts.get("reserved_cpus", ()))
    return tuple(
        CpuInfo(
            cpu=cpu["id"],
            # A core of its own where it is unknown: no other CPU is known to be its sibling.
            core=UNKNOWN_CORE - cpu["id"] if cpu["core"] is None else cpu["core"],
            socket=cpu["socket"] or 0,
            numa=cpu["numa"],
            max_mhz=cpu["max_mhz"],
            online=cpu["online"],
            reserved=cpu["id"] in reserved,
            booked=False,
        )
        for cpu in facts.get("cpus", ())
    )

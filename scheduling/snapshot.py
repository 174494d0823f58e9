"""Rows into the engine's view of the cluster, read again only for the nodes that changed.

A node's version is (Node.revision, DesiredState.epoch, id of the pause of its node set): every change that scheduling
may see changes one of them in its own transaction, revision and epoch under the lock of that row. Versions are compared
node by node for equality, so no commit is missed however late it comes - unlike one watermark over all rows, which a
slow transaction with a lower number slips under. Versions are read before the rows: rows newer than their version are
read once more, older ones cannot be.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.db.models import Sum

from controlplane.base import clock
from inventory import catalogue
from inventory.health import TAKES_JOBS
from inventory.models import Device, DeviceLink, Node, NodeState
from scheduling import declared
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    AGENTLESS,
    PAUSED,
    SIMULATED,
    WHOLE_MILLI,
    DeviceHealth,
    DeviceInfo,
    LinkInfo,
    NodeInfo,
    Reservation,
)
from scheduling.engine.types import Hold as EngineHold
from scheduling.islands import islands
from scheduling.models import LIVE_PHASES, CoreBooking, Hold, Placement, Slice
from scheduling.node_facts import DISK_LOW, NodeFacts, learn

Version = tuple[int, int, int]
# Above this share of changed nodes one build is cheaper than many updates.
REBUILD_ABOVE = 0.25
# The version of no node.
NEVER: Version = (-1, -1, -1)
# Measured power moves with every report; told in steps, it lets the engine keep what it computed for a node.
POWER_STEP_MW = 50_000
MEASURED_FOR = timedelta(minutes=2)
MISSING = DeviceHealth.MISSING.name.lower()
HEALTH = {health.name.lower(): health for health in DeviceHealth}


def load_versions() -> dict[int, Version]:
    """The version of every node; one query."""
    rows = Node.objects.values_list("id", "revision", "desired__epoch", "node_set__pause__id")
    return {node: (revision, epoch or 0, pause or 0) for node, revision, epoch, pause in rows}


def load_nodes(
    ids: Collection[int] | None = None, *, known: dict[int, NodeFacts] | None = None
) -> list[NodeInfo]:
    """These nodes, or all, as the engine sees them; eight queries however many there are. Facts that are `known` of a
    node's present revision and digest are not read again; `known` learns the others.
    """
    rows = _of(Node.objects.all(), "id", ids).values(
        "id",
        "revision",
        "facts_digest",
        "name",
        "node_set__name",
        "node_set__pause__id",
        "state",
        "observe_only",
        "remote__id",
        "simulated",
        "labels",
        "memory_mib",
        "reading__at",
        "reading__power_mw",
    )
    parts = _Parts.load(ids)
    rows = list(rows)
    facts = {} if known is None else known
    learn(facts, {row["id"]: (row["revision"], row["facts_digest"]) for row in rows})
    # A node that vanished between the queries is gone.
    return [_node(row, parts, facts[row["id"]]) for row in rows if row["id"] in facts]


@dataclass
class _Parts:
    """What belongs to nodes, by node id."""

    devices: dict[int, list[dict[str, Any]]]
    links: dict[int, list[LinkInfo]]
    cpus: dict[int, set[int]]
    placed: dict[int, tuple[int, int]]
    holds: dict[int, tuple[EngineHold, ...]]
    measured_since: datetime

    @classmethod
    def load(cls, ids: Collection[int] | None) -> _Parts:
        return cls(
            devices=_devices(ids),
            links=_links(ids),
            cpus=_booked_cpus(ids),
            placed=_booked_host(ids),
            holds=_holds(ids),
            measured_since=clock.now() - MEASURED_FOR,
        )


def _of(queryset: Any, column: str, ids: Collection[int] | None) -> Any:
    return queryset if ids is None else queryset.filter(**{f"{column}__in": ids})


def _node(row: dict[str, Any], parts: _Parts, facts: NodeFacts) -> NodeInfo:
    node, labels = row["id"], row["labels"]
    devices, links = parts.devices.get(node, ()), parts.links.get(node, ())
    joined = islands(links)
    memory_booked_mib, bandwidth = parts.placed.get(node, (0, 0))
    return NodeInfo(
        node=node,
        name=row["name"],
        node_set=row["node_set__name"],
        not_ready=_not_ready(row, facts),
        observe_only=row["observe_only"],
        labels=_labels(row),
        memory_mib=row["memory_mib"] or 0,
        memory_booked_mib=memory_booked_mib,
        cpus=facts.booked_as(parts.cpus.get(node, frozenset())),
        devices=tuple(_device(device, joined) for device in devices),
        links=tuple(links),
        images=facts.images,
        datasets=facts.datasets,
        holds=parts.holds.get(node, ()),
        read_bandwidth_booked_mib_s=bandwidth,
        read_bandwidth_total_mib_s=declared.whole(labels, declared.READ_BANDWIDTH),
        idle_mw=declared.milliwatts(labels, declared.IDLE_POWER),
        core_mw=declared.milliwatts(labels, declared.CORE_POWER),
        measured_mw=_measured_mw(row, devices, parts.measured_since),
        power_cap_mw=declared.milliwatts(labels, declared.POWER_CAP),
        runs_containers=facts.runs_containers,
    )


def _not_ready(row: dict[str, Any], facts: NodeFacts) -> str | None:
    if row["state"] != NodeState.READY:
        return str(row["state"])
    if row["remote__id"] is not None:
        return AGENTLESS
    if row["node_set__pause__id"] is not None:
        return PAUSED
    return DISK_LOW if facts.disk_low else None


def _labels(row: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The node's labels; a simulated node carries the mark that keeps real jobs away, whatever its agent says."""
    labels = row["labels"] | dict([SIMULATED] if row["simulated"] else [])
    return tuple(sorted(labels.items()))


def _measured_mw(host: dict[str, Any], devices: Sequence[dict[str, Any]], since: datetime) -> int | None:
    """What the node draws, rounded up to a step: the host as a whole, or all its devices together where that is more
    or nobody measures the host. An old reading says nothing: the machine may be off by now.
    """
    here = [row for row in devices if HEALTH[row["health"]] is not DeviceHealth.MISSING]
    on_devices = [power_mw for row in here if (power_mw := _drawn_mw(row, since)) is not None]
    known = [sum(on_devices)] if on_devices else []
    of_host = _drawn_mw(host, since)
    if of_host is not None:
        known.append(of_host)
    return -(-max(known) // POWER_STEP_MW) * POWER_STEP_MW if known else None


def _drawn_mw(row: dict[str, Any], since: datetime) -> int | None:
    at = row["reading__at"]
    power_mw: int | None = row["reading__power_mw"]
    return None if at is None or at < since else power_mw


def _devices(ids: Collection[int] | None) -> dict[int, list[dict[str, Any]]]:
    """Rows of devices with what is booked of them."""
    slices = _of(Slice.objects.all(), "device__node_id", ids).order_by().values("device_id")
    booked = {
        row["device_id"]: (row["memory"], row["compute"])
        for row in slices.annotate(memory=Sum("memory_mib"), compute=Sum("compute_milli"))
    }
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    rows = _of(Device.objects.all(), "node_id", ids).order_by("node_id", "index", "id")
    for row in rows.values(
        "id", "node_id", "index", "model", "memory_total_mib", "memory_reserved_mib", "foreign_mib", "numa_node",
        "cpu_affinity", "health", "cordoned", "vendor", "power_limit_w", "compute_milli", "memory_group", "parent_id",
        "parent__health", "parent__cordoned", "parent__model", "parent__power_limit_w", "reading__memory_used_mib",
        "reading__at", "reading__power_mw",
    ):  # fmt: skip
        taken = booked.get(row["id"])
        # A slice that is gone no longer cuts its device, unless a job may still hold it.
        if taken is None and row["parent_id"] is not None and row["health"] == MISSING:
            continue
        found[row["node_id"]].append(row | {"booked": taken or (0, 0)})
    return found


def _device(row: dict[str, Any], joined: Mapping[int, int]) -> DeviceInfo:
    memory_mib, compute_milli = row["booked"]
    return DeviceInfo(
        device=row["id"],
        index=row["index"],
        model=row["model"],
        memory_total_mib=row["memory_total_mib"],
        memory_reserved_mib=row["memory_reserved_mib"] or 0,
        memory_booked_mib=memory_mib,
        memory_used_mib=row["reading__memory_used_mib"],
        compute_booked_milli=compute_milli,
        foreign_mib=row["foreign_mib"],
        numa=row["numa_node"],
        cpu_affinity=tuple(row["cpu_affinity"] or ()),
        health=_health(row),
        cordoned=row["cordoned"] or bool(row["parent__cordoned"]),
        parent=row["parent_id"],
        memory_group=row["memory_group"],
        link_island=joined.get(row["id"]),
        power_limit_mw=_power_limit_mw(row),
    )


def _health(row: dict[str, Any]) -> DeviceHealth:
    """A slice takes jobs only where its device would."""
    of_parent = row["parent__health"]
    return HEALTH[row["health"] if of_parent is None or of_parent in TAKES_JOBS else of_parent]


def _power_limit_mw(row: dict[str, Any]) -> int | None:
    """The limit that the device itself tells, else its model's thermal design power; a slice has its part of that."""
    of = "" if row["parent_id"] is None else "parent__"
    limit_w = row[f"{of}power_limit_w"]
    if limit_w is None:
        entry = catalogue.find(row["vendor"], row[f"{of}model"])
        limit_w = None if entry is None else entry.tdp_w
    milli = WHOLE_MILLI if row["parent_id"] is None else row["compute_milli"] or WHOLE_MILLI
    return None if limit_w is None else limit_w * milli


def _links(ids: Collection[int] | None) -> dict[int, list[LinkInfo]]:
    found: dict[int, list[LinkInfo]] = defaultdict(list)
    rows = _of(DeviceLink.objects.all(), "node_id", ids).order_by("first_id", "second_id")
    for node, *link in rows.values_list(
        "node_id", "first_id", "second_id", "kind", "lanes", "bandwidth_mb_s"
    ):
        found[node].append(LinkInfo(*link))
    return found


def _booked_cpus(ids: Collection[int] | None) -> dict[int, set[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    for node, cpu in _of(CoreBooking.objects.all(), "node_id", ids).values_list("node_id", "cpu"):
        found[node].add(cpu)
    return found


def _booked_host(ids: Collection[int] | None) -> dict[int, tuple[int, int]]:
    live = _of(Placement.objects.filter(phase__in=LIVE_PHASES), "node_id", ids).order_by().values("node_id")
    rows = live.annotate(memory=Sum("host_memory_mib"), bandwidth=Sum("read_bandwidth_mib_s"))
    return {row["node_id"]: (row["memory"], row["bandwidth"]) for row in rows}


def _holds(ids: Collection[int] | None) -> dict[int, tuple[EngineHold, ...]]:
    found: dict[int, list[EngineHold]] = defaultdict(list)
    for node, place in _of(Hold.objects.order_by("pk"), "node_id", ids).values_list("node_id", "place"):
        found[node].append(hold_of(msgspec.convert(place, Reservation)))
    return {node: tuple(holds) for node, holds in found.items()}


def hold_of(place: Reservation) -> EngineHold:
    """The place as something that is kept for its job now."""
    return EngineHold(
        job=place.job,
        slices=place.slices,
        cpus=place.cpus,
        host_memory_mib=place.host_memory_mib,
        read_bandwidth_mib_s=place.read_bandwidth_mib_s,
        queue=place.queue,
        team=place.team,
        owner=place.owner,
    )


@dataclass
class SnapshotCache:
    """The last view of the cluster in this process. `lock` is held while the state is refreshed or planned on; who
    only looks takes a still copy and needs no lock.
    """

    state: ClusterState = field(default_factory=lambda: ClusterState.build(()))
    versions: dict[int, Version] = field(default_factory=dict)
    whole_at_ms: int | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)
    _facts: dict[int, NodeFacts] = field(default_factory=dict)
    _still: tuple[ClusterState, int, ClusterState] | None = None

    def refresh(self, *, now_ms: int, whole_every_ms: int) -> ClusterState:
        """The state as committed now. Readings raise no version, so everything is read again every `whole_every_ms`."""
        with self.lock:
            versions = load_versions()
            if self.whole_at_ms is None or not 0 <= now_ms - self.whole_at_ms < whole_every_ms:
                self._replace(load_nodes(known=self._facts))
                self.whole_at_ms = now_ms
            else:
                self._catch_up(versions)
            self.versions = versions
            return self.state

    def still(self, *, now_ms: int, whole_every_ms: int) -> ClusterState:
        """The state as committed now, as a copy that nobody changes; one per version of the state."""
        with self.lock:
            state = self.refresh(now_ms=now_ms, whole_every_ms=whole_every_ms)
            if self._still is None or self._still[0] is not state or self._still[1] != state.version:
                self._still = (state, state.version, state.copy())
            return self._still[2]

    def _catch_up(self, versions: dict[int, Version]) -> None:
        changed = {node for node, version in versions.items() if self.versions.get(node) != version}
        # A node that came and went between two queries was never in the state.
        for gone in {info.node for info in self.state.infos} - versions.keys():
            self.state.remove(gone)
            self._facts.pop(gone, None)
        if not changed:
            return
        infos = load_nodes(changed, known=self._facts)
        if len(infos) > REBUILD_ABOVE * len(versions):
            self._replace([*(info for info in self.state.infos if info.node not in changed), *infos])
            return
        for info in infos:
            self.state.update(info)

    def _replace(self, infos: Iterable[NodeInfo]) -> None:
        """A whole new state, unless nothing differs: then the old one keeps its version and what was
        computed for it.
        """
        fresh = sorted(infos, key=lambda info: info.node)
        for gone in self._facts.keys() - {info.node for info in fresh}:
            del self._facts[gone]
        if fresh != self.state.infos:
            self.state = ClusterState.build(fresh)

    def reread(self, node: int) -> None:
        """Read this node again next time, though its version may stay: its rows spoke against a decision."""
        with self.lock:
            if node in self.versions:
                self.versions[node] = NEVER
                self._facts.pop(node, None)

    def forget(self) -> None:
        """Read everything anew next time."""
        with self.lock:
            self.versions, self.whole_at_ms = {}, None
            self._facts.clear()

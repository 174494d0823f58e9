"""The simulated cluster: nodes as the engine sees them, and the hardware facts that only the simulator knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scheduling.engine.state import ClusterState
from scheduling.engine.types import WHOLE_MILLI, CpuInfo, DeviceHealth, DeviceInfo, NodeInfo, Placed


@dataclass(frozen=True, slots=True)
class Hardware:
    """Assumptions, the same for every node; None means without limit.

    `read_mib_s`: memory bandwidth for what jobs declare to read, of nodes that state none; the engine is told unless
    `read_is_told` is off, and then lets no jobs compete for it. `pull_mib_s`: image pulls of one node.
    Power: a node idles at `node_idle_w`, adds `core_w` per booked core, and per device `device_idle_w`
    rising to `device_busy_w` with its measured use.
    """

    read_mib_s: int | None = None
    read_is_told: bool = True
    pull_mib_s: int = 200
    node_idle_w: int = 200
    core_w: int = 3
    device_idle_w: int = 50
    device_busy_w: int = 300


@dataclass(slots=True)
class Part:
    """What one replica of a running job holds."""

    node: int
    devices: tuple[tuple[int, int, int], ...]
    cpus: tuple[int, ...]
    host_memory_mib: int
    read_mib_s: int

    @classmethod
    def of(cls, placed: Placed) -> Part:
        """The booking of a decision: (device, MiB, milli) each."""
        devices = tuple((s.device, s.memory_mib, s.compute_milli) for s in placed.slices)
        return cls(placed.node, devices, placed.cpus, placed.host_memory_mib, placed.read_bandwidth_mib_s)


@dataclass(slots=True)
class Totals:
    """Sums over the cluster; `partial_milli` is what is free on devices that are partly booked."""

    capacity_milli: int = 0
    booked_milli: int = 0
    partial_milli: int = 0
    cores: int = 0
    booked_cores: int = 0


class Cluster:
    """Bookings on top of the given nodes, mirrored into the engine's state."""

    def __init__(self, nodes: Sequence[NodeInfo], hardware: Hardware) -> None:
        self.hardware = hardware
        if hardware.read_is_told and hardware.read_mib_s is not None:
            nodes = [_with_bandwidth(node, hardware.read_mib_s) for node in nodes]
        self.nodes = len(nodes)
        self.devices = sum(len(node.devices) for node in nodes)
        self.state = ClusterState.build(nodes)
        self.totals = Totals()
        self._infos = {node.node: node for node in nodes}
        for node in nodes:
            self._count(node, 1)

    def info(self, node: int) -> NodeInfo:
        """The node with its present bookings."""
        return self._infos[node]

    def read_mib_s(self, node: int) -> int | None:
        """Memory bandwidth of the node; None without limit."""
        stated = self._infos[node].read_bandwidth_total_mib_s
        return self.hardware.read_mib_s if stated is None else stated

    def book(self, part: Part) -> None:
        """Take what the part holds; ValueError when it is not free, which no plan may ever cause."""
        self._change(part, 1)

    def release(self, part: Part) -> None:
        """Give it back."""
        self._change(part, -1)

    def put(self, info: NodeInfo) -> None:
        """Replace a node."""
        self._count(self._infos[info.node], -1)
        self._infos[info.node] = info
        self._count(info, 1)
        self.state.update(info)

    def has_image(self, node: int, image: str) -> bool:
        """Whether the image is on the node already."""
        return image in self._infos[node].images

    def add_image(self, node: int, image: str) -> None:
        """The image has been pulled."""
        info = self._infos[node]
        self.put(replace(info, images=tuple(sorted({*info.images, image}))))

    def set_ready(self, node: int, why_not: str | None) -> None:
        """A failed node takes no jobs; None makes it ready."""
        self.put(replace(self._infos[node], not_ready=why_not))

    def _change(self, part: Part, sign: int) -> None:
        info = self._infos[part.node]
        given = {device: (mib, milli) for device, mib, milli in part.devices}
        mine = set(part.cpus)
        if sign > 0 and any(c.booked for c in info.cpus if c.cpu in mine):
            raise ValueError(f"node {info.name}: a core is booked twice")
        cpus = tuple(replace(c, booked=sign > 0) if c.cpu in mine else c for c in info.cpus)
        devices = tuple(_booked(d, *given[d.device], sign) if d.device in given else d for d in info.devices)
        self.put(
            replace(
                info,
                cpus=cpus if mine else info.cpus,
                devices=devices,
                memory_booked_mib=info.memory_booked_mib + sign * part.host_memory_mib,
                read_bandwidth_booked_mib_s=info.read_bandwidth_booked_mib_s + sign * part.read_mib_s,
            )
        )

    def _count(self, info: NodeInfo, sign: int) -> None:
        totals = self.totals
        if info.not_ready is None:
            totals.capacity_milli += sign * WHOLE_MILLI * len(info.devices)
            totals.cores += sign * len(info.cpus)
        for device in info.devices:
            booked = device.compute_booked_milli
            totals.booked_milli += sign * booked
            if 0 < booked < WHOLE_MILLI:
                totals.partial_milli += sign * (WHOLE_MILLI - booked)
        totals.booked_cores += sign * sum(c.booked for c in info.cpus)


def uniform_nodes(
    nodes: int, *, devices: int, cores: int, memory_mib: int, model: str, device_memory_mib: int | None = None
) -> list[NodeInfo]:
    """Equal nodes, numbered from 1."""
    cpus = tuple(CpuInfo(cpu, cpu, 0) for cpu in range(cores))
    return [
        NodeInfo(
            node=number,
            name=f"node-{number:04}",
            node_set=None,
            not_ready=None,
            observe_only=False,
            labels=(),
            memory_mib=memory_mib,
            memory_booked_mib=0,
            cpus=cpus,
            devices=tuple(
                DeviceInfo(number * 1000 + i, i, model, device_memory_mib, health=DeviceHealth.HEALTHY)
                for i in range(devices)
            ),
        )
        for number in range(1, nodes + 1)
    ]


def _with_bandwidth(info: NodeInfo, read_mib_s: int) -> NodeInfo:
    if info.read_bandwidth_total_mib_s is not None:
        return info
    return replace(info, read_bandwidth_total_mib_s=read_mib_s)


def _booked(device: DeviceInfo, mib: int, milli: int, sign: int) -> DeviceInfo:
    compute = device.compute_booked_milli + sign * milli
    memory = device.memory_booked_mib + sign * mib
    if not 0 <= compute <= WHOLE_MILLI or memory < 0:
        raise ValueError(f"device {device.device}: booked beyond its compute or below nothing")
    if device.memory_total_mib is not None and memory > device.memory_total_mib:
        raise ValueError(f"device {device.device}: booked beyond its memory")
    return replace(device, compute_booked_milli=compute, memory_booked_mib=memory)

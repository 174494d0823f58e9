"""What captured text tells of a host's processors and NUMA nodes, pieced together from several outputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace

from agent.protocol import Cpu, Numa
from agent.vendors.base import NO_INDEX

MOST_CPUS = 1 << 13
MOST_MHZ = 20_000


@dataclass(frozen=True, slots=True)
class Thread:
    """One logical CPU; None = not told. `core` is told apart within its socket."""

    core: int | None = None
    socket: int | None = None
    numa: int | None = None
    max_mhz: int | None = None
    online: bool | None = None

    def over(self, older: Thread) -> Thread:
        """Both as one, this one's values first."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(older, **{name: value for name, value in told.items() if value is not None})


@dataclass(slots=True)
class Node:
    """One NUMA node. `accelerator`: its memory is an accelerator's, no host memory."""

    cpus: list[int] | None = None
    memory_mib: int | None = None
    distances: list[int] = field(default_factory=list)
    accelerator: bool = False


@dataclass(frozen=True, slots=True)
class Slot:
    """A PCI device and where it hangs."""

    bus_id: str
    numa: int | None = None
    cpus: tuple[int, ...] | None = None


@dataclass(slots=True)
class Host:
    """All that was told. `online` None = nothing was said of which CPUs work."""

    model: str | None = None
    sockets: int | None = None
    online: set[int] | None = None
    threads: dict[int, Thread] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)
    slots: list[Slot] = field(default_factory=list)
    memory_mib: int | None = None

    def told(self) -> bool:
        """Whether anything was recognised."""
        return bool(
            self.model
            or self.sockets
            or self.threads
            or self.nodes
            or self.slots
            or self.memory_mib
            or self.online
        )

    def thread(self, number: int, thread: Thread) -> None:
        """More of one CPU."""
        if 0 <= number < MOST_CPUS:
            self.threads[number] = thread.over(self.threads.get(number, Thread()))

    def node(self, number: int) -> Node:
        """One NUMA node, made where it was not known."""
        return self.nodes.setdefault(number, Node())


def join(hosts: Iterable[Host]) -> Host:
    """All as one; what is told first counts."""
    joined = Host()
    for host in hosts:
        joined.model = joined.model or host.model
        joined.sockets = joined.sockets or host.sockets
        joined.memory_mib = joined.memory_mib or host.memory_mib
        joined.online = host.online if joined.online is None else joined.online
        for number, thread in host.threads.items():
            joined.threads[number] = joined.threads.get(number, Thread()).over(thread)
        for number, node in host.nodes.items():
            _join_node(joined.node(number), node)
        joined.slots += host.slots
    return joined


def cpus_of(host: Host) -> list[Cpu]:
    """All CPUs that were named; one whose core or socket nobody told has -1 there."""
    owner = {cpu: number for number, node in host.nodes.items() for cpu in node.cpus or ()}
    numbers = set(host.threads) | set(owner) | (host.online or set())
    return [_cpu(host, number, owner.get(number)) for number in sorted(numbers) if number < MOST_CPUS]


def nodes_of(host: Host) -> list[Numa]:
    """NUMA nodes with the CPUs that work; nodes without CPUs are legal and never for binding jobs to."""
    offline = {number for number, thread in host.threads.items() if thread.online is False}
    numbers = sorted(host.nodes)
    return [
        Numa(
            id=number,
            cpus=[
                cpu
                for cpu in host.nodes[number].cpus or ()
                if cpu not in offline and (host.online is None or cpu in host.online)
            ],
            memory_mib=None if host.nodes[number].accelerator else host.nodes[number].memory_mib,
            distances=host.nodes[number].distances
            if len(host.nodes[number].distances) == len(numbers)
            else [],
        )
        for number in numbers
    ]


def memory_of(host: Host) -> int | None:
    """The host's memory: the kernel's total, else that of the nodes with CPUs; other nodes are slow or not its own."""
    if host.memory_mib is not None:
        return host.memory_mib
    sizes = [node.memory_mib for node in host.nodes.values() if node.cpus and not node.accelerator]
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None


def _join_node(known: Node, node: Node) -> None:
    known.cpus = node.cpus if known.cpus is None else known.cpus
    known.memory_mib = node.memory_mib if known.memory_mib is None else known.memory_mib
    known.distances = known.distances or node.distances
    known.accelerator = known.accelerator or node.accelerator


def _cpu(host: Host, number: int, owner: int | None) -> Cpu:
    thread = host.threads.get(number, Thread())
    online = number in host.online if host.online is not None else thread.online is not False
    return Cpu(
        id=number,
        core=NO_INDEX if thread.core is None else thread.core,
        socket=NO_INDEX if thread.socket is None else thread.socket,
        numa=thread.numa if thread.numa is not None else owner,
        max_mhz=thread.max_mhz,
        online=online and thread.online is not False,
    )

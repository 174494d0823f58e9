"""What is known of nodes, their CPUs and their devices: the input that a snapshot gives the engine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from scheduling.engine.bounds import LEAST_ID, MOST_CAP_MW, MOST_ID, MOST_MIB, MOST_MILLI, MOST_MW, Bounds
from scheduling.engine.promises import Hold

# `not_ready` of a node that would take jobs if its node set were not paused.
PAUSED = "paused"
# `not_ready` of a node that is only looked at from outside: nothing there could run a job.
AGENTLESS = "no-agent"
_SMALL = 1 << 31
_OF_CPU = Bounds(
    ("cpu", -_SMALL, _SMALL),
    ("core", -_SMALL, _SMALL),
    ("socket", -_SMALL, _SMALL),
    ("numa", -_SMALL, _SMALL),
    ("max_mhz", -_SMALL, _SMALL),
    optional=("numa", "max_mhz"),
)
_OF_DEVICE = Bounds(
    ("device", LEAST_ID, MOST_ID),
    ("memory_total_mib", 0, MOST_MIB),
    ("memory_reserved_mib", 0, MOST_MIB),
    ("memory_booked_mib", 0, MOST_MIB),
    ("memory_used_mib", 0, MOST_MIB),
    ("compute_booked_milli", 0, MOST_MILLI),
    ("foreign_mib", 0, MOST_MIB),
    ("numa", -_SMALL, _SMALL),
    ("power_limit_mw", 0, MOST_MW),
    optional=("memory_total_mib", "memory_used_mib", "numa", "power_limit_mw"),
)
_OF_LINK = Bounds(
    ("a", LEAST_ID, MOST_ID),
    ("b", LEAST_ID, MOST_ID),
    ("lanes", 0, _SMALL),
    ("bandwidth_mb_s", 0, MOST_MIB),
    optional=("lanes", "bandwidth_mb_s"),
)
_OF_NODE = Bounds(
    ("node", LEAST_ID, MOST_ID),
    ("memory_mib", 0, MOST_MIB),
    ("memory_booked_mib", 0, MOST_MIB),
    ("read_bandwidth_booked_mib_s", 0, MOST_MIB),
    ("read_bandwidth_total_mib_s", 0, MOST_MIB),
    ("idle_mw", 0, MOST_MW),
    ("core_mw", 0, MOST_MW),
    ("measured_mw", 0, MOST_MW),
    ("power_cap_mw", 0, MOST_CAP_MW),
    optional=("read_bandwidth_total_mib_s", "idle_mw", "core_mw", "measured_mw", "power_cap_mw"),
)


class DeviceHealth(IntEnum):
    """HEALTHY and SUSPECT take new jobs, HEALTHY preferred."""

    UNKNOWN = 0
    HEALTHY = 1
    SUSPECT = 2
    QUARANTINED = 3
    RECOVERED = 4
    MISSING = 5


@dataclass(frozen=True, slots=True)
class CpuInfo:
    """One logical CPU of a node; `booked` when a placement holds it, `reserved` when jobs may not have it."""

    cpu: int
    core: int
    socket: int
    numa: int | None = None
    max_mhz: int | None = None
    online: bool = True
    reserved: bool = False
    booked: bool = False

    def __post_init__(self) -> None:
        _OF_CPU.check(self)


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One schedulable unit of accelerator. Booked sums come from slices of live placements; `foreign_mib` is measured
    use nobody booked.

    `memory_used_mib` is the measured use of the whole device, foreign use included. A slice of a partitioned device
    (MIG, vNPU) is a device of its own whose `parent` is the whole one: beside its slices the whole takes no jobs, and
    slices take none as long as somebody holds the whole. Slices of one parent with the same `memory_group` share one
    memory: each reports all of it and gets an equal part, so that it counts once. Devices of one `link_island` are
    linked directly even where no link between them is reported. `power_limit_mw` is the most that it draws.
    """

    device: int
    index: int
    model: str | None
    memory_total_mib: int | None
    memory_reserved_mib: int = 0
    memory_booked_mib: int = 0
    memory_used_mib: int | None = None
    compute_booked_milli: int = 0
    foreign_mib: int = 0
    numa: int | None = None
    cpu_affinity: tuple[int, ...] = ()
    health: DeviceHealth = DeviceHealth.UNKNOWN
    cordoned: bool = False
    parent: int | None = None
    memory_group: int | None = None
    link_island: int | None = None
    power_limit_mw: int | None = None

    def __post_init__(self) -> None:
        _OF_DEVICE.check(self)


@dataclass(frozen=True, slots=True)
class LinkInfo:
    """Link between two devices of one node (device ids); `kind` as in agent.protocol.Link."""

    a: int
    b: int
    kind: str
    lanes: int | None = None
    bandwidth_mb_s: int | None = None

    def __post_init__(self) -> None:
        _OF_LINK.check(self)


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """One node as the snapshot knows it; `not_ready` names why it takes no jobs (None when it does;
    PAUSED when only a pause forbids it, AGENTLESS when no agent is there to run them).

    `read_bandwidth_total_mib_s` is what its memory or storage can deliver to all jobs together. Power: `idle_mw` is
    drawn without any job, `core_mw` by one busy logical CPU, `measured_mw` now by the whole node, `power_cap_mw` is the
    most it may draw.
    """

    node: int
    name: str
    node_set: str | None
    not_ready: str | None
    observe_only: bool
    labels: tuple[tuple[str, str], ...]
    memory_mib: int
    memory_booked_mib: int
    cpus: tuple[CpuInfo, ...]
    devices: tuple[DeviceInfo, ...] = ()
    links: tuple[LinkInfo, ...] = ()
    images: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    read_bandwidth_booked_mib_s: int = 0
    holds: tuple[Hold, ...] = ()
    read_bandwidth_total_mib_s: int | None = None
    idle_mw: int | None = None
    core_mw: int | None = None
    measured_mw: int | None = None
    power_cap_mw: int | None = None
    runs_containers: bool = True

    def __post_init__(self) -> None:
        _OF_NODE.check(self)

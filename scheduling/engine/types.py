"""All that goes into and comes out of `plan()`: plain, frozen, integers only, no framework.

Units: memory in MiB, device compute in milli-device (1000 = the whole), cores as logical CPU numbers, scores and
weights in parts per million (ppm), times in Unix milliseconds. Unknown is None in objects and UNKNOWN (-1) in
columns, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from scheduling.engine.bounds import MOST_CAP_MW, MOST_MIB, MOST_MS, Bounds, check_bound, check_ids
from scheduling.engine.facts import AGENTLESS as AGENTLESS
from scheduling.engine.facts import PAUSED as PAUSED
from scheduling.engine.facts import CpuInfo as CpuInfo
from scheduling.engine.facts import DeviceHealth as DeviceHealth
from scheduling.engine.facts import DeviceInfo as DeviceInfo
from scheduling.engine.facts import LinkInfo as LinkInfo
from scheduling.engine.facts import NodeInfo as NodeInfo
from scheduling.engine.promises import Hold as Hold
from scheduling.engine.promises import Preemption as Preemption
from scheduling.engine.promises import PreemptionCause as PreemptionCause
from scheduling.engine.promises import Reservation as Reservation
from scheduling.engine.promises import Running as Running
from scheduling.engine.promises import SliceChoice as SliceChoice
from scheduling.engine.promises import Window as Window

WHOLE_MILLI = 1000
PPM = 1_000_000
UNKNOWN = -1
# The label of simulated nodes, and what a job names that is meant for them.
SIMULATED = ("simulated", "true")


class CpuClass(StrEnum):
    """What a job needs from the CPU side: fast cores near the device, or many cores; AUTO is decided from measured
    use.
    """

    AUTO = "auto"
    COMPUTE = "compute"
    DATA = "data"


class Term(StrEnum):
    """Score terms, named as in the policy document."""

    RESOURCE_FIT = "resource-fit"
    AFFINITY = "affinity"
    TOPOLOGY = "topology"
    BALANCE = "balance"
    FRAGMENTATION = "fragmentation-penalty"
    POWER = "power"


class ReasonCode(StrEnum):
    """Why a node was refused, in the order in which filters ask; the last filter that removed nodes is the dominant
    reason.
    """

    NODE_NOT_READY = "node-not-ready"
    NODE_PAUSED = "node-paused"
    NODE_EXCLUDED = "node-excluded"
    NO_AGENT = "no-agent"
    OBSERVE_ONLY = "observe-only"
    SIMULATED = "simulated"
    NODE_SET = "node-set"
    LABELS = "labels"
    NO_CONTAINER_ENGINE = "no-container-engine"
    NO_DEVICES = "no-devices"
    DEVICE_MODEL = "device-model"
    DEVICE_HEALTH = "device-health"
    DEVICE_TOO_SMALL = "device-too-small"
    DEVICE_COUNT = "device-count"
    DEVICE_BUSY = "device-busy"
    DEVICE_COMPUTE = "device-compute"
    DEVICE_MEMORY_TOTAL = "device-memory-total"
    DEVICE_MEMORY_PIECE = "device-memory-piece"
    FOREIGN_USE = "foreign-use"
    CORES_TOTAL = "cores-total"
    CORES_FREE = "cores-free"
    HOST_MEMORY_TOTAL = "host-memory-total"
    HOST_MEMORY_FREE = "host-memory-free"
    READ_BANDWIDTH = "read-bandwidth"
    NODE_POWER = "node-power"
    POWER_CAP = "power-cap"
    QUEUE_CAP = "queue-cap"
    TEAM_QUOTA = "team-quota"
    MEMBER_SHARE = "member-share"
    GANG = "gang"
    RESERVED = "reserved"


_REQUEST = Bounds(
    ("devices", 0, 1024),
    ("device_memory_mib", 1, MOST_MIB),
    ("device_compute_milli", 0, WHOLE_MILLI),
    ("cores", 0, 65_536),
    ("host_memory_mib", 0, MOST_MIB),
    ("read_bandwidth_mib_s", 0, MOST_MIB),
    ("image_mib", 0, MOST_MIB),
    optional=("device_memory_mib", "host_memory_mib", "read_bandwidth_mib_s", "image_mib"),
)
_REQUEST_IDS = ("previous_nodes", "excluded_nodes", "excluded_devices")
_REQUEST_TUPLES = (
    "models",
    "node_labels",
    "node_sets",
    "datasets",
    "previous_nodes",
    "excluded_nodes",
    "excluded_devices",
)
_MOST_FACTOR, _MOST_PART = 1000, 1 << 62
_MOST_WEIGHT_PPM = 1_000_000_000_000
_POLICY = Bounds(
    ("precheck_num", 1, _MOST_PART),
    ("precheck_den", 1, _MOST_PART),
    ("power_cap_mw", 0, MOST_CAP_MW),
    optional=("power_cap_mw",),
)
_MOST_TIMES = 1000
_PATIENCE = Bounds(("times", 0, _MOST_TIMES), ("most_ms", 0, MOST_MS), ("unknown_ms", 0, MOST_MS))


@dataclass(frozen=True, slots=True)
class Request:
    """The complete shape of one replica: everything that can influence its placement, nothing else. Hashable; equal
    shapes are interned.

    `device_memory_mib` is the total over all pieces when `splittable`, else per device; None asks for no particular
    memory. `device_compute_milli` is per device; 1000 (or `shareable` False) books whole devices; 0 is a memory-only
    slice, whose compute share follows its memory. `devices` 0 with a memory or a model asks for one device, or, when
    `splittable`, for the least number that works. Tuples are sorted (done here). `cores` are logical CPUs. Bad values
    raise ValueError naming the field.
    """

    devices: int = 0
    device_memory_mib: int | None = None
    device_compute_milli: int = WHOLE_MILLI
    models: tuple[str, ...] = ()
    splittable: bool = False
    shareable: bool = False
    cores: int = 1
    cpu_class: CpuClass = CpuClass.AUTO
    host_memory_mib: int | None = None
    read_bandwidth_mib_s: int | None = None
    node_labels: tuple[tuple[str, str], ...] = ()
    node_sets: tuple[str, ...] = ()
    image: str | None = None
    datasets: tuple[str, ...] = ()
    previous_nodes: tuple[int, ...] = ()
    excluded_nodes: tuple[int, ...] = ()
    excluded_devices: tuple[int, ...] = ()
    image_mib: int | None = None

    def __post_init__(self) -> None:
        _REQUEST.check(self)
        if (
            self.device_memory_mib is None
            and self.device_compute_milli == 0
            and self.devices > 0
            and self.shareable
        ):
            raise ValueError(
                "device_compute_milli: 0 means a memory-only slice, so device_memory_mib must be given"
            )
        for name in _REQUEST_TUPLES:
            object.__setattr__(self, name, tuple(sorted(set(getattr(self, name)))))
        for name in _REQUEST_IDS:
            check_ids(name, getattr(self, name))


@dataclass(frozen=True, slots=True)
class PendingJob:
    """One job that waits. The order of service is queue priority (high first), job priority (high first), what its
    team had of late (least first), submitted_at_ms (later by what `Patience` has it allow to others), job id.

    A gang has more than one replica, each with the shape of `request`: all of them start or none. A `deferrable` job
    prefers the valley windows of the policy and must have started by `latest_start_ms`; whoever lists the pending jobs
    leaves it out while it should wait, so `plan()` serves whatever it is given. `runs_ms`: how long it should run once
    it started, None when nobody knows.
    """

    job: int
    attempt: int
    queue: int
    team: int
    priority: int
    submitted_at_ms: int
    request: Request
    replicas: int = 1
    deferrable: bool = False
    latest_start_ms: int | None = None
    owner: int = 0
    runs_ms: int | None = None

    def __post_init__(self) -> None:
        check_bound("replicas", self.replicas, 1, 1024)


@dataclass(frozen=True, slots=True)
class ModelCap:
    """A cap on a queue's share of the devices of one model, in ppm of their capacity."""

    model: str
    quota_ppm: int


@dataclass(frozen=True, slots=True)
class TeamCap:
    """What one team, or its member `owner`, may hold inside a queue, in milli-device of a model (None: of all models
    together).
    """

    team: int
    model: str | None
    quota_milli: int
    owner: int | None = None


@dataclass(frozen=True, slots=True)
class Holding:
    """What placements of one member of a team hold of the devices of one model in a queue."""

    team: int
    owner: int
    model: str | None
    device_milli: int


@dataclass(frozen=True, slots=True)
class TeamShare:
    """What one team of a queue has had of late, as the share of the cluster that its decayed use dominates."""

    team: int
    share_ppm: int


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """One queue of the policy; quota in ppm of schedulable capacity, None without a cap.

    `borrow` lets a preemptable queue use idle capacity beyond its quota. `devices_booked_milli` is what its placements
    hold of devices now (in parts: `holdings`), `cores_booked_milli` what those without devices hold of cores. Teams
    that are not among `team_shares` have had nothing.
    """

    queue: int
    name: str
    priority: int
    quota_ppm: int | None
    preemptable: bool
    borrow: bool = False
    model_caps: tuple[ModelCap, ...] = ()
    team_caps: tuple[TeamCap, ...] = ()
    devices_booked_milli: int = 0
    cores_booked_milli: int = 0
    holdings: tuple[Holding, ...] = ()
    team_shares: tuple[TeamShare, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpectedShape:
    """One class of expected jobs (from recent history) for the fragmentation term, with its relative frequency."""

    request: Request
    weight: int


@dataclass(frozen=True, slots=True)
class Patience:
    """How much younger a job counts than it is, for each that it should run: `times` its expected run time, at most
    `most_ms`. One whose run time nobody knows counts as if it should run `unknown_ms`.
    """

    times: int
    most_ms: int
    unknown_ms: int

    def __post_init__(self) -> None:
        _PATIENCE.check(self)

    def of_ms(self, runs_ms: int | None) -> int:
        """What a job of this expected run time allows to others."""
        return min(self.most_ms, self.times * (self.unknown_ms if runs_ms is None else max(0, runs_ms)))


@dataclass(frozen=True, slots=True)
class EnginePolicy:
    """The part of the policy document that `plan()` reads. `precheck_num/precheck_den` is the factor of the memory
    pre-check (6/5 = 1.2). Without `capped` the caps of queues, teams and members hold nothing back; without `lending`
    nothing is borrowed. With `patience` short jobs are served before long ones. A job that waited `reserve_after_ms`,
    counted from when its patience ends, is promised a place (None: none ever is); with `preempts`, placements of
    preemptable queues yield to jobs of queues above theirs, those that cannot keep their work only with
    `preempts_unsaved`.
    """

    weights_ppm: dict[Term, int]
    queues: tuple[QueueInfo, ...]
    precheck_num: int = 6
    precheck_den: int = 5
    high_bandwidth_node_sets: tuple[str, ...] = ()
    isolate_data_loader: bool = True
    power_cap_mw: int | None = None
    valley: tuple[Window, ...] = ()
    capped: bool = False
    lending: bool = True
    reserve_after_ms: int | None = None
    preempts: bool = False
    preempts_unsaved: bool = False
    patience: Patience | None = None

    def __post_init__(self) -> None:
        _POLICY.check(self)
        check_bound("precheck_num", self.precheck_num, 1, _MOST_FACTOR * self.precheck_den)
        for term, weight_ppm in self.weights_ppm.items():
            check_bound(f"weights_ppm.{term.value}", weight_ppm, 0, _MOST_WEIGHT_PPM)


@dataclass(frozen=True, slots=True)
class TermScore:
    """One term of a candidate's score: value (0..PPM; for the penalty: 1 - harm), weight and contribution, all in
    ppm.
    """

    term: Term
    value_ppm: int
    weight_ppm: int
    contribution_ppm: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that passed every filter, with the devices and cores it would give."""

    node: int
    score_ppm: int
    terms: tuple[TermScore, ...]
    slices: tuple[SliceChoice, ...]
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FilterCount:
    """How many nodes one filter removed."""

    code: ReasonCode
    removed: int


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A node that failed only late, with the exact shortfall: `needed` and `available` in the unit the code implies
    (MiB, milli, cores, devices); `available` is None where nobody knows it.

    `pieces` are the free amounts per device (for memory codes), largest first.
    """

    node: int
    code: ReasonCode
    needed: int
    available: int | None
    pieces: tuple[int, ...] = ()


class CapKind(StrEnum):
    """Whose cap it is."""

    QUEUE = "queue"
    TEAM = "team"
    MEMBER = "member"


@dataclass(frozen=True, slots=True)
class CapMiss:
    """The cap that a job would exceed: what it allows, what is held under it and what the job asks at least, in
    milli-device (of `model`, None: of all), or in milli-core where it is `of_cores`.
    """

    kind: CapKind
    queue: int
    team: int | None
    owner: int | None
    model: str | None
    of_cores: bool
    cap_milli: int
    held_milli: int
    asked_milli: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a job was not placed: one dominant code, the count per filter in filter order, and the nearest nodes. `cap`
    is there when a cap is the dominant reason, `waits_for` when what it needs is kept for that job.
    """

    job: int
    code: ReasonCode
    nodes: int
    counts: tuple[FilterCount, ...]
    near: tuple[NearMiss, ...]
    cap: CapMiss | None = None
    waits_for: int | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """One decision: where a job goes and why. `loader_cpus` is a subset of `cpus` kept for data loaders. `candidates`
    counts nodes that passed all filters. `borrowed`: beyond the cap of its queue, to be given back on demand.
    """

    job: int
    attempt: int
    node: int
    slices: tuple[SliceChoice, ...]
    cpus: tuple[int, ...]
    loader_cpus: tuple[int, ...]
    host_memory_mib: int
    read_bandwidth_mib_s: int
    chosen: Candidate
    runners_up: tuple[Candidate, ...]
    candidates: int
    counts: tuple[FilterCount, ...]
    replica: int = 0
    borrowed: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What one call decided, in order of service; a gang's replicas are neighbours in `placed`. `considered` jobs are
    all that were looked at before the bound was reached. `reservations` are the places promised for later,
    `preemptions` what has to yield, and `takeovers` the places of those it yields to.
    """

    placed: tuple[Placed, ...] = ()
    refused: tuple[Refusal, ...] = ()
    considered: int = 0
    exhausted: bool = field(default=True)
    preemptions: tuple[Preemption, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    takeovers: tuple[Reservation, ...] = ()

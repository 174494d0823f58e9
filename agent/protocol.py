"""Wire types between agent and control plane (HTTP, JSON); the only agent module that the server imports.

Unknown readings are null. Times are Unix milliseconds of the sender's clock and serve display and clock-
offset measurement only.
Additive changes keep VERSION; anything else raises it, and recorded wire files of every version stay in
tests/contract.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TypeVar

import msgspec

from agent.core_types import CpuUse as CpuUse
from agent.image_types import ImageAction as ImageAction
from agent.image_types import ImageOrders as ImageOrders
from agent.image_types import ImageReport as ImageReport
from agent.image_types import ImageResult as ImageResult
from agent.image_types import SecretReply as SecretReply
from agent.image_types import SecretRequest as SecretRequest
from agent.memory_types import DeviceUse as DeviceUse
from agent.memory_types import GuardRules as GuardRules
from agent.memory_types import Pressure as Pressure
from agent.memory_types import PressureKind as PressureKind

T = TypeVar("T")

VERSION = 1
OLDEST_SUPPORTED_VERSION = 1
_PCI = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-9a-f]))?")


class Vendor(StrEnum):
    """Who made an accelerator; also chooses the visible-devices variable of a job."""

    NVIDIA = "nvidia"
    ASCEND = "ascend"
    AMD = "amd"
    CAMBRICON = "cambricon"
    HYGON = "hygon"
    MTHREADS = "mthreads"
    ILUVATAR = "iluvatar"
    METAX = "metax"
    TENSTORRENT = "tenstorrent"


class TaskPhase(StrEnum):
    """How far the agent got with one placement."""

    PREPARING = "preparing"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


class ExitReason(StrEnum):
    """Why a task ended, as the agent saw it."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    START_FAILED = "start-failed"
    TIME_LIMIT = "time-limit"
    STOPPED = "stopped"
    LOST_PROCESS = "lost-process"
    MEMORY_LIMIT = "memory-limit"


class Want(StrEnum):
    """What the control plane wants of one placement."""

    RUN = "run"
    STOP = "stop"


class CheckResult(StrEnum):
    """Outcome of one health check of one device; a missing or unparsable reading is UNKNOWN."""

    OK = "ok"
    FAILED = "failed"
    FATAL = "fatal"
    UNKNOWN = "unknown"

    @property
    def severity(self) -> int:
        """Worse is more; what is not known is worse than what is well."""
        return ("ok", "unknown", "failed", "fatal").index(self.value)


class Cpu(msgspec.Struct, frozen=True):
    """One logical CPU."""

    id: int
    core: int
    socket: int
    numa: int | None = None
    max_mhz: int | None = None
    online: bool = True


class Numa(msgspec.Struct, frozen=True):
    """One NUMA node; `distances` is ordered like the list of NUMA nodes."""

    id: int
    cpus: list[int]
    memory_mib: int | None = None
    distances: list[int] = []


class Mount(msgspec.Struct, frozen=True):
    """A mount point jobs may depend on."""

    path: str
    source: str
    fs_type: str
    total_mib: int | None = None


class Runtime(msgspec.Struct, frozen=True):
    """A container runtime found on the node."""

    name: str
    version: str | None = None


class Partition(msgspec.Struct, frozen=True):
    """A hardware slice of a device (MIG and the like). Slices with the same `memory_group` share one memory of
    `memory_total_mib`; `compute_milli` is a slice's part of its device. `memory_used_mib` is null in facts: use is a
    sample of the slice's uuid.
    """

    name: str | None = None
    uuid: str | None = None
    memory_total_mib: int | None = None
    memory_used_mib: int | None = None
    instance: int | None = None
    compute_instance: int | None = None
    compute_milli: int | None = None
    memory_group: int | None = None


class DeviceFacts(msgspec.Struct, frozen=True):
    """One accelerator; one with `partitions` is used through these only. `uuid` (else `pci_bus_id`) is its identity
    within the node; `index` is only the vendor's current number.
    """

    vendor: Vendor
    index: int
    uuid: str | None = None
    pci_bus_id: str | None = None
    model: str | None = None
    memory_total_mib: int | None = None
    memory_reserved_mib: int | None = None
    compute_units: int | None = None
    numa_node: int | None = None
    cpu_affinity: list[int] | None = None
    driver_version: str | None = None
    power_limit_w: int | None = None
    partitions: list[Partition] = []


class Link(msgspec.Struct, frozen=True):
    """A link between the devices with indices a < b. `kind` as the vendor's tool names it: NV, NVSWITCH,
    HCCS, XGMI, PIX, PXB, PHB, NODE, SYS.
    """

    a: int
    b: int
    kind: str
    lanes: int | None = None
    bandwidth_mb_s: int | None = None


class Notice(msgspec.Struct, frozen=True):
    """Something odd about a node: a code, and what its sentence needs."""

    code: str
    params: dict[str, str] = {}


class StoredImage(msgspec.Struct, frozen=True):
    """A container image present on the node."""

    name: str
    digest: str | None = None
    size_mib: int | None = None


class Facts(msgspec.Struct, frozen=True):
    """What a node is; sent only when its digest changed or the server asks. `warnings` is prose of older agents."""

    machine_id: str
    hostname: str
    agent_version: str
    arch: str
    os: str
    kernel: str
    cpu_model: str | None
    cpus: list[Cpu]
    numa: list[Numa]
    memory_mib: int | None
    mounts: list[Mount] = []
    runtimes: list[Runtime] = []
    devices: list[DeviceFacts] = []
    links: list[Link] = []
    labels: dict[str, str] = {}
    node_set: str | None = None
    images: list[str] = []
    datasets: list[str] = []
    reserved_cpus: list[int] = []
    observe_only: bool = False
    isolates_users: bool = False
    simulated: bool = False
    warnings: list[str] = []
    notices: list[Notice] = []
    stored_images: list[StoredImage] = []
    runs_containers: bool | None = None


class DeviceSample(msgspec.Struct, frozen=True):
    """One reading of one device or slice; `device` is its uuid, else its PCI bus id."""

    device: str
    memory_used_mib: int | None = None
    utilization_pct: int | None = None
    temperature_c: int | None = None
    power_mw: int | None = None


class NodeSample(msgspec.Struct, frozen=True):
    """One reading of the host. CPU use is in milli-cores over the last interval."""

    cpu_used_milli: int | None = None
    memory_used_mib: int | None = None
    load1_milli: int | None = None
    power_mw: int | None = None


class Check(msgspec.Struct, frozen=True):
    """One health check of one device, with the raw evidence when it is not OK."""

    device: str
    result: CheckResult
    code: str = ""
    evidence: str = ""


class Pull(msgspec.Struct, frozen=True):
    """How far the fetching of a task's image is; `ms` is the time it took so far. Which layers there are is known as
    far as the engine names them.
    """

    image: str
    done: bool = False
    ms: int | None = None
    layers: int | None = None
    layers_done: int | None = None
    text: str = ""


class Checkpoint(msgspec.Struct, frozen=True):
    """The last whole checkpoint of an attempt (`path` empty: none), and which asking was answered, with the problem
    where there was one.
    """

    path: str = ""
    made_at_ms: int | None = None
    asked: int | None = None
    problem: str = ""


class TaskState(msgspec.Struct, frozen=True):
    """How one placement stands on the node. `fence` is echoed from the assignment; answers with another fence
    change nothing. `cpu_use` is told at the end.
    """

    placement: int
    attempt: int
    fence: int
    phase: TaskPhase
    started_at_ms: int | None = None
    ended_at_ms: int | None = None
    cpus: list[int] = []
    uid: int | None = None
    pid: int | None = None
    adopted: bool = False
    exit_code: int | None = None
    signal: int | None = None
    reason: ExitReason | None = None
    message: str = ""
    log_bytes: int = 0
    memory_used_mib: int | None = None
    cpu_used_milli: int | None = None
    pull: Pull | None = None
    checkpoint: Checkpoint | None = None
    device_use: list[DeviceUse] = []
    pressures: list[Pressure] = []
    cpu_use: CpuUse | None = None


class ClockSample(msgspec.Struct, frozen=True):
    """The least-round-trip sample of recent exchanges: offset = node clock - server clock, with its
    uncertainty (half the round trip).
    """

    offset_us: int
    uncertainty_us: int


class Report(msgspec.Struct, frozen=True):
    """What is. The same `seq` of one boot sent twice is harmless. `epoch` and `cluster_id` are those last obeyed. Of
    the jobs in `kept`, whose checkpoints lie on the node, it asks now and then which are over.
    """

    version: int
    boot_id: str
    seq: int
    sent_at_ms: int
    facts_digest: str
    epoch: int = 0
    cluster_id: str | None = None
    facts: Facts | None = None
    node: NodeSample | None = None
    samples: list[DeviceSample] = []
    checks: list[Check] = []
    tasks: list[TaskState] = []
    clock: ClockSample | None = None
    kept: list[int] = []


class AssignedDevice(msgspec.Struct, frozen=True):
    """A booked share of a device; the whole device is 1000 milli."""

    vendor: Vendor
    index: int
    uuid: str | None
    pci_bus_id: str | None
    memory_mib: int
    compute_milli: int


class CheckpointWay(msgspec.Struct, frozen=True):
    """How a job is asked for a checkpoint: by a signal (USR1, ...) to its first process, or by a command."""

    signal: str | None = None
    command: list[str] = []
    timeout_s: int = 120


class Assignment(msgspec.Struct, frozen=True):
    """One placement of the node's desired set. With an `image` it is a container's: `mounts` are SOURCE:TARGET[:ro],
    `network` None = the node's own choice. Each new number in `checkpoint_asked` asks for one checkpoint. `replica` is
    there for one of several that belong together. `image_secret` is the name of the registry's secret that the image is
    fetched with; whoever fetches asks for its content.
    """

    placement: int
    job: int
    attempt: int
    fence: int
    want: Want
    name: str
    command: list[str]
    env: dict[str, str]
    cpus: list[int]
    memory_mib: int | None
    devices: list[AssignedDevice]
    working_dir: str | None = None
    loader_cpus: list[int] = []
    time_limit_s: int | None = None
    grace_s: int = 10
    strict_single: bool = False
    image: str | None = None
    shared_memory_mib: int | None = None
    mounts: list[str] = []
    network: str | None = None
    checkpoint: CheckpointWay | None = None
    checkpoint_asked: int | None = None
    resume_from: str | None = None
    replica: int | None = None
    image_secret: str | None = None


class Reply(msgspec.Struct, frozen=True):
    """What should be: the whole desired set of the node. Times are of the server's clock;
    `received_at_ms`/`sent_at_ms` bracket the handling. After `silence_limit_s` without an answer a task that must
    run in one place only is stopped; None = the server does not say. Nothing of the jobs in `over` is needed any more.
    """

    version: int
    cluster_id: str
    authoritative: bool
    epoch: int
    received_at_ms: int
    sent_at_ms: int
    report_interval_s: int
    want_facts: bool
    assignments: list[Assignment]
    silence_limit_s: int | None = None
    guard: GuardRules | None = None
    over: list[int] = []


class EnrolRequest(msgspec.Struct, frozen=True):
    """First contact, with a one-time enrolment token. `previous_token` proves a silent node's identity when
    it enrols again.
    """

    version: int
    token: str
    machine_id: str
    boot_id: str
    hostname: str
    agent_version: str
    previous_token: str | None = None


class EnrolReply(msgspec.Struct, frozen=True):
    """The node's identity; the token is shown once."""

    version: int
    cluster_id: str
    node: int
    token: str
    report_interval_s: int


class LogReply(msgspec.Struct, frozen=True):
    """Bytes of the log that the server now holds (`next_offset`); `truncated` when the cap of the attempt is
    reached.
    """

    next_offset: int
    truncated: bool = False


class CommandOutput(msgspec.Struct, frozen=True):
    """What one command printed on a node without an agent; `problem` says why it is not all, or not good. `vendor` is
    whose devices it is about, None for the host. Both times are of the server's clock, around the command.
    """

    name: str
    data: bytes
    problem: str = ""
    vendor: Vendor | None = None
    sent_at_us: int = 0
    received_at_us: int = 0


class RemoteRound(msgspec.Struct, frozen=True):
    """All outputs of one look at a node without an agent. `memory` is that of the last answer, empty at first; only the
    reader knows what it says.
    """

    outputs: list[CommandOutput]
    memory: str = ""


class RemoteAnswer(msgspec.Struct, frozen=True):
    """What the outputs say, as an agent on the node would report it; None with a `problem` where they say nothing.
    `want_host`: the host's facts are missing or no longer true, so they should be read with the next look.
    """

    report: Report | None = None
    machine_id: str | None = None
    want_host: bool = False
    memory: str = ""
    problem: str = ""


def normal_pci(text: str | None) -> str | None:
    """A PCI address in one spelling: `00000000:3B:00.0` and `3b:00.0` are `0000:3b:00.0`; None for anything else."""
    match = _PCI.fullmatch((text or "").strip().lower().removeprefix("pci:"))
    if match is None:
        return None
    domain, bus, slot, function = (int(part or "0", 16) for part in match.groups())
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"


def encode(message: msgspec.Struct) -> bytes:
    """JSON bytes of one wire message."""
    return msgspec.json.encode(message)


def decode(data: bytes, type_: type[T]) -> T:
    """Read one wire message; raises msgspec.ValidationError naming the field, or msgspec.DecodeError when it
    is not JSON.
    """
    return msgspec.json.decode(data, type=type_)

"""openb 2023 node and pod lists (CSV), and what a node and a pod are in the engine's terms.

The engine books whole logical CPUs. `cpu_unit_milli` of a trace's CPU-milli are one of them: a node gets
floor(cpu_milli / unit) of them (as many to a physical core as fit into 1000), a pod asks for
ceil(cpu_milli / unit), so nothing is ever booked beyond the trace's own capacity. The lists say nothing
about device memory: it is unknown, and pods ask for compute only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scheduling.engine.types import WHOLE_MILLI, CpuInfo, DeviceHealth, DeviceInfo, NodeInfo, Request
from scheduling.simulator.jobs import SimJob
from scheduling.simulator.policy import INFERENCE, OFFLINE, TRAINING
from scheduling.simulator.traces.files import Row, read_csv
from scheduling.simulator.traces.ranges import SPAN_MS

CORE_MILLI = 1000
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
TIME_COLUMNS = ("creation_time", "deletion_time", "scheduled_time")
# Latency-sensitive and guaranteed pods serve, burstable ones train, best-effort ones may wait.
_QUEUES = {"LS": INFERENCE, "Guaranteed": INFERENCE, "Burstable": TRAINING, "BE": OFFLINE}
# The engine takes 65 536 logical CPUs at most; the finest unit is 10 CPU-milli.
_MOST_CPU_MILLI = 655_360
_MOST_MIB = 1 << 30
_MOST_DEVICES = 64


@dataclass(frozen=True, slots=True)
class OpenbNode:
    """One line of a node list; `model` is empty without devices."""

    name: str
    cpu_milli: int
    memory_mib: int
    devices: int
    model: str


@dataclass(frozen=True, slots=True)
class OpenbPod:
    """One line of a pod list; `milli` is what it takes of each of its devices. Times in seconds of the trace, None
    where the list has none.
    """

    name: str
    cpu_milli: int
    memory_mib: int
    devices: int
    milli: int
    models: tuple[str, ...]
    qos: str
    created_s: float | None = None
    deleted_s: float | None = None
    scheduled_s: float | None = None

    @property
    def total_milli(self) -> int:
        """Device-milli over all its devices."""
        return self.devices * self.milli


def read_nodes(path: Path) -> list[OpenbNode]:
    """All nodes of a list; TraceError where it is wrong."""
    return [_node(row) for row in _once("sn", read_csv(path, NODE_COLUMNS))]


def read_pods(path: Path, models: Collection[str], *, timed: bool = False) -> list[OpenbPod]:
    """All pods of a list, in its order; a `gpu_spec` may only name these models of the node list. With `timed` each
    must say when it was created and deleted.
    """
    return [_pod(row, models, timed=timed) for row in _once("name", read_csv(path, POD_COLUMNS))]


def node_infos(nodes: Iterable[OpenbNode], *, cpu_unit_milli: int = CORE_MILLI) -> list[NodeInfo]:
    """Nodes numbered from 1 in the list's order, devices numbered from 1 throughout."""
    infos: list[NodeInfo] = []
    cpus: dict[int, tuple[CpuInfo, ...]] = {}
    first = 1
    for number, node in enumerate(nodes, start=1):
        count = node.cpu_milli // cpu_unit_milli
        if count not in cpus:
            per_core = max(1, CORE_MILLI // cpu_unit_milli)
            cpus[count] = tuple(CpuInfo(cpu, cpu // per_core, 0) for cpu in range(count))
        devices = tuple(
            DeviceInfo(first + i, i, node.model, None, health=DeviceHealth.HEALTHY)
            for i in range(node.devices)
        )
        first += node.devices
        infos.append(
            NodeInfo(number, node.name, None, None, False, (), node.memory_mib, 0, cpus[count], devices)
        )
    return infos


def request_of(pod: OpenbPod, *, cpu_unit_milli: int = CORE_MILLI) -> Request:
    """A pod with less than a whole device is a shared slice of one, any other takes whole devices."""
    shared = pod.devices == 1 and pod.milli < WHOLE_MILLI
    return Request(
        devices=pod.devices,
        device_compute_milli=pod.milli if shared else WHOLE_MILLI,
        models=pod.models,
        shareable=shared,
        cores=-(-pod.cpu_milli // cpu_unit_milli),
        host_memory_mib=pod.memory_mib,
    )


def sim_jobs(pods: Iterable[OpenbPod], *, cpu_unit_milli: int = CORE_MILLI) -> list[SimJob]:
    """Pods with a creation and a deletion time, in order of creation; they run from the time they were scheduled
    (else created) until they were deleted.
    """
    timed = sorted((p for p in pods if p.created_s is not None and p.deleted_s is not None), key=_created_s)
    requests: dict[Request, Request] = {}
    found = []
    for number, pod in enumerate(timed, start=1):
        request = request_of(pod, cpu_unit_milli=cpu_unit_milli)
        request = requests.setdefault(request, request)
        started_s = pod.created_s if pod.scheduled_s is None else pod.scheduled_s
        duration_ms = max(0, int(((pod.deleted_s or 0) - (started_s or 0)) * 1000))
        queue = _QUEUES.get(pod.qos, TRAINING)
        found.append(SimJob(number, queue, int(_created_s(pod) * 1000), duration_ms, request))
    return found


def _created_s(pod: OpenbPod) -> float:
    return pod.created_s or 0.0


def _once(column: str, rows: Iterable[Row]) -> Iterator[Row]:
    seen: set[str] = set()
    for row in rows:
        name = row.named(column)
        if name in seen:
            row.refuse(column, f"{name[:40]!r} stands twice", fix="remove one of the lines")
        seen.add(name)
        yield row


def _node(row: Row) -> OpenbNode:
    devices = row.whole("gpu", most=_MOST_DEVICES)
    return OpenbNode(
        name=row.named("sn"),
        cpu_milli=row.whole("cpu_milli", most=_MOST_CPU_MILLI),
        memory_mib=row.whole("memory_mib", most=_MOST_MIB),
        devices=devices,
        model=row.named("model") if devices else "",
    )


def _pod(row: Row, models: Collection[str], *, timed: bool) -> OpenbPod:
    devices = row.whole("num_gpu", most=_MOST_DEVICES)
    created_s, deleted_s, scheduled_s = _times(row)
    for name, time_s in (("creation_time", created_s), ("deletion_time", deleted_s)):
        if timed and time_s is None:
            row.refuse(
                name, "is empty", fix="use a list in which every pod has creation_time and deletion_time"
            )
    return OpenbPod(
        name=row.named("name"),
        cpu_milli=row.whole("cpu_milli", most=_MOST_CPU_MILLI),
        memory_mib=row.whole("memory_mib", most=_MOST_MIB),
        devices=devices,
        milli=_milli(row, devices),
        models=_models(row, models) if devices else (),
        qos=row.text("qos"),
        created_s=created_s,
        deleted_s=deleted_s,
        scheduled_s=scheduled_s,
    )


def _times(row: Row) -> tuple[float | None, float | None, float | None]:
    """Creation, deletion and scheduling in seconds."""
    most = SPAN_MS[1] // 1000
    created_s, deleted_s, scheduled_s = (
        row.number(name, most=most) if row.text(name) else None for name in TIME_COLUMNS
    )
    if created_s is not None and deleted_s is not None and deleted_s < created_s:
        row.refuse("deletion_time", "lies before creation_time", fix="swap them or remove the line")
    if scheduled_s is not None and created_s is not None and scheduled_s < created_s:
        row.refuse("scheduled_time", "lies before creation_time", fix="swap them or leave it empty")
    if scheduled_s is not None and deleted_s is not None and deleted_s < scheduled_s:
        row.refuse("scheduled_time", "lies after deletion_time", fix="swap them or leave it empty")
    return created_s, deleted_s, scheduled_s


def _milli(row: Row, devices: int) -> int:
    if not devices:
        return 0
    milli = row.whole("gpu_milli", least=1, most=WHOLE_MILLI)
    if devices > 1 and milli < WHOLE_MILLI:
        row.refuse("gpu_milli", f"{milli} of each of {devices} devices", fix="only one device can be shared")
    return milli


def _models(row: Row, known: Collection[str]) -> tuple[str, ...]:
    names = tuple(sorted({name.strip() for name in row.text("gpu_spec").split("|")} - {""}))
    for name in names:
        if name not in known:
            here = ", ".join(sorted(known))[:200] or "none"
            fix = f"correct the name or give the node list it belongs to (models here: {here})"
            row.refuse("gpu_spec", f"no node has a {name[:40]!r}", fix=fix)
    return names

"""What the numbers, names and references of a decoded document may be: one table, and one walk over it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from scheduling.engine.types import (
    PPM,
    WHOLE_MILLI,
    CpuInfo,
    DeviceInfo,
    EnginePolicy,
    Hold,
    Holding,
    LinkInfo,
    ModelCap,
    NodeInfo,
    Patience,
    PendingJob,
    QueueInfo,
    Request,
    Reservation,
    Running,
    SliceChoice,
    TeamCap,
    TeamShare,
    Term,
    Window,
)

Range = tuple[int, int]

# Times lie between 1970 and 2200, run times and waits below a hundred years: sums stay exact, and every time is a date.
TIME_MS: Range = (0, 7_258_118_400_000)
SPAN_MS: Range = (0, 3_155_760_000_000)
ID: Range = (0, (1 << 53) - 1)
MIB: Range = (0, 1 << 40)
# A megawatt per device or node, a kilowatt per logical CPU: sums over any cluster stay exact.
POWER_MW: Range = (0, 1_000_000_000)
_CORE_MW: Range = (0, 1_000_000)
_CLUSTER_MW: Range = (0, 1_000_000_000_000)
PRIORITY: Range = (-(1 << 31), (1 << 31) - 1)
MOST_CPUS = 65_536
MOST_REPLICAS = 1024
MOST_TEXT = 4096
MOST_WEIGHT_PPM = 1000 * PPM
LEAST_FRAGMENTATION_PPM = 10_000
_MILLI: Range = (0, WHOLE_MILLI)
_SHARE: Range = (0, 100 * PPM)
_CPU: Range = (0, MOST_CPUS - 1)
_NUMA: Range = (-1, MOST_CPUS - 1)
_FACTOR: Range = (1, 1_000_000)
_BANDWIDTH: Range = MIB
_CAPACITY_MILLI: Range = (0, 1 << 53)
_PLACE: dict[str, Range] = {
    "job": ID,
    "node": ID,
    "queue": ID,
    "team": ID,
    "owner": ID,
    "cpus": _CPU,
    "host_memory_mib": MIB,
    "read_bandwidth_mib_s": _BANDWIDTH,
}

# Of every class in a document, the range of each number (and of each number of a list). The amounts of a `Request` are
# checked by itself.
RANGES: dict[type[Any], dict[str, Range]] = {
    Request: {"previous_nodes": ID, "excluded_nodes": ID, "excluded_devices": ID},
    CpuInfo: {"cpu": _CPU, "core": _CPU, "socket": _CPU, "numa": _NUMA, "max_mhz": (0, 1_000_000)},
    DeviceInfo: {
        "device": ID,
        "index": ID,
        "memory_total_mib": MIB,
        "memory_reserved_mib": MIB,
        "memory_booked_mib": MIB,
        "memory_used_mib": MIB,
        "compute_booked_milli": _MILLI,
        "foreign_mib": MIB,
        "numa": _NUMA,
        "cpu_affinity": _CPU,
        "parent": ID,
        "memory_group": ID,
        "link_island": ID,
        "power_limit_mw": POWER_MW,
    },
    LinkInfo: {"a": ID, "b": ID, "lanes": (0, 1 << 20), "bandwidth_mb_s": MIB},
    SliceChoice: {"device": ID, "memory_mib": MIB, "compute_milli": _MILLI},
    Hold: {
        "job": ID,
        "cpus": _CPU,
        "host_memory_mib": MIB,
        "read_bandwidth_mib_s": _BANDWIDTH,
        "until_ms": TIME_MS,
        "queue": ID,
        "team": ID,
        "owner": ID,
    },
    PendingJob: {
        "job": ID,
        "attempt": ID,
        "queue": ID,
        "team": ID,
        "priority": PRIORITY,
        "submitted_at_ms": TIME_MS,
        "replicas": (1, MOST_REPLICAS),
        "latest_start_ms": TIME_MS,
        "owner": ID,
        "runs_ms": SPAN_MS,
    },
    Reservation: {
        **_PLACE,
        "starts_at_ms": TIME_MS,
        "replica": (0, MOST_REPLICAS - 1),
    },
    Running: {
        **_PLACE,
        "attempt": ID,
        "ends_at_ms": TIME_MS,
        "priority": PRIORITY,
        "lost_work_ms": SPAN_MS,
    },
    NodeInfo: {
        "node": ID,
        "memory_mib": MIB,
        "memory_booked_mib": MIB,
        "read_bandwidth_booked_mib_s": _BANDWIDTH,
        "read_bandwidth_total_mib_s": _BANDWIDTH,
        "idle_mw": POWER_MW,
        "core_mw": _CORE_MW,
        "measured_mw": POWER_MW,
        "power_cap_mw": POWER_MW,
    },
    ModelCap: {"quota_ppm": _SHARE},
    TeamCap: {"team": ID, "quota_milli": _CAPACITY_MILLI, "owner": ID},
    Holding: {"team": ID, "owner": ID, "device_milli": _CAPACITY_MILLI},
    # What a team had may be more than there is by now.
    TeamShare: {"team": ID, "share_ppm": _CAPACITY_MILLI},
    QueueInfo: {
        "queue": ID,
        "priority": PRIORITY,
        "quota_ppm": _SHARE,
        "devices_booked_milli": _CAPACITY_MILLI,
        "cores_booked_milli": _CAPACITY_MILLI,
    },
    Patience: {"times": (0, 1000), "most_ms": SPAN_MS, "unknown_ms": SPAN_MS},
    Window: {"opens_at_ms": TIME_MS, "closes_at_ms": TIME_MS},
    EnginePolicy: {
        "weights_ppm": (0, MOST_WEIGHT_PPM),
        "precheck_num": _FACTOR,
        "precheck_den": _FACTOR,
        "power_cap_mw": _CLUSTER_MW,
        "reserve_after_ms": TIME_MS,
    },
}


class OutOfRange(ValueError):
    """A value that no document may hold: `where` is its path, `fix` says what is allowed."""

    def __init__(self, where: str, problem: str, *, fix: str) -> None:
        self.where, self.problem, self.fix = where, problem, fix
        super().__init__(f"{where}: {problem}; {fix}")


def check_document(found: object, ranges: Mapping[type[Any], Mapping[str, Range]] = RANGES) -> None:
    """Every number in its range, every text writable, every reference to something that is there; else OutOfRange."""
    _walk(found, type(found).__name__, ranges)


def _walk(found: object, path: str, ranges: Mapping[type[Any], Mapping[str, Range]]) -> None:
    if isinstance(found, str):
        _check_text(found, path)
    elif isinstance(found, tuple):
        for at, item in enumerate(found):
            _walk(item, f"{path}[{at}]", ranges)
    elif is_dataclass(found):
        allowed = ranges.get(type(found), {})
        for field in fields(found):
            value, where = getattr(found, field.name), f"{path}.{field.name}"
            if field.name in allowed:
                _check_numbers(value, where, allowed[field.name])
            else:
                _walk(value, where, ranges)
        check = _IDENTITIES.get(type(found))
        if check is not None:
            check(found, path)


def _check_numbers(value: Any, where: str, allowed: Range) -> None:
    if isinstance(value, tuple):
        for at, item in enumerate(value):
            _check_numbers(item, f"{where}[{at}]", allowed)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_numbers(item, f"{where}.{key}", allowed)
    elif value is not None and not allowed[0] <= value <= allowed[1]:
        raise OutOfRange(
            where, f"{value} is out of range", fix=f"give a whole number from {allowed[0]} to {allowed[1]}"
        )


def _check_text(value: str, where: str) -> None:
    if len(value) > MOST_TEXT:
        raise OutOfRange(where, f"has {len(value)} characters", fix=f"use {MOST_TEXT} at most")
    if any("\ud800" <= sign <= "\udfff" for sign in value):
        raise OutOfRange(where, "holds half a character", fix="write it as UTF-8")


def _once(path: str, values: Iterable[Hashable]) -> None:
    seen: set[Hashable] = set()
    for value in values:
        if value in seen:
            raise OutOfRange(path, f"{value} stands twice", fix="remove one or correct it")
        seen.add(value)


def _known(path: str, values: Iterable[int], known: Iterable[int]) -> None:
    for value in set(values) - set(known):
        raise OutOfRange(path, f"{value} is not of this node", fix="name one of the node's own")


def _node(info: NodeInfo, path: str) -> None:
    devices, cpus = [d.device for d in info.devices], [c.cpu for c in info.cpus]
    _once(f"{path}.devices", devices)
    _once(f"{path}.cpus", cpus)
    _once(f"{path}.labels", (key for key, _ in info.labels))
    _once(f"{path}.links", (tuple(sorted((link.a, link.b))) for link in info.links))
    _known(f"{path}.links", (end for link in info.links for end in (link.a, link.b)), devices)
    for at, hold in enumerate(info.holds):
        _known(f"{path}.holds[{at}].slices", (s.device for s in hold.slices), devices)
        _once(f"{path}.holds[{at}].slices", (s.device for s in hold.slices))
        _known(f"{path}.holds[{at}].cpus", hold.cpus, cpus)
    if info.memory_booked_mib > info.memory_mib:
        raise OutOfRange(f"{path}.memory_booked_mib", "is more than memory_mib", fix="correct one of them")


def _device(device: DeviceInfo, path: str) -> None:
    total = device.memory_total_mib
    if total is not None and device.memory_booked_mib > total:
        raise OutOfRange(
            f"{path}.memory_booked_mib", "is more than memory_total_mib", fix="correct one of them"
        )
    if device.parent == device.device:
        raise OutOfRange(f"{path}.parent", "is the device itself", fix="name the whole device")


def _link(link: LinkInfo, path: str) -> None:
    if link.a == link.b:
        raise OutOfRange(path, f"joins device {link.a} with itself", fix="name two devices")


def _window(window: Window, path: str) -> None:
    if window.opens_at_ms > window.closes_at_ms:
        raise OutOfRange(path, "closes before it opens", fix="swap opens_at_ms and closes_at_ms")


def _policy(policy: EnginePolicy, path: str) -> None:
    _once(f"{path}.queues", (queue.queue for queue in policy.queues))
    if policy.weights_ppm.get(Term.FRAGMENTATION, 0) < LEAST_FRAGMENTATION_PPM:
        where = f"{path}.weights_ppm.{Term.FRAGMENTATION}"
        raise OutOfRange(where, "has too little weight", fix=f"give it at least {LEAST_FRAGMENTATION_PPM}")
    if policy.precheck_num < policy.precheck_den:
        fix = "give a factor of at least 1 (precheck_num is not below precheck_den)"
        raise OutOfRange(f"{path}.precheck_num", "makes the pre-check's factor less than 1", fix=fix)


_IDENTITIES: dict[type[Any], Callable[[Any, str], None]] = {
    NodeInfo: _node,
    DeviceInfo: _device,
    LinkInfo: _link,
    Window: _window,
    EnginePolicy: _policy,
}

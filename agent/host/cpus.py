"""Logical CPUs: model, cores, sockets, NUMA node, maximum frequency, and which of them may be used here."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from agent.host.files import parse_count, parse_cpu_list, read_int, read_text
from agent.protocol import Cpu

MODEL_KEYS = ("model name", "cpu model", "cpu", "machine", "hardware")


def read_cpus(root: Path, *, allowed: Collection[int] | None = None) -> list[Cpu]:
    """All present CPUs; those that are offline or not `allowed` to us are marked not online."""
    base = root / "sys/devices/system/cpu"
    present = parse_cpu_list(read_text(base / "present")) or _from_cpuinfo(root)
    online = set(parse_cpu_list(read_text(base / "online")) or present)
    usable = online if allowed is None else online & set(allowed)
    numa = _numa_of(root)
    return [_cpu(base, number, numa=numa.get(number), online=number in usable) for number in present]


def allowed_cpus() -> set[int]:
    """CPUs the kernel lets this process use (affinity and cpuset alike)."""
    return set(os.sched_getaffinity(0))


def cpu_model(root: Path) -> str | None:
    """Model text of the first CPU in /proc/cpuinfo, whose key differs between architectures."""
    found: dict[str, str] = {}
    for line in (read_text(root / "proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if value.strip():
            found.setdefault(key.strip().lower(), value.strip())
    return next((found[key] for key in MODEL_KEYS if key in found), None)


def _cpu(base: Path, number: int, *, numa: int | None, online: bool) -> Cpu:
    folder = base / f"cpu{number}"
    core = read_int(folder / "topology/core_id")
    socket = read_int(folder / "topology/physical_package_id")
    return Cpu(
        id=number,
        core=number if core is None or core < 0 else core,
        socket=0 if socket is None or socket < 0 else socket,
        numa=numa,
        max_mhz=_max_mhz(folder),
        online=online,
    )


def _max_mhz(folder: Path) -> int | None:
    khz = read_int(folder / "cpufreq/cpuinfo_max_freq")
    return khz // 1000 if khz and khz > 0 else None


def _numa_of(root: Path) -> dict[int, int]:
    owner: dict[int, int] = {}
    for folder in (root / "sys/devices/system/node").glob("node[0-9]*"):
        for number in parse_cpu_list(read_text(folder / "cpulist")):
            owner[number] = int(folder.name[4:])
    return owner


def _from_cpuinfo(root: Path) -> list[int]:
    numbers = []
    for line in (read_text(root / "proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        number = parse_count(value.strip())
        if key.strip() == "processor" and number is not None:
            numbers.append(number)
    return numbers

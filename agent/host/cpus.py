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
    places = _places(base, present)
    return [
        Cpu(
            id=number,
            core=places[number][1],
            socket=places[number][0],
            numa=numa.get(number),
            max_mhz=_max_mhz(base / f"cpu{number}"),
            online=number in usable,
        )
        for number in present
    ]


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


def _places(base: Path, present: list[int]) -> dict[int, tuple[int, int]]:
    """(socket, core) by CPU. A core that the kernel does not tell, since its CPU is offline, is numbered beyond all
    others: nobody's sibling.
    """
    told: dict[int, tuple[int, int]] = {}
    for number in present:
        folder = base / f"cpu{number}/topology"
        core, socket = read_int(folder / "core_id"), read_int(folder / "physical_package_id")
        if core is not None and core >= 0:
            told[number] = (max(0, socket or 0), core)
    told = _told_apart(told, {number: _first_sibling(base, number) for number in told})
    beyond = 1 + max((core for _, core in told.values()), default=-1)
    missing = [number for number in present if number not in told]
    return told | {number: (0, beyond + place) for place, number in enumerate(missing)}


def _told_apart(told: dict[int, tuple[int, int]], first: dict[int, int | None]) -> dict[int, tuple[int, int]]:
    """Numbers of cores start again in every cluster of some processors: there a core is numbered by its first CPU."""
    heads: dict[tuple[int, int], set[int]] = {}
    for number, place in told.items():
        head = first[number]
        if head is not None:
            heads.setdefault(place, set()).add(head)
    mixed = {socket for (socket, _), cores in heads.items() if len(cores) > 1}
    return {
        number: (socket, core if socket not in mixed or first[number] is None else first[number] or 0)
        for number, (socket, core) in told.items()
    }


def _first_sibling(base: Path, number: int) -> int | None:
    folder = base / f"cpu{number}/topology"
    siblings = parse_cpu_list(
        read_text(folder / "core_cpus_list") or read_text(folder / "thread_siblings_list")
    )
    return siblings[0] if number in siblings else None


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

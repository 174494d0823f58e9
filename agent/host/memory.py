"""Host memory and CPU use: totals, the limits of a cgroup around us, and use over time."""

from __future__ import annotations

import os
from pathlib import Path

from agent.host.files import parse_count, read_text
from agent.host.numa import memory_beside_accelerators_mib
from agent.protocol import NodeSample


def read_meminfo(root: Path) -> dict[str, int]:
    """/proc/meminfo in MiB."""
    values = {}
    for line in (read_text(root / "proc/meminfo") or "").splitlines():
        key, _, rest = line.partition(":")
        number = parse_count(rest.split()[0]) if rest.split() else None
        if number is not None:
            values[key] = number // 1024
    return values


def memory_mib(root: Path) -> int | None:
    """Memory that jobs may use here: the machine's without that of accelerators, or less where a cgroup limits us.
    None if the kernel says nothing.
    """
    total = read_meminfo(root).get("MemTotal")
    limits = [
        limit for limit in (memory_beside_accelerators_mib(root), cgroup_limit_mib(root)) if limit is not None
    ]
    return None if total is None else min([total, *limits])


def cgroup_limit_mib(root: Path) -> int | None:
    """The tightest memory limit on the way from our cgroup to the root, versions 2 and 1."""
    limits = []
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        hierarchy, controllers, path = [*line.split(":", 2), "", ""][:3]
        if hierarchy == "0":
            limits += _limits(root / "sys/fs/cgroup", path, "memory.max")
            limits += _limits(root / "sys/fs/cgroup/unified", path, "memory.max")
        elif "memory" in controllers.split(","):
            limits += _limits(root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes")
    return min(limits) if limits else None


def _limits(base: Path, path: str, name: str) -> list[int]:
    found = []
    parts = [part for part in path.split("/") if part and part != ".."]
    for depth in range(len(parts) + 1):
        limit = parse_count(read_text(base.joinpath(*parts[:depth]) / name) or "")
        if limit is not None and limit < 1 << 60:
            found.append(limit >> 20)
    return found


class UsageMeter:
    """CPU use between two readings, memory in use and load, of the whole host. `last` are the (busy, total, cores) of
    the last reading, for whoever keeps them beyond this meter.
    """

    def __init__(self, root: Path, *, last: tuple[int, int, int] | None = None) -> None:
        self._root = root
        self.last = last or self._cpu_ticks()

    def sample(self) -> NodeSample:
        """One reading; CPU use is unknown on the first call or when time stood still."""
        ticks, last = self._cpu_ticks(), self.last
        self.last = ticks
        used = None
        if ticks and last and ticks[1] > last[1]:
            cores = max(1, ticks[2])
            used = max(0, round(1000 * cores * (ticks[0] - last[0]) / (ticks[1] - last[1])))
        memory = read_meminfo(self._root)
        available = memory.get("MemAvailable")
        return NodeSample(
            cpu_used_milli=used,
            memory_used_mib=memory["MemTotal"] - available
            if available is not None and "MemTotal" in memory
            else None,
            load1_milli=self._load1_milli(),
        )

    def _load1_milli(self) -> int | None:
        text = (read_text(self._root / "proc/loadavg") or "").split()
        try:
            return round(float(text[0]) * 1000)
        except (IndexError, ValueError, OverflowError):  # overflow: "inf"
            return None

    def _cpu_ticks(self) -> tuple[int, int, int] | None:
        """(busy, total, cores) since boot."""
        lines = (read_text(self._root / "proc/stat") or "").splitlines()
        if not lines or not lines[0].startswith("cpu "):
            return None
        counts = [parse_count(part) for part in lines[0].split()[1:9]]
        fields = [count for count in counts if count is not None]
        idle = sum(fields[3:5])
        cores = sum(1 for line in lines[1:] if line.startswith("cpu"))
        return sum(fields) - idle, sum(fields), cores or os.cpu_count() or 1

"""Host memory limits of jobs through cgroup v2, where the agent's own cgroup was delegated to it."""

from __future__ import annotations

import os
from pathlib import Path


class JobGroups:
    """A group per job below the agent's own; `procs_files` names where the job's process must write itself."""

    def __init__(self, base: Path) -> None:
        self._base = base

    @classmethod
    def open(cls, root: Path = Path("/")) -> JobGroups | None:
        """None where cgroup v2 with the memory controller is not ours to write; nothing is enforced then, and
        the node says so.
        """
        own = own_group(root)
        if own is None or not delegated(own) or "memory" not in _read(own / "cgroup.controllers").split():
            return None
        try:
            (own / "agent").mkdir(exist_ok=True)
            (own / "agent/cgroup.procs").write_text(
                str(os.getpid())
            )  # no process may stay beside the children
            (own / "cgroup.subtree_control").write_text("+memory")
        except OSError:
            return None
        return cls(own)

    def create(self, name: str, memory_mib: int | None) -> list[str]:
        """Make the job's group; returns the files its process joins by, none when there is no limit to set."""
        if memory_mib is None:
            return []
        folder = self._base / f"job-{name}"
        folder.mkdir(exist_ok=True)
        (folder / "memory.max").write_text(str(memory_mib << 20))
        swap = folder / "memory.swap.max"
        if swap.exists():
            swap.write_text("0")
        return [str(folder / "cgroup.procs")]

    def killed_for_memory(self, name: str) -> bool:
        """Whether the kernel killed something of the job at its memory limit."""
        for line in _read(self._base / f"job-{name}/memory.events").splitlines():
            key, _, value = line.partition(" ")
            if key == "oom_kill":
                return value.strip() not in ("", "0")
        return False

    def remove(self, name: str) -> None:
        """Remove the group of an ended job."""
        try:
            (self._base / f"job-{name}").rmdir()
        except OSError:
            return


def own_group(root: Path) -> Path | None:
    """The agent's own cgroup v2 folder; never the hierarchy's root."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        hierarchy, _, path = line.partition("::")
        if hierarchy == "0" and path.strip("/"):
            own = root / "sys/fs/cgroup" / path.strip("/")
            own = own.parent if own.name == "agent" else own
            return own if own.is_dir() else None
    return None


def delegated(own: Path) -> bool:
    """Whether the service manager marked the group as ours to divide (systemd: Delegate=yes)."""
    for name in ("trusted.delegate", "user.delegate"):
        try:
            if os.getxattr(own, name) == b"1":
                return True
        except OSError:
            continue
    return False


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""

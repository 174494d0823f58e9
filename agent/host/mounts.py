"""Mount points that jobs may depend on; kernel pseudo file systems are left out."""

from __future__ import annotations

import os
from pathlib import Path

from agent.host.files import read_text
from agent.protocol import Mount

PSEUDO = frozenset(
    {
        "autofs",
        "bdev",
        "bpf",
        "binfmt_misc",
        "cgroup",
        "cgroup2",
        "configfs",
        "cpuset",
        "debugfs",
        "devpts",
        "devtmpfs",
        "efivarfs",
        "fusectl",
        "fuse.lxcfs",
        "hugetlbfs",
        "mqueue",
        "nsfs",
        "overlay",
        "proc",
        "pstore",
        "ramfs",
        "rpc_pipefs",
        "securityfs",
        "selinuxfs",
        "squashfs",
        "sysfs",
        "tmpfs",
        "tracefs",
    }
)
REMOTE = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "9p",
        "ceph",
        "glusterfs",
        "lustre",
        "beegfs",
        "fuse.sshfs",
        "fuse.glusterfs",
        "gpfs",
        "afs",
    }
)
MOST = 200


def read_mounts(root: Path) -> list[Mount]:
    """Mounts in path order, at most 200. The size of remote ones is unknown: asking a dead server would hang."""
    found: dict[str, Mount] = {}
    for line in (read_text(root / "proc/self/mounts") or read_text(root / "proc/mounts") or "").splitlines():
        fields = line.split()
        if len(fields) < 3 or (fields[2] in PSEUDO and fields[1] != "/"):
            continue
        path = _unescape(fields[1])
        found[path] = Mount(
            path=path, source=_unescape(fields[0]), fs_type=fields[2], total_mib=_size(root, path, fields[2])
        )
    return [found[path] for path in sorted(found)][:MOST]


def _size(root: Path, path: str, fs_type: str) -> int | None:
    if fs_type in REMOTE or fs_type.startswith("fuse") or root != Path("/"):
        return None
    try:
        status = os.statvfs(path)
    except OSError:
        return None
    return status.f_blocks * status.f_frsize >> 20


def _unescape(text: str) -> str:
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text

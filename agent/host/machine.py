"""Who a machine is: machine id, boot id, names of operating system and kernel."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import socket
import time
from pathlib import Path

from agent.host.files import read_text

EMPTY_IDS = frozenset({"", "uninitialized", "0" * 32})
EMPTY_DMI = frozenset({"", "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"})
_MACHINE_ID = re.compile(r"[0-9a-f]{32}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def machine_id(root: Path, state_dir: Path) -> str:
    """A stable id: /etc/machine-id, else the board's UUID, else one generated once and kept with the agent's
    state.
    """
    text = (read_text(root / "etc/machine-id") or "").lower()
    if text not in EMPTY_IDS:
        return text
    board = _board(root)
    return _id_of_board(board) if board not in EMPTY_DMI else _kept_id(state_dir / "machine-id")


def told_machine_id(root: Path) -> str | None:
    """The same id of files that came over a line which may break: None where it is not one from end to end; none is
    made up.
    """
    text = (read_text(root / "etc/machine-id") or "").lower()
    if text not in EMPTY_IDS:
        return text if _MACHINE_ID.fullmatch(text) else None
    board = _board(root)
    return _id_of_board(board) if board not in EMPTY_DMI and _UUID.fullmatch(board) else None


def boot_id(root: Path) -> str:
    """The kernel's id of this boot; "unknown" where it has none."""
    return read_text(root / "proc/sys/kernel/random/boot_id") or "unknown"


def told_boot_id(root: Path) -> str | None:
    """The same id of files that came over a line which may break; None where it is not one from end to end."""
    text = boot_id(root)
    return text if _UUID.fullmatch(text) else None


def boot_clock_s() -> float:
    """Seconds since boot, suspended time included: the clock nobody sets."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def hostname() -> str:
    """The machine's own name; shown only, it is no identity."""
    return socket.gethostname() or "unnamed"


def operating_system(root: Path) -> str:
    """Name from os-release, for example `Debian GNU/Linux 12 (bookworm)`."""
    for name in ("etc/os-release", "usr/lib/os-release"):
        for line in (read_text(root / name) or "").splitlines():
            key, _, value = line.partition("=")
            if key == "PRETTY_NAME":
                return value.strip().strip('"')
    return platform.system()


def kernel(root: Path) -> str:
    """Kernel release."""
    return read_text(root / "proc/sys/kernel/osrelease") or platform.release()


def _board(root: Path) -> str:
    return (read_text(root / "sys/class/dmi/id/product_uuid") or "").lower()


def _id_of_board(board: str) -> str:
    return hashlib.sha256(board.encode()).hexdigest()[:32]


def _kept_id(path: Path) -> str:
    kept = read_text(path)
    if kept:
        return kept
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    fresh = secrets.token_hex(16)
    os.write(handle, fresh.encode())
    os.close(handle)
    return fresh

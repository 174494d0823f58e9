"""Unprivileged numeric users, one per job, from the range that systemd gives its dynamic users."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import pwd
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

from agent.runners.base import RunnerError

logger = logging.getLogger("headrace.agent.identity")
REMOVE_PATIENCE_S = 120.0
FIRST_UID = 61184
LAST_UID = 65519
LOCK_DIR = Path("/run/headrace-uids")
NEEDED_CAPABILITIES = (0, 5, 6, 7)  # chown, kill, setgid, setuid


def can_isolate(status_text: str, uid_map_text: str, *, euid: int) -> bool:
    """Whether we may become the users of the range: root, with the capabilities, and mapped (texts of
    /proc/self/status, uid_map).
    """
    if euid != 0:
        return False
    effective = next(
        (int(line.split()[1], 16) for line in status_text.splitlines() if line.startswith("CapEff:")), 0
    )
    if not all(effective >> number & 1 for number in NEEDED_CAPABILITIES):
        return False
    for line in uid_map_text.splitlines():
        first, _, count = (int(part) for part in line.split())
        if first <= FIRST_UID and first + count > LAST_UID:
            return True
    return False


class UserPool:
    """Hands out uids that nobody else holds: not in passwd, no process, no other agent (a lock per uid,
    inherited by the supervisor).
    """

    def __init__(self, lock_dir: Path = LOCK_DIR) -> None:
        self._lock_dir = lock_dir
        self._locks: dict[int, int] = {}
        self._next = FIRST_UID + os.getpid() % (LAST_UID - FIRST_UID + 1)

    def take(self) -> int:
        """Reserve a fresh uid."""
        busy = running_uids()
        for _ in range(FIRST_UID, LAST_UID + 1):
            uid = self._next
            self._next = FIRST_UID if uid == LAST_UID else uid + 1
            if uid not in busy and uid not in self._locks and not in_passwd(uid) and self.hold(uid):
                return uid
        raise RunnerError(f"no free user id between {FIRST_UID} and {LAST_UID} on this node")

    def hold(self, uid: int) -> bool:
        """Lock a uid for us; False when another agent on this machine has it."""
        if uid in self._locks:
            return True
        self._lock_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self._lock_dir / str(uid), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        self._locks[uid] = handle
        return True

    def lock_fd(self, uid: int) -> int | None:
        """The lock's descriptor, to be inherited by the supervisor of the job."""
        return self._locks.get(uid)

    def is_free(self, uid: int) -> bool:
        """Whether it is one of the range that no job holds, of this agent or another."""
        if not FIRST_UID <= uid <= LAST_UID or uid in self._locks or uid in running_uids():
            return False
        free = self.hold(uid)
        self.give_back(uid)
        return free

    def give_back(self, uid: int) -> None:
        """The uid's job is over, its processes are dead and its files removed."""
        handle = self._locks.pop(uid, None)
        if handle is not None:
            os.close(handle)


def running_uids() -> set[int]:
    """Owners of all live processes."""
    owners = set()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                owners.add(entry.stat().st_uid)
            except OSError:
                continue
    return owners


def in_passwd(uid: int) -> bool:
    """Whether some account has this number."""
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def sweep_shared_folders(
    uid: int, folders: Collection[str] = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock")
) -> None:
    """Remove what a job's user left at the top of world-writable folders, so that the next holder of the uid
    does not inherit it.
    """
    for folder in folders:
        try:
            entries = [
                entry for entry in os.scandir(folder) if entry.stat(follow_symlinks=False).st_uid == uid
            ]
        except OSError:
            continue
        for entry in entries:
            remove_tree(Path(entry.path))


def remove_tree(path: Path) -> None:
    """Remove a file or folder without following links; what cannot be removed stays."""
    if path.is_dir() and not path.is_symlink():
        with contextlib.suppress(RecursionError):
            shutil.rmtree(path, ignore_errors=True)
        if os.path.lexists(path):
            _remove_deep(path)
    else:
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return


def _remove_deep(path: Path) -> None:
    """A tree too deep for recursion; `rm` walks it without."""
    try:
        subprocess.run(
            ["rm", "-rf", "--", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=REMOVE_PATIENCE_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        logger.warning("%s could not be removed: %s", path, error)

"""System V shared memory, message queues and semaphores that a job's user left in the kernel."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable
from pathlib import Path

logger = logging.getLogger("headrace.agent.sysv")
IPC_RMID = 0
libc = ctypes.CDLL(None, use_errno=True)
# The kernel's table, the column with the object's number, and the call that removes it.
KINDS: dict[str, tuple[str, Callable[[int], int]]] = {
    "shm": ("shmid", lambda number: libc.shmctl(number, IPC_RMID, None)),
    "msg": ("msqid", lambda number: libc.msgctl(number, IPC_RMID, None)),
    "sem": ("semid", lambda number: libc.semctl(number, 0, IPC_RMID)),
}


def remove_objects_of(uid: int, tables: Path = Path("/proc/sysvipc")) -> None:
    """Remove what the user owns or made; its processes are dead."""
    for kind, (column, remove) in KINDS.items():
        for number in owned(tables / kind, column, uid=uid):
            if remove(number) != 0:
                logger.warning("%s %d of user %d stays: error %d", kind, number, uid, ctypes.get_errno())


def owned(table: Path, column: str, *, uid: int) -> list[int]:
    """Numbers of the objects in one table that are the user's."""
    try:
        header, *rows = table.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return []
    found = []
    for row in rows:
        facts = dict(zip(header.split(), row.split(), strict=False))
        if str(uid) in (facts.get("uid"), facts.get("cuid")) and column in facts:
            found.append(int(facts[column]))
    return found

"""Finding and killing what a job left running. Loaded by the supervisor (`shim.py`), so it imports little."""

import os
import select
import signal
import time

KILLER_PATIENCE_S = 0.5
KILLER_TRIES = 5
PAUSE_MS = 2


def kill_user(uid: int) -> bool:
    """Kill all processes of a user at one stroke, which no fork can outrun: as that user, kill(-1) spares only
    the caller. The user may stop or kill the caller in return, so that is watched and tried again.
    """
    for _ in range(KILLER_TRIES):
        pid = os.fork()
        if pid == 0:
            strike(uid)
        if ended_well(pid):
            return True
    return False


def strike(uid: int) -> None:
    """In the child: never returns; the exit status says whether the signal was sent."""
    try:
        os.setresuid(uid, uid, uid)
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        os._exit(0)
    except BaseException:
        os._exit(1)
    os._exit(0)


def ended_well(pid: int) -> bool:
    """Wait for our child, but not for ever; one that does not end is killed, which also ends a stopped one."""
    deadline = time.monotonic() + KILLER_PATIENCE_S
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        select.poll().poll(PAUSE_MS)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def survivors(root: int, uid: int | None) -> list[int]:
    """Live processes below `root` or owned by `uid`; zombies do not count unless some of their threads live."""
    parents: dict[int, int] = {}
    owned: list[int] = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as source:
                state, parent = source.read().rpartition(")")[2].split()[:2]
            if state == "Z" and len(os.listdir(f"/proc/{name}/task")) < 2:
                continue
            owner = os.stat(f"/proc/{name}").st_uid if uid is not None else -1
        except (OSError, ValueError):
            continue
        parents[int(name)] = int(parent)
        if uid is not None and (owner == uid or (state == "Z" and real_uid(name) == uid)):
            owned.append(int(name))
    below = {root}
    grew = True
    while grew:
        fresh = {pid for pid, parent in parents.items() if parent in below and pid not in below}
        below |= fresh
        grew = bool(fresh)
    return sorted((below | set(owned)) - {root})


def real_uid(name: str) -> int:
    """Whose process it is, also where /proc gives the folder of a dying one to root; -1 if it is gone."""
    with open(f"/proc/{name}/status", encoding="ascii", errors="replace") as source:
        found = next((line for line in source if line.startswith("Uid:")), "Uid: -1")
    return int(found.split()[1])

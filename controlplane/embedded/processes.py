"""Child processes: how they are started, recognised again after a crash, and ended."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")
LOG_LIMIT_BYTES = 16 * 1024 * 1024
POLL_S = 0.02
# Enough for a server that takes its settings from its arguments; our own environment may hold secrets.
BARE_ENV = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C",
    "TZ": "UTC",
}


def no_preparation() -> None:
    """For children that need nothing done before their start."""


@dataclass(frozen=True, kw_only=True)
class ChildSpec:
    """A process to keep running; `env` is all it gets, `before_start` runs ahead of every start, also after a crash."""

    name: str
    argv: tuple[str, ...]
    log: Path
    env: Mapping[str, str] = field(default_factory=lambda: dict(BARE_ENV))
    cwd: Path = Path("/")
    uid: int | None = None
    gid: int | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    grace_s: float = 15.0
    before_start: Callable[[], None] = no_preparation


@dataclass(frozen=True)
class ProcessMark:
    """A process identity that outlives its parent: a pid alone may be another process by now."""

    pid: int
    start_ticks: int
    boot_id: str
    stop_signal: int

    def write(self, path: Path) -> None:
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(self.__dict__))
        partial.replace(path)


@dataclass(frozen=True)
class ProcessFacts:
    """What /proc/PID/stat says; a zombie is not alive."""

    pid: int
    session: int
    start_ticks: int
    alive: bool


def start_child(spec: ChildSpec) -> subprocess.Popen[bytes]:
    """Starts the child in a session of its own, on a leash that ends it when we die by surprise."""
    spec.before_start()
    rotate(spec.log)
    with spec.log.open("ab") as log:
        return subprocess.Popen(
            [*leash(spec.stop_signal), *spec.argv],
            env=dict(spec.env),
            cwd=spec.cwd,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=spec.uid,
            group=spec.gid,
            extra_groups=None if spec.uid is None else [],
        )


def leash(stop_signal: signal.Signals) -> list[str]:
    """PR_SET_PDEATHSIG by util-linux, since a preexec function is not safe in a threaded parent."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", stop_signal.name.removeprefix("SIG")] if setpriv else []


def rotate(log: Path) -> None:
    """Keeps the old text once; copied, since the writer (in append mode) holds the file open and goes on in it."""
    if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
        shutil.copyfile(log, log.with_suffix(".log.1"))
        os.truncate(log, 0)


def tail(log: Path, *, lines: int = 12) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 16 * 1024))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def facts_of(pid: int) -> ProcessFacts | None:
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The command name in brackets may hold spaces and brackets itself.
    fields = text[text.rindex(")") + 2 :].split()
    return ProcessFacts(
        pid=pid, session=int(fields[3]), start_ticks=int(fields[19]), alive=fields[0] not in "ZX"
    )


def boot_id() -> str:
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def mark_of(pid: int, *, stop_signal: signal.Signals) -> ProcessMark | None:
    facts = facts_of(pid)
    if facts is None:
        return None
    return ProcessMark(
        pid=pid, start_ticks=facts.start_ticks, boot_id=boot_id(), stop_signal=int(stop_signal)
    )


def read_mark(path: Path) -> ProcessMark | None:
    try:
        return ProcessMark(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def session_members(mark: ProcessMark) -> list[int]:
    """Living processes of the marked child's session; empty when its pid was given to somebody else."""
    leader = facts_of(mark.pid)
    if mark.boot_id != boot_id() or (leader is not None and leader.start_ticks != mark.start_ticks):
        return []
    everybody = (facts_of(int(entry.name)) for entry in PROC.iterdir() if entry.name.isdigit())
    return [
        facts.pid
        for facts in everybody
        if facts and facts.alive and facts.session == mark.pid and facts.start_ticks >= mark.start_ticks
    ]


def end_session(mark: ProcessMark, *, grace_s: float) -> bool:
    """Ends a child and what it started: its stop signal first, then KILL; whether there was anything to end."""
    members = session_members(mark)
    if not members:
        return False
    # Without its leader (a server killed with -9) the rest of a session does not know how to stop by itself.
    send([mark.pid] if mark.pid in members else members, signal.Signals(mark.stop_signal))
    if not wait_until(lambda: not session_members(mark), timeout_s=grace_s):
        send(session_members(mark), signal.SIGKILL)
        wait_until(lambda: not session_members(mark), timeout_s=5.0)
    return True


def send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def wait_until(condition: Callable[[], bool], *, timeout_s: float, poll_s: float = POLL_S) -> bool:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(poll_s)
    return True

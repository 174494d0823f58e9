"""The supervisors' programs, and what is left to do where one was killed."""

from __future__ import annotations

import contextlib
import os
import py_compile
import signal
from pathlib import Path

from agent.fact_files import number, read_facts
from agent.runners.usage import start_ticks
from agent.task import Record

SHIM = Path(__file__).with_name("shim.py")
CONTAINER_SHIM = Path(__file__).with_name("container_shim.py")
SHIM_PARTS = ("leftovers.py", "shim.py", "container_shim.py")


def compiled_shim(state_dir: Path) -> str:
    """The supervisor's program, compiled once: every start saves that time."""
    try:
        for part in SHIM_PARTS:
            target = (state_dir / part).with_suffix(".pyc")
            py_compile.compile(str(SHIM.with_name(part)), cfile=str(target), doraise=True)
    except (OSError, py_compile.PyCompileError):
        return str(SHIM)
    return str(state_dir / "shim.pyc")


def kill_leftovers(folder: Path, record: Record) -> None:
    """After a supervisor was killed: its job dies with it, but what the job started may not have."""
    started = read_facts(folder / "started")
    pid, ticks = number(started.get("pid")), number(started.get("start_ticks"))
    if pid and ticks and start_ticks(pid) == ticks:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    if record.uid is not None:
        kill_processes_of(record.uid)


def kill_processes_of(uid: int) -> None:
    """Kill every process of a job's user."""
    for entry in os.scandir("/proc"):
        try:
            if entry.name.isdigit() and entry.stat().st_uid == uid:
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue

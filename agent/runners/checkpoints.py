"""Checkpoints of jobs: their folders, the asking for one, and what became of it; see docs/checkpoints.md.

A job confirms a checkpoint by replacing the file `complete` in its folder, or by its command's exit status 0.
"""

from __future__ import annotations

import logging
import marshal
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from agent.fact_files import number, read_facts
from agent.protocol import Checkpoint
from agent.runners.identity import remove_tree
from agent.runners.task_files import write_private
from agent.runners.usage import start_ticks
from agent.task import Record, TaskKey

logger = logging.getLogger("headrace.agent.checkpoints")
COMPLETE = "complete"
LOOK_S = 0.1
# An attempt, of a gang with the replica.
JOB = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
FOLDER = re.compile(r"[0-9]{1,18}(-[0-9]{1,18})?", re.ASCII)
Act = Callable[[int], bool | None]


class Checkpoints:
    """`root` holds JOB/ATTEMPT folders; it may be shared by the nodes of one cluster, so that jobs resume anywhere."""

    def __init__(self, root: Path, *, journal_folder: Callable[[TaskKey], Path]) -> None:
        self.root = root
        self._journal_folder = journal_folder
        self._asking: dict[TaskKey, int] = {}
        self._closed = threading.Event()

    def folder(self, record: Record) -> Path:
        """Where this attempt's checkpoints lie."""
        wanted = record.assignment
        name = str(wanted.attempt) if wanted.replica is None else f"{wanted.attempt}-{wanted.replica}"
        return self.root / str(wanted.job) / name

    def kept_jobs(self) -> list[int]:
        """The jobs that have a folder here."""
        try:
            with os.scandir(self.root) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            return []
        return sorted(int(name) for name in names if JOB.fullmatch(name))

    def prune(self, jobs: Collection[int]) -> None:
        """Remove all that these jobs left; links are not followed, and what cannot be removed stays."""
        for job in jobs:
            remove_tree(self.root / str(job))

    def prepare(self, record: Record) -> None:
        """Make the folder and let the job's user have what it resumes from; nothing of the job runs yet."""
        if record.assignment.checkpoint is None:
            return
        folder = self.folder(record)
        for parent in (self.root, folder.parent):
            parent.mkdir(mode=0o711, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        for own in self.folders(record):
            give(own, record.uid)

    def folders(self, record: Record) -> list[Path]:
        """What the job may see: its own folder, and the one that it resumes from."""
        if record.assignment.checkpoint is None:
            return []
        resume = self.resume_folder(record)
        return [self.folder(record), *([] if resume is None else [resume])]

    def environment(self, record: Record) -> dict[str, str]:
        """What the job is told."""
        way = record.assignment.checkpoint
        if way is None:
            return {}
        folder, resume = self.folder(record), self.resume_folder(record)
        found = {
            "HEADRACE_CHECKPOINT_DIR": str(folder),
            "HEADRACE_CHECKPOINT_DONE": str(folder / COMPLETE),
            "HEADRACE_CHECKPOINT_SIGNAL": way.signal or "",
        }
        return found | ({} if resume is None else {"HEADRACE_RESUME_DIR": str(resume)})

    def resume_folder(self, record: Record) -> Path | None:
        """An earlier attempt's folder, where this node has it: never anything else that a server may name."""
        wanted = record.assignment.resume_from
        if wanted is None or record.assignment.checkpoint is None:
            return None
        name = os.path.basename(wanted)
        if not FOLDER.fullmatch(name):
            return None
        folder = self.folder(record).parent / name
        return folder if folder.is_dir() and not folder.is_symlink() else None

    def ask(self, record: Record, asked: int, act: Act, changed: Callable[[TaskKey], None]) -> None:
        """Ask the job once per number; `act` says whether that confirmed it, None where the job's file will tell."""
        if self.asked(record) == asked:
            return
        self._asking[record.key] = asked
        arguments = (record, asked, act, changed)
        threading.Thread(target=self._ask, args=arguments, name="checkpoint", daemon=True).start()

    def asked(self, record: Record) -> int | None:
        """The number last asked, answered or not."""
        facts = read_facts(self._journal_folder(record.key) / "checkpoint")
        return self._asking.get(record.key) or number(facts.get("asked"))

    def state(self, record: Record) -> Checkpoint | None:
        """The last whole checkpoint of this attempt, and how the last asking ended."""
        if record.assignment.checkpoint is None:
            return None
        facts = read_facts(self._journal_folder(record.key) / "checkpoint")
        made_ns = made_at_ns(self.folder(record))
        if not facts and made_ns is None:
            return None
        return Checkpoint(
            path=str(self.folder(record)) if made_ns or facts.get("made") == "1" else "",
            made_at_ms=made_ns // 1_000_000 if made_ns else number(facts.get("at_ms")),
            asked=number(facts.get("asked")),
            problem=facts.get("problem", ""),
        )

    def forget(self, key: TaskKey) -> None:
        """The task is over."""
        self._asking.pop(key, None)

    def close(self) -> None:
        """Wait for nothing any more; the next agent asks again."""
        self._closed.set()

    def _ask(self, record: Record, asked: int, act: Act, changed: Callable[[TaskKey], None]) -> None:
        spec = record.assignment.checkpoint
        assert spec is not None
        before = made_at_ns(self.folder(record))
        deadline = time.monotonic() + spec.timeout_s
        try:
            confirmed = act(spec.timeout_s)
            while confirmed is None and time.monotonic() < deadline and not self._closed.wait(LOOK_S):
                confirmed = (made_at_ns(self.folder(record)) not in (None, before)) or None
            problem = "" if confirmed else f"no checkpoint was confirmed within {spec.timeout_s} s"
            if confirmed is False:
                problem = "the checkpoint command failed"
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            confirmed, problem = False, str(error)
        if self._closed.is_set():
            return
        self._write(record.key, asked, made=bool(confirmed), problem=problem)
        self._asking.pop(record.key, None)
        changed(record.key)

    def _write(self, key: TaskKey, asked: int, *, made: bool, problem: str) -> None:
        text = f"asked={asked}\nmade={int(made)}\nat_ms={time.time_ns() // 1_000_000}\nproblem={problem}\n"
        try:
            write_private(self._journal_folder(key) / "checkpoint", text.encode("utf-8", "replace"))
        except OSError as error:  # it is asked again
            logger.warning("the checkpoint of placement %s is not noted: %s", key.placement, error)


def signal_first(started: Mapping[str, str], name: str | None) -> None:
    """Signal a job's first process, by pid and start time; its file tells when it is done."""
    pid, ticks = number(started.get("pid")), number(started.get("start_ticks"))
    if not name or not pid or start_ticks(pid) != ticks:
        raise OSError("the job cannot be signalled: it has no process")
    os.kill(pid, signal.Signals[f"SIG{name}"])


def run_beside(shim: str, folder: Path, spec: Mapping[str, object], *, patience_s: float) -> bool:
    """Run a command beside a job as its user, under a supervisor of its own; whether it ended well."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    write_private(folder / "spec", marshal.dumps(dict(spec) | {"shares_user": True}))
    argv = [sys.executable, "-I", "-S", shim, str(folder)]
    subprocess.run(
        argv, stdin=subprocess.DEVNULL, cwd="/", env={"LC_ALL": "C.UTF-8"}, timeout=patience_s, check=True
    )
    return read_facts(folder / "exit").get("exit_code") == "0"


def made_at_ns(folder: Path) -> int | None:
    """When the last checkpoint was confirmed, by the file's own time; None for none, or for what is no file."""
    try:
        status = os.lstat(folder / COMPLETE)
    except OSError:
        return None
    return status.st_mtime_ns if stat.S_ISREG(status.st_mode) else None


def give(folder: Path, uid: int | None) -> None:
    """Let a user own a folder and all in it; links are not followed, and files with other names stay whose they are."""
    if uid is None:
        return
    os.chown(folder, uid, uid, follow_symlinks=False)
    for _, folders, files, handle in os.fwalk(folder, follow_symlinks=False):
        for name in [*folders, *files]:
            status = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink == 1):
                os.chown(name, uid, uid, dir_fd=handle, follow_symlinks=False)

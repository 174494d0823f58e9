"""What the agent has promised and done, on disk: one folder per placement attempt, written before its process starts.

Layout of the state folder: `tasks/KEY/` live and ended tasks, `spool/KEY/` tasks the server has let go whose
log is still on its way,
`done/KEY` how past tasks ended (so that none is ever started twice), `obeyed` the cluster and epoch last obeyed,
`untold` failed checks of which nobody knows whether they reached the server, and those that surely did not.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from agent.fact_files import number, read_facts
from agent.protocol import Assignment, Check, CheckResult, Report, Want
from agent.task import Outcome, Record, TaskKey

logger = logging.getLogger("headrace.agent.journal")
KEPT_OUTCOMES = 4096
MOST_UNTOLD = 1024
MOST_EVIDENCE = 500
MOST_KEPT_BYTES = 4 << 20
T = TypeVar("T")


# What a server says that is older than the field in its reply.
SILENCE_LIMIT_S = 150


class Obeyed(msgspec.Struct, frozen=True):
    """The last desired set that was obeyed; `contact_s` is the boot clock's time of it.

    After `silence_limit_s` without contact the server may soon run what must run in one place only elsewhere.
    """

    cluster_id: str | None = None
    epoch: int = 0
    boot_id: str = ""
    contact_s: float = 0.0
    silence_limit_s: int = SILENCE_LIMIT_S


class Untold(msgspec.Struct, frozen=True):
    """Of one boot: the report with failed checks that may have arrived, and failed checks that no report held."""

    boot_id: str = ""
    report: Report | None = None
    checks: tuple[Check, ...] = ()


class Journal:
    """The on-disk record; every write is atomic, so a kill at any moment leaves the old or the new, never half."""

    def __init__(self, state_dir: Path, *, durable: bool = True) -> None:
        self.state_dir = state_dir
        self.tasks_dir = state_dir / "tasks"
        self.spool_dir = state_dir / "spool"
        self.done_dir = state_dir / "done"
        self._durable = durable
        self._untold = self._read_untold()
        for folder in (state_dir, self.tasks_dir, self.spool_dir, self.done_dir):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def folder(self, key: TaskKey) -> Path:
        """The task's folder, wherever it lies now."""
        live = self.tasks_dir / key.folder
        return (
            live
            if live.exists() or not (self.spool_dir / key.folder).exists()
            else self.spool_dir / key.folder
        )

    def write(self, record: Record) -> None:
        """Put a record down; on return it survives a power cut."""
        folder = self.tasks_dir / record.key.folder
        folder.mkdir(mode=0o700, exist_ok=True)
        write_atomic(folder / "record.json", msgspec.json.encode(record), durable=self._durable)

    def read_all(self) -> list[Record]:
        """All live records. A damaged one is rebuilt if something started there; else nothing did, and its folder
        is removed.
        """
        return list(self._records(self.tasks_dir))

    def spooled(self) -> list[Record]:
        """Tasks whose log still has to reach the server."""
        return list(self._records(self.spool_dir))

    def spool(self, key: TaskKey, outcome: Outcome | None) -> None:
        """The server let the task go: remember how it ended and keep its log for shipping."""
        if outcome is not None:
            write_atomic(self.done_dir / key.folder, msgspec.json.encode(outcome), durable=self._durable)
        source = self.tasks_dir / key.folder
        if source.exists():
            shutil.rmtree(self.spool_dir / key.folder, ignore_errors=True)
            source.rename(self.spool_dir / key.folder)

    def drop(self, key: TaskKey) -> None:
        """Remove what is left of a task that the server let go and whose log it has."""
        shutil.rmtree(self.spool_dir / key.folder, ignore_errors=True)

    def past_outcome(self, key: TaskKey) -> Outcome | None:
        """How a task that was let go had ended; None = never ran here."""
        try:
            return read_kept(self.done_dir / key.folder, Outcome)
        except Unreadable:
            return None

    def past_keys(self) -> set[TaskKey]:
        """Keys of tasks that ended and were let go; the oldest beyond the limit are forgotten."""
        names = sorted(os.scandir(self.done_dir), key=lambda entry: entry.stat().st_mtime_ns)
        for entry in names[:-KEPT_OUTCOMES]:
            os.unlink(entry.path)
        return {key for entry in names[-KEPT_OUTCOMES:] if (key := _parse_key(entry.name))}

    def read_obeyed(self) -> Obeyed:
        """What was obeyed last, by this or an earlier run of the agent."""
        try:
            return read_kept(self.state_dir / "obeyed", Obeyed)
        except Unreadable:
            return Obeyed()

    def write_obeyed(self, obeyed: Obeyed, *, durable: bool) -> None:
        """Note what was obeyed; durable when the epoch moved."""
        write_atomic(
            self.state_dir / "obeyed", msgspec.json.encode(obeyed), durable=durable and self._durable
        )

    def untold(self, boot_id: str) -> Untold:
        """What an earlier run of the agent could not tell; after another boot devices are judged afresh."""
        return self._untold if self._untold.boot_id == boot_id else Untold()

    def write_untold(self, untold: Untold) -> None:
        """Note failed checks before they are sent, and none once they arrived; others are not worth keeping. It
        outlives the agent, not the machine. A disk that takes nothing costs no report.
        """
        kept = _worth_keeping(untold)
        if kept == self._untold:
            return
        try:
            write_atomic(self.state_dir / "untold", msgspec.json.encode(kept), durable=False)
        except OSError as error:
            logger.warning("failed checks cannot be kept: %s", error)
        else:
            self._untold = kept

    def _read_untold(self) -> Untold:
        try:
            return _worth_keeping(read_kept(self.state_dir / "untold", Untold))
        except Unreadable:
            return Untold()

    def _records(self, folder: Path) -> Iterator[Record]:
        for entry in sorted(folder.iterdir()):
            try:
                record = read_kept(entry / "record.json", Record)
            except Unreadable as error:
                if not (entry / "start").exists():
                    shutil.rmtree(entry, ignore_errors=True)
                    continue
                logger.warning("%s/record.json is damaged: %s", entry.name, error)
                rebuilt = _rebuild(entry)
                if rebuilt is None:
                    continue
                record = rebuilt
            yield record


def _worth_keeping(untold: Untold) -> Untold:
    """A report without what is outdated after a restart; the devices that its checks do not name would count as
    unread, so it keeps the good ones beside the failed.
    """
    report = untold.report
    if report is not None and not _failed(report.checks):
        report = None
    if report is not None:
        said = _shortened(report.checks)
        report = msgspec.structs.replace(report, facts=None, node=None, samples=[], checks=list(said))
    checks = _shortened(_failed(untold.checks))
    return Untold(untold.boot_id, report, checks) if report or checks else Untold()


def _failed(checks: Iterable[Check]) -> list[Check]:
    return [check for check in checks if check.result in (CheckResult.FAILED, CheckResult.FATAL)]


def _shortened(checks: Sequence[Check]) -> tuple[Check, ...]:
    return tuple(
        msgspec.structs.replace(check, evidence=check.evidence[:MOST_EVIDENCE])
        for check in checks[:MOST_UNTOLD]
    )


class Unreadable(Exception):
    """A file of the state folder is not there or not what the agent wrote."""


def read_kept(path: Path, type_: type[T]) -> T:
    """What the agent once wrote there; raises Unreadable, whatever somebody else made of the file."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_KEPT_BYTES + 1)
        if len(data) > MOST_KEPT_BYTES:
            raise Unreadable(f"it is larger than {MOST_KEPT_BYTES} bytes")
        return msgspec.json.decode(data, type=type_)
    except (OSError, ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise Unreadable(str(error)) from error


def read_or_put_aside(path: Path, type_: type[T]) -> T | None:
    """As `read_kept`; None where there is no such file. A damaged one is put aside before Unreadable is raised, for
    what is written next would replace it.
    """
    try:
        return read_kept(path, type_)
    except Unreadable as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        if isinstance(error.__cause__, OSError):
            raise
        aside = path.with_name(f"{path.name}.damaged")
        try:
            os.replace(path, aside)
        except OSError as refused:
            raise Unreadable(f"{error}; it cannot be put aside: {refused.strerror}") from error
        raise Unreadable(f"{error}; put aside as {aside.name}") from error


def write_atomic(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace a file as a whole, readable by its owner only."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        write_all(handle, data)
        if durable:
            os.fsync(handle)
    finally:
        os.close(handle)
    os.rename(temporary, path)
    if durable:
        _sync_folder(path.parent)


def write_all(handle: int, data: bytes) -> None:
    """Write every byte or raise: a nearly full disk takes a part and says so only in the count."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _rebuild(folder: Path) -> Record | None:
    """Enough of a damaged record to watch and to stop what runs: its key is the folder's name, its user and
    boot are in the supervisor's start file.
    """
    key = _parse_key(folder.name)
    if key is None:
        return None
    start = read_facts(folder / "start")
    assignment = Assignment(
        *(key.placement, 0, key.attempt, key.fence, Want.RUN),
        name="",
        command=[],
        env={},
        cpus=[],
        memory_mib=None,
        devices=[],
    )
    return Record(
        assignment=assignment,
        boot_id=start.get("boot_id", ""),
        created_at_ms=int((folder / "start").stat().st_mtime * 1000),
        uid=number(start.get("uid")),
    )


def _parse_key(name: str) -> TaskKey | None:
    parts = name.split("-")
    if len(parts) != 3 or not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    return TaskKey(*(int(part) for part in parts))

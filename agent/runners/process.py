"""Runs jobs as plain processes, each under a supervisor (`shim.py`) that outlives the agent."""

from __future__ import annotations

import contextlib
import logging
import marshal
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from agent.fact_files import number, read_facts
from agent.host.machine import boot_id
from agent.journal import Journal
from agent.notices import notice, sentence
from agent.protocol import Assignment, ExitReason, GuardRules, Notice, TaskPhase
from agent.registry_secrets import RegistrySecrets
from agent.runners.base import OnChange, Progress, RunnerError
from agent.runners.cgroup import JobGroups
from agent.runners.checkpoints import Checkpoints, run_beside, signal_first
from agent.runners.containers import Containers, EngineSettings, read_pull
from agent.runners.cores import CoreWatch
from agent.runners.environment import job_environment
from agent.runners.identity import UserPool, can_isolate, remove_tree, sweep_shared_folders
from agent.runners.jobs_dir import choose_jobs_dir
from agent.runners.memory import DeviceMemory, MemoryWatch
from agent.runners.supervisors import CONTAINER_SHIM, compiled_shim, kill_leftovers
from agent.runners.sysv_ipc import remove_objects_of
from agent.runners.task_files import (
    is_fresh_claim,
    read_exit,
    size_of,
    tail,
    write_exit,
    write_private,
)
from agent.runners.usage import start_ticks
from agent.runners.watcher import Watcher
from agent.task import Outcome, Record, TaskKey

logger = logging.getLogger("headrace.agent.runner")
HOME_NAME = re.compile(r"[0-9]+-[0-9]+")
LOG_LIMIT_BYTES = 64 << 20
NOFILE = 1 << 16
MAX_PROCESSES = 4096
ROOT_WITHOUT_RIGHTS = notice("root-without-rights")


@dataclass
class Live:
    """What is known of a task's supervisor."""

    adopted: bool
    process: subprocess.Popen[bytes] | None = None
    pid: int | None = None
    ticks: int = 0
    outcome: Outcome | None = None
    unwritten: bool = False  # the outcome is not on disk yet


class ProcessRunner:
    """See `runners.base.Runner`. Facts of a task come from the files its supervisor writes, so a restarted
    agent sees the same.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        jobs_dir: Path | None = None,
        users: UserPool | None = None,
        max_processes: int = MAX_PROCESSES,
        engine: EngineSettings | None = None,
        checkpoint_dir: Path | None = None,
        secrets: RegistrySecrets | None = None,
    ) -> None:
        self._max_processes = max_processes
        self.containers = Containers(
            engine or EngineSettings(),
            state_dir=journal.state_dir,
            most_processes=max_processes,
            most_files=NOFILE,
            secrets=secrets,
        )
        self._journal = journal
        self._boot_id = boot_id(Path("/"))
        self._live: dict[TaskKey, Live] = {}
        self._contained: set[TaskKey] = set()
        self._seen: dict[TaskKey, Progress] = {}
        self._memory = MemoryWatch(self._pressed)
        self._cores = CoreWatch()
        self._groups = JobGroups.open()
        status, uid_map = Path("/proc/self/status").read_text(), Path("/proc/self/uid_map").read_text()
        self.isolates_users = can_isolate(status, uid_map, euid=os.geteuid())
        self._users = (users or UserPool()) if self.isolates_users else None
        self._jobs_dir = choose_jobs_dir(journal.state_dir, jobs_dir, isolates=self.isolates_users)
        self._jobs_dir_is_ours = jobs_dir is None
        self._checkpoints = Checkpoints(
            checkpoint_dir or self._jobs_dir / "checkpoints", journal_folder=journal.folder
        )
        self._shim = compiled_shim(journal.state_dir)
        self._watcher = Watcher(self._changed)
        self.on_change: OnChange = lambda key: None
        self.warnings = self._warnings()

    def reserve(self, assignment: Assignment) -> int | None:
        """A fresh uid where we may change users; root jobs are refused where we may not."""
        if self._users is not None:
            return self._users.take()
        if os.geteuid() == 0:
            raise RunnerError(sentence(ROOT_WITHOUT_RIGHTS))
        return None

    def start(self, record: Record) -> None:
        """Launch the supervisor; the exclusive `start` file proves that no task starts twice, whoever asks."""
        folder = self._journal.folder(record.key)
        if (folder / "start").exists() or (folder / "exit").exists() or record.key in self._live:
            self.adopt(record)
            return
        try:
            self._checkpoints.prepare(record)
            spec = self._spec(record, self._make_home(record)) | self._container_orders(record)
            write_private(folder / "spec", marshal.dumps(spec))
            self._launch(record, folder)
        except (OSError, ValueError) as error:
            raise RunnerError(f"cannot start: {error}") from error

    def adopt(self, record: Record) -> None:
        """Watch a task that an earlier agent started."""
        if record.uid is not None and self._users is not None:
            self._users.hold(record.uid)
        self._note_kind(record)
        live = self._live.setdefault(record.key, Live(adopted=True))
        if (
            live.process is None
            and self._find_supervisor(record, live)
            and live.pid
            and start_ticks(live.pid) == live.ticks
        ):
            self._watcher.watch_process(record.key, live.pid)

    def runs_containers(self) -> bool:
        """Whether jobs with an image can run here."""
        return self.containers.there

    def sweep(self, known: Collection[TaskKey]) -> None:
        """Work folders and containers of no known task are what a cut short removal or a lost record left."""
        self.containers.sweep(lambda task: (self._journal.tasks_dir / task).exists())
        kept = {self._home(key).name for key in known}
        for entry in list(os.scandir(self._jobs_dir)):
            if HOME_NAME.fullmatch(entry.name) and entry.name not in kept:
                owner = entry.stat(follow_symlinks=False).st_uid
                ours = self._users.is_free(owner) if self._users else self._jobs_dir_is_ours
                if ours:
                    remove_tree(Path(entry.path))

    def stop(self, record: Record) -> None:
        """Leave the wish on disk, then signal the supervisor once it is surely listening; else it reads the
        wish itself.
        """
        folder = self._journal.folder(record.key)
        with contextlib.suppress(OSError):  # on a full disk the signal alone must do
            write_private(folder / "stop", b"")
        live = self._live.get(record.key)
        if live is None or (live.process is None and live.pid is None and not (folder / "start").exists()):
            if not (folder / "exit").exists():
                self._conclude(
                    record, live or Live(adopted=True), ExitReason.STOPPED, "stopped before it was started"
                )
            self._changed(record.key)
            return
        listening = any((folder / name).exists() for name in ("started", "pull")) and self._find_supervisor(
            record, live
        )
        if listening and live.pid is not None and start_ticks(live.pid) == live.ticks:
            os.kill(live.pid, signal.SIGTERM)

    def checkpoint(self, record: Record, asked: int) -> None:
        """The signal or the command that the job named, as its user."""
        self._checkpoints.ask(record, asked, lambda timeout_s: self._act(record, timeout_s), self._changed)

    def progress(self, record: Record) -> Progress:
        """Never raises: one task's trouble must not keep the others from being reported."""
        try:
            self._seen[record.key] = self._progress(record)
        except Exception:
            logger.exception("placement %s could not be looked at", record.key.placement)
        return self._seen.get(record.key, Progress(phase=TaskPhase.PREPARING))

    def _progress(self, record: Record) -> Progress:
        """Read the task's files; a supervisor that died without a word means a lost process."""
        folder = self._journal.folder(record.key)
        live = self._live.get(record.key) or Live(adopted=True)
        if live.unwritten:
            self._write_down(record, live)
        outcome = live.outcome or read_exit(folder, record) or self._lost(record, live, folder)
        started = read_facts(folder / "started")
        log_bytes = size_of(folder / "log")
        use = self._memory.use(record.key)
        phase = self._phase(record, live, started=bool(started), ended=outcome is not None)
        if outcome is not None:
            live.outcome = self._explain(record, outcome)
        return Progress(
            phase=phase,
            started_at_ms=number(started.get("started_at_ms")),
            pid=number(started.get("pid")),
            cpus=tuple(int(cpu) for cpu in started.get("cpus", "").split(",") if cpu),
            adopted=live.adopted,
            outcome=live.outcome,
            log_bytes=log_bytes,
            memory_used_mib=use.memory_mib if use and outcome is None else None,
            cpu_used_milli=use.cpu_milli if use and outcome is None else None,
            pull=read_pull(folder) if record.assignment.image else None,
            checkpoint=self._checkpoints.state(record),
            asked=self._checkpoints.asked(record) if record.assignment.checkpoint else None,
            device_use=self._memory.device_use(record.key) if outcome is None else (),
            pressures=self._memory.pressures(record.key) if outcome is None else (),
            cpu_use=self._cores.use(record.key),
        )

    def measure(self) -> None:
        """One pass over /proc for all tasks."""
        running = {key: live.pid for key, live in self._live.items() if live.pid and not live.outcome}
        first = {key: pid for key in running if (pid := self._container_pid(key)) is not None}
        self._memory.measure({key: pid for key, pid in running.items() if key not in first}, first)
        self._cores.look({key: use.pids for key in running if (use := self._memory.use(key)) is not None})

    def guard(self, rules: GuardRules | None, devices: Mapping[str, DeviceMemory] | None) -> None:
        """See `Runner`."""
        self._memory.set(rules, devices)
        self._cores.see(devices)

    def log_path(self, record: Record) -> Path:
        """The log beside the record."""
        return self._journal.folder(record.key) / "log"

    def clear(self, record: Record) -> None:
        """A job that filled the disk gives the room back before anybody writes of its end."""
        remove_tree(self._home(record.key))

    def release(self, record: Record) -> None:
        """Remove the work folder before the uid can go to another job."""
        live = self._live.pop(record.key, None)
        self._contained.discard(record.key)
        self._checkpoints.forget(record.key)
        self._memory.forget(record.key)
        self._cores.forget(record.key)
        self._seen.pop(record.key, None)
        if live is not None and live.process is not None:
            live.process.poll()
        remove_tree(self._home(record.key))
        if self._groups is not None:
            self._groups.remove(record.key.folder)
        if record.uid is not None and self._users is not None:
            sweep_shared_folders(record.uid)
            remove_objects_of(record.uid)
            self._users.give_back(record.uid)

    def folders(self) -> list[Path]:
        """Where jobs write."""
        return [self._jobs_dir, self._checkpoints.root]

    def kept_jobs(self) -> list[int]:
        """See `Runner`."""
        return self._checkpoints.kept_jobs()

    def prune(self, jobs: Collection[int]) -> None:
        """See `Runner`."""
        self._checkpoints.prune(jobs)

    def close(self) -> None:
        """Jobs go on; the next agent adopts them."""
        self._checkpoints.close()
        self._memory.close()
        self._watcher.close()

    def _changed(self, key: TaskKey) -> None:
        live = self._live.get(key)
        if live is not None and live.process is not None:
            live.process.poll()
        self.on_change(key)

    def _warnings(self) -> tuple[Notice, ...]:
        found = [notice("cores-not-enforced")]
        if not self.isolates_users:
            found.append(ROOT_WITHOUT_RIGHTS if os.geteuid() == 0 else notice("same-user"))
        if self._groups is None:
            found.append(notice("memory-not-enforced"))
        return tuple(found)

    def _home(self, key: TaskKey) -> Path:
        return self._jobs_dir / f"{key.placement}-{key.fence}"

    def _make_home(self, record: Record) -> Path:
        home = self._home(record.key)
        remove_tree(home)
        for folder in (home, home / "tmp"):
            folder.mkdir(mode=0o700)
            if record.uid is not None:
                os.chown(folder, record.uid, record.uid)
        return home

    def _spec(self, record: Record, home: Path) -> dict[str, object]:
        assignment = record.assignment
        if not assignment.command or not assignment.command[0]:
            raise ValueError("the job has no command")
        name = record.key.folder
        return {
            "command": list(assignment.command),
            "env": job_environment(assignment, home=str(home)) | self._checkpoints.environment(record),
            "home": str(home),
            "working_dir": assignment.working_dir,
            "cpus": sorted({*assignment.cpus, *assignment.loader_cpus}),
            "uid": record.uid,
            "grace_s": max(0, assignment.grace_s),
            "time_limit_s": assignment.time_limit_s,
            "log_limit_bytes": LOG_LIMIT_BYTES,
            "nofile": NOFILE,
            "nproc": self._max_processes if record.uid is not None else None,
            "cgroup_procs": self._join(name, assignment),
        }

    def _container_orders(self, record: Record) -> dict[str, object]:
        if not record.assignment.image:
            return {}
        return self.containers.orders(
            record,
            folder=self._journal.folder(record.key),
            home=self._home(record.key),
            checkpoints=self._checkpoints,
        )

    def _act(self, record: Record, timeout_s: int) -> bool | None:
        """Ask for a checkpoint: True when it is confirmed already, None when its file will tell."""
        way, folder, home = (
            record.assignment.checkpoint,
            self._journal.folder(record.key),
            self._home(record.key),
        )
        assert way is not None
        if record.assignment.image:
            return self.containers.checkpoint(record.key, way)
        if not way.command:
            signal_first(read_facts(folder / "started"), way.signal)
            return None
        orders = {"command": way.command, "home": str(home / "tmp"), "time_limit_s": timeout_s, "grace_s": 1}
        orders["working_dir"] = record.assignment.working_dir or str(home)
        return run_beside(
            self._shim, folder / "asking", self._spec(record, home) | orders, patience_s=timeout_s + 30
        )

    def _join(self, name: str, assignment: Assignment) -> list[str]:
        """A container's memory is limited by its engine."""
        if self._groups is None or assignment.image:
            return []
        return self._groups.create(name, assignment.memory_mib)

    def _container_pid(self, key: TaskKey) -> int | None:
        """The first process of a running container; None for other tasks."""
        if key not in self._contained:
            return None
        return number(read_facts(self._journal.folder(key) / "started").get("pid"))

    def _launch(self, record: Record, folder: Path) -> None:
        self._note_kind(record)
        listen, notify = os.pipe()
        lock = self._users.lock_fd(record.uid) if self._users and record.uid is not None else None
        errors = os.open(
            folder / "supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", self._program(record), str(folder), str(notify)],
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                pass_fds=[fd for fd in (notify, lock) if fd is not None],
                start_new_session=True,
                cwd="/",
                env={"LC_ALL": "C.UTF-8"},
            )
        except OSError:
            os.close(listen)
            raise
        finally:
            os.close(notify)
            os.close(errors)
        ticks = start_ticks(process.pid)
        self._live[record.key] = Live(adopted=False, process=process, pid=process.pid, ticks=ticks)
        self._watcher.watch_start(record.key, listen)
        self._watcher.watch_process(record.key, process.pid)

    def _pressed(self, key: TaskKey) -> None:
        self.on_change(key)

    def _note_kind(self, record: Record) -> None:
        self._memory.follow(record)
        self._cores.follow(record)
        if record.assignment.image:
            self._contained.add(record.key)

    def _program(self, record: Record) -> str:
        if not record.assignment.image:
            return self._shim
        return str(Path(self._shim).with_stem(CONTAINER_SHIM.stem))

    def _find_supervisor(self, record: Record, live: Live) -> bool:
        """Learn the supervisor from its start record; another boot's pids mean nothing."""
        facts = read_facts(self._journal.folder(record.key) / "start")
        pid, ticks = number(facts.get("pid")), number(facts.get("start_ticks"))
        if facts.get("boot_id") != self._boot_id or not pid or not ticks:
            return False
        live.pid, live.ticks = pid, ticks
        return True

    def _phase(self, record: Record, live: Live, *, started: bool, ended: bool) -> TaskPhase | None:
        if ended:
            return TaskPhase.ENDED
        if record.stop_wanted:
            return TaskPhase.STOPPING
        if started:
            return TaskPhase.RUNNING
        known = live.process is not None or (self._journal.folder(record.key) / "start").exists()
        return TaskPhase.PREPARING if known else None

    def _lost(self, record: Record, live: Live, folder: Path) -> Outcome | None:
        """The supervisor is gone without an exit file: make sure the job is gone, too, and say so for good."""
        if not (folder / "start").exists():
            if live.process is None or live.process.poll() is None:
                return None
            reason, message = (
                ExitReason.START_FAILED,
                "the job's supervisor did not start: " + tail(folder / "supervisor.log"),
            )
        else:
            self._find_supervisor(record, live)
            if (live.pid is not None and start_ticks(live.pid) == live.ticks) or is_fresh_claim(
                folder / "start"
            ):
                return None
            same_boot = read_facts(folder / "start").get("boot_id") in (self._boot_id, None)
            reason = ExitReason.LOST_PROCESS
            message = "its supervisor was killed" if same_boot else "the machine was restarted"
            if record.assignment.image:
                self.containers.remove(record.key)
            if same_boot:
                kill_leftovers(folder, record)
        ended = read_exit(folder, record)  # it may have written its last word between our two looks
        return ended or self._conclude(record, live, reason, message)

    def _conclude(self, record: Record, live: Live, reason: ExitReason, message: str) -> Outcome:
        """Say how a task ended in its supervisor's stead; known from now on, written down as soon as the disk
        takes it.
        """
        folder = self._journal.folder(record.key)
        outcome = Outcome(
            reason=reason,
            ended_at_ms=time.time_ns() // 1_000_000,
            message=message,
            log_bytes=size_of(folder / "log"),
            started_at_ms=number(read_facts(folder / "started").get("started_at_ms")),
        )
        live.outcome, live.unwritten = outcome, True
        self._live[record.key] = live
        self._write_down(record, live)
        return outcome

    def _write_down(self, record: Record, live: Live) -> None:
        outcome = live.outcome
        if outcome is None:
            return
        folder = self._journal.folder(record.key)
        try:
            write_exit(folder, outcome.reason, outcome.message, ended_at_ms=outcome.ended_at_ms)
        except OSError as error:
            logger.warning("the end of placement %s is not on disk yet: %s", record.key.placement, error)
        else:
            live.unwritten = False

    def _explain(self, record: Record, outcome: Outcome) -> Outcome:
        killed = self._groups is not None and self._groups.killed_for_memory(record.key.folder)
        if not killed or outcome.message:
            return outcome
        limit = record.assignment.memory_mib
        failed = outcome.reason in (ExitReason.SIGNALLED, ExitReason.EXITED) and outcome.exit_code != 0
        return msgspec.structs.replace(
            outcome,
            reason=ExitReason.MEMORY_LIMIT if failed else outcome.reason,
            message=f"the kernel killed it at its memory limit of {limit} MiB",
        )

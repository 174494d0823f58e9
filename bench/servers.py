"""Headrace in its production shape for a benchmark: PostgreSQL, Valkey, granian (WSGI), workers and beat, all real."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from bench.instance import BIN, CLONE, clean_environment, wait_until
from controlplane.embedded.plan import Address, beat, child, child_environment, worker
from controlplane.embedded.postgres import Postgres
from controlplane.embedded.processes import ChildSpec, end_session, mark_of, start_child
from controlplane.embedded.state import StateFolder
from controlplane.embedded.valkey import Valkey, free_port

START_S = 180.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20
# A server of 10,000 nodes is given some memory; the rest is as PostgreSQL comes.
DATABASE_SETTINGS = {"shared_buffers": "512MB", "max_wal_size": "4GB", "max_connections": "120"}


@dataclass
class Servers:
    """What runs, by name, each with the processes of its session."""

    state: StateFolder
    address: Address
    database_url: str
    redis_url: str
    env: dict[str, str]
    stack: ExitStack
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.address.url

    def start(self, spec: ChildSpec) -> subprocess.Popen[bytes]:
        """One more process, which ends with all."""
        process = self.processes[spec.name] = start_child(spec)
        mark = mark_of(process.pid, stop_signal=spec.stop_signal)
        if mark is not None:
            self.stack.callback(end_session, mark, grace_s=20.0)
        return process

    def cpu_s(self) -> dict[str, float]:
        """Processor time so far of each server with all its processes; those that ended meanwhile do not count."""
        return {name: sum(map(_cpu_s, self._pids(name))) for name in self.processes}

    def memory_mib(self) -> dict[str, int]:
        """Resident memory without what its processes share with others (PSS), per server."""
        return {name: round(sum(map(_pss_mib, self._pids(name)))) for name in self.processes}

    def _pids(self, name: str) -> list[int]:
        return _with_children(self.processes[name].pid)

    def manage(self, *arguments: str) -> None:
        """Runs a management command to its end; RuntimeError with its last words when it fails."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=CLONE, env=self.env, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-3000:])


def _with_children(pid: int) -> list[int]:
    """A process and all its descendants; PostgreSQL's are sessions of their own."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(child) for one in threads for child in (one / "children").read_text().split()]
    except OSError:
        return []
    return [pid, *(one for child in children for one in _with_children(child))]


def _cpu_s(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0
    fields = text[text.rindex(")") + 2 :].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def _pss_mib(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


@contextmanager
def servers(*, web_workers: int = 0, threads: int = 4, with_workers: bool = False) -> Iterator[Servers]:
    """Databases with schema and first rows, then web processes, and workers if asked; all is deleted at the end.
    More can be started later, once there are rows to serve.
    """
    with ExitStack() as stack:
        state = StateFolder(Path(tempfile.mkdtemp(prefix="headrace-bench-")))
        stack.callback(shutil.rmtree, state.root, ignore_errors=True)
        state.root.chmod(0o711)
        state.ensure()
        state.secret(state.secret_key)
        postgres, valkey = Postgres(state, settings=DATABASE_SETTINGS), Valkey(state, port=free_port())
        address = Address(host="127.0.0.1", port=free_port())
        env = child_environment(
            state=state,
            address=address,
            database_url=postgres.url(),
            redis_url=valkey.url(),
            environ=_environment(),
        )
        found = Servers(state, address, postgres.url(), valkey.url(), env, stack)
        postgres.wait_ready(found.start(postgres.spec()))
        valkey.wait_ready(found.start(valkey.spec()))
        found.manage("bootstrap", "--migrate")
        try:
            if web_workers:
                start_web(found, workers=web_workers, threads=threads)
            if with_workers:
                start_workers(found)
            yield found
        except BaseException:
            for log in sorted(state.logs.glob("*.log")):
                sys.stderr.write(f"== {log.name}\n{log.read_text(errors='replace')[-2000:]}\n")
            raise


def start_web(found: Servers, *, workers: int, threads: int) -> None:
    """Returns once it answers."""
    found.start(web(found, workers=workers, threads=threads))
    wait_until(lambda: _ready(found), within_s=START_S, what="the web processes")


def start_workers(found: Servers) -> None:
    """The worker for telemetry and probes, and the beat."""
    upkeep = worker("upkeep,remote,replay", "--concurrency", "2")
    found.start(child("worker-upkeep", upkeep, state=found.state, env=found.env))
    found.start(child("beat", beat(found.state), state=found.state, env=found.env))


def web(found: Servers, *, workers: int, threads: int) -> ChildSpec:
    """As docker-compose.yml starts it."""
    listen = ("--host", found.address.host, "--port", str(found.address.port))
    size = ("--workers", str(workers), "--blocking-threads", str(threads))
    command = (
        "granian",
        "--interface",
        "wsgi",
        *listen,
        *size,
        "--log-level",
        "warning",
        "controlplane.wsgi:application",
    )
    return child("web", command, state=found.state, env=found.env)


def _ready(found: Servers) -> bool:
    try:
        return httpx.get(f"{found.url}/readyz", timeout=2.0, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def _environment() -> Mapping[str, str]:
    return {**clean_environment(), "PATH": f"{BIN}:{os.environ.get('PATH', '')}"}

"""The whole product for a benchmark or a test: `manage.py up` on a free port, its state thrown away afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg

from client import Client
from client.errors import ClientError
from client.follow import FINAL
from controlplane.embedded.postgres import Postgres
from controlplane.embedded.processes import leash
from controlplane.embedded.state import StateFolder

CLONE = Path(__file__).resolve().parents[1]
BIN = Path(sys.prefix) / "bin"
START_S = 120.0
STOP_S = 60.0
# What the caller set for a server of its own must not lead this one astray.
FOREIGN = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "HEADRACE_")


@dataclass
class Instance:
    """A running instance: its address, state folder and a signed-in client of its first admin."""

    url: str
    state: Path
    client: Client
    settings: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        """Start and wait until it serves and this machine is a ready node."""
        port = self.url.rsplit(":", 1)[1]
        own = {"HEADRACE_STATE": str(self.state), "HEADRACE_PORT": port, **self.settings}
        with (self.state / "up.log").open("ab") as log:
            self.process = subprocess.Popen(
                # Whoever kills us ends the instance, too.
                [*leash(signal.SIGINT), sys.executable, "-m", "controlplane.embedded"],
                cwd=CLONE,
                env=clean_environment() | own,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(self._up_or_dead, within_s=START_S, what="the instance to start")
        if self.process.poll() is not None:
            raise RuntimeError(f"the start ended with exit status {self.process.returncode}")

    def sign_in(self) -> None:
        """Get the client a token of the first admin, then wait for this machine's node."""
        password = (self.state / "admin.password").read_text().strip()
        self.client.sign_in(username="admin", password=password, token_name="bench")
        wait_until(self.node_ready, within_s=START_S, what="this machine's node")

    def stop(self) -> None:
        """As Ctrl-C does; jobs go on."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(STOP_S)

    def end_jobs(self) -> None:
        """Cancel what waits or runs, since jobs outlive a stop; those of simulated nodes are no processes."""
        live = [job["id"] for job in self.client.jobs(limit=2000) if job["status"] not in FINAL]
        for job in live:
            # It may have ended meanwhile.
            with suppress(ClientError):
                self.client.cancel(job)
        real = [row["id"] for row in self.client.nodes() if not row["simulated"]]
        wait_until(
            lambda: not any(self._holds(job, real) for job in live), within_s=STOP_S, what="jobs to end"
        )

    def _holds(self, job: int, nodes: list[int]) -> bool:
        rows = self.client.placements(job)
        return any(row["ended_at"] is None and row["node"]["id"] in nodes for row in rows)

    def pid_of(self, child: str) -> int | None:
        """Process id of one child as the launcher last noted it, None while it is being restarted."""
        try:
            return int(json.loads((self.state / "run" / f"{child}.json").read_text())["pid"])
        except (OSError, ValueError, KeyError):
            return None

    def ready(self) -> bool:
        """Whether web, database and Valkey answer."""
        answer = self._get("/readyz")
        return answer is not None and answer.status_code == 200 and answer.json()["status"] == "ok"

    def web_answers(self) -> bool:
        """Whether the web process answers, whatever it lacks."""
        return self._get("/healthz") is not None

    def postgres_answers(self) -> bool:
        """Whether the database can be used."""
        try:
            with psycopg.connect(Postgres(StateFolder(self.state)).url(), connect_timeout=2) as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def node_ready(self) -> bool:
        """Whether this machine's node takes jobs."""
        try:
            return any(node["state"] == "ready" and not node["simulated"] for node in self.client.nodes())
        except ClientError:
            return False

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """Within, nobody restarts what dies."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def said(self) -> str:
        """The last words of launcher and children, for a failure's report."""
        logs = [self.state / "up.log", *sorted((self.state / "logs").glob("*.log"))]
        return "\n".join(f"== {log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in logs)

    def _get(self, path: str) -> httpx.Response | None:
        try:
            return httpx.get(self.url + path, timeout=2.0, trust_env=False)
        except httpx.TransportError:
            return None

    def _up_or_dead(self) -> bool:
        return self.process.poll() is not None or self.ready()


@contextmanager
def own_instance(settings: Mapping[str, str] | None = None) -> Iterator[Instance]:
    """Start with these settings, sign in, wait for this machine's node; stop and delete everything at the end."""
    state = Path(tempfile.mkdtemp(prefix="headrace-bench-"))
    # Jobs run as accounts of their own and pass through this folder.
    state.chmod(0o711)
    url = f"http://127.0.0.1:{_free_port()}"
    instance = Instance(url=url, state=state, client=Client(url=url, token="none"), settings=settings or {})
    try:
        instance.start()
        instance.sign_in()
        yield instance
    except BaseException:
        sys.stderr.write(instance.said())
        raise
    finally:
        with suppress(ClientError, TimeoutError):
            instance.end_jobs()
        instance.client.close()
        with suppress(AttributeError, subprocess.TimeoutExpired):
            instance.stop()
        shutil.rmtree(state, ignore_errors=True)


def clean_environment() -> dict[str, str]:
    """Ours without settings of other servers."""
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}


def wait_until(condition: Callable[[], object], *, within_s: float, what: str) -> float:
    """Poll until the condition holds; returns the seconds it took, raises TimeoutError."""
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > within_s:
            raise TimeoutError(f"waited {within_s:.0f} s for {what}")
        time.sleep(0.05)
    return time.monotonic() - started


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

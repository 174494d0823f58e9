"""The order of a start: lock, leftovers, port, databases, schema, first rows, servers, agent; and of the stop."""

import fcntl
import os
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controlplane.embedded import schema
from controlplane.embedded.errors import EmbeddedError
from controlplane.embedded.local_agent import write_agent_config
from controlplane.embedded.plan import (
    Address,
    agent_child,
    child_environment,
    demo_children,
    web_child,
    worker_children,
)
from controlplane.embedded.ports import require_free
from controlplane.embedded.postgres import Postgres
from controlplane.embedded.processes import tail, wait_until
from controlplane.embedded.state import CLONE, StateFolder, write_private
from controlplane.embedded.supervisor import Supervisor
from controlplane.embedded.valkey import Valkey, free_port

READY_TIMEOUT_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Start:
    """One `manage.py up`, from the first check to the last child's end."""

    state: StateFolder
    address: Address
    say: Callable[[str], None]

    def run(self, *, demo: bool, with_agent: bool) -> None:
        self.state.ensure()
        with only_one(self.state):
            supervisor = Supervisor(marks=self.state.run, say=self.say)
            supervisor.end_leftovers()
            require_free(self.address.host, self.address.port)
            with supervisor.stopping_on_signals():
                try:
                    self._bring_up(supervisor, demo=demo, with_agent=with_agent)
                    supervisor.watch()
                finally:
                    self.say(
                        "Stopping; jobs that run stay with their agent and are adopted at the next start ..."
                    )
                    supervisor.stop_all()
                    self.say("Stopped.")

    def _bring_up(self, supervisor: Supervisor, *, demo: bool, with_agent: bool) -> None:
        first = not self.state.admin_password.exists()
        env = self._start_databases(supervisor)
        steps: list[Callable[[], None]] = [
            lambda: self._prepare_and_serve(supervisor, env, demo=demo),
        ]
        if with_agent:
            steps.append(lambda: self._start_agent(supervisor))
        if demo:
            steps.append(lambda: self._start_demo(supervisor, env))
        for each in steps:
            if supervisor.stop_requested:
                return
            each()
        self._greet(first=first and self.state.admin_password.exists())

    def _start_databases(self, supervisor: Supervisor) -> dict[str, str]:
        self.state.secret(self.state.secret_key)
        env = child_environment(
            state=self.state,
            address=self.address,
            database_url=os.environ.get("DATABASE_URL") or self._start_postgres(supervisor),
            redis_url=os.environ.get("REDIS_URL") or self._start_valkey(supervisor),
        )
        write_environment(self.state, env)
        return env

    def _start_postgres(self, supervisor: Supervisor) -> str:
        self.say("  .. PostgreSQL")
        server = Postgres(self.state)
        server.wait_ready(supervisor.start(server.spec()))
        return server.url()

    def _start_valkey(self, supervisor: Supervisor) -> str:
        self.say("  .. Valkey")
        server = Valkey(self.state, port=free_port())
        server.wait_ready(supervisor.start(server.spec()))
        return server.url()

    def _prepare_and_serve(self, supervisor: Supervisor, env: Mapping[str, str], *, demo: bool) -> None:
        """A known schema lets web load while the first rows are looked at; a new one has to be there first."""
        data = Postgres(self.state).data
        extra = ("--demo",) if demo else ()
        if not os.environ.get("DATABASE_URL") and schema.is_current(self.state, data):
            rows = self._bootstrap(env, *extra)
            self._start_servers(supervisor, env)
            return self._finish(rows)
        self.say("  .. database schema and first rows")
        self._finish(self._bootstrap(env, "--migrate", *extra))
        if data.exists():
            schema.mark_current(self.state, data)
        return self._start_servers(supervisor, env)

    def _bootstrap(self, env: Mapping[str, str], *options: str) -> subprocess.Popen[bytes]:
        # A session of its own: Ctrl-C must not tear a migration in two.
        with self._bootstrap_log.open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "manage.py", "bootstrap", *options],
                cwd=CLONE,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _finish(self, bootstrap: subprocess.Popen[bytes]) -> None:
        if bootstrap.wait() != 0:
            words = tail(self._bootstrap_log, lines=25)
            raise EmbeddedError(
                f"manage.py bootstrap failed; its last words ({self._bootstrap_log}):\n{words}"
            )

    @property
    def _bootstrap_log(self) -> Path:
        return self.state.logs / "bootstrap.log"

    def _start_servers(self, supervisor: Supervisor, env: Mapping[str, str]) -> None:
        """All load at once: who is told that Headrace is up may submit, and a job waits for the worker."""
        self.say("  .. web, workers and beat")
        web = supervisor.start(web_child(self.state, self.address, env))
        for spec in worker_children(self.state, env):
            supervisor.start(spec)
        wait_until(
            lambda: supervisor.stop_requested or web.poll() is not None or answers(self.address.ready_url),
            timeout_s=READY_TIMEOUT_S,
            poll_s=0.1,
        )
        if not supervisor.stop_requested and not answers(self.address.ready_url):
            log = self.state.logs / "web.log"
            raise EmbeddedError(
                f"the web process does not become ready; its last words ({log}):\n{tail(log)}"
            )

    def _start_agent(self, supervisor: Supervisor) -> None:
        self.say("  .. agent of this machine")
        supervisor.start(agent_child(self.state, write_agent_config(self.state, self.address)))

    def _start_demo(self, supervisor: Supervisor, env: Mapping[str, str]) -> None:
        self.say("  .. simulated cluster")
        for spec in demo_children(self.state, self.address, env):
            supervisor.start(spec)

    def _greet(self, *, first: bool) -> None:
        self.say(f"\nHeadrace is up:  {self.address.url}")
        if first:
            # Shown once; later starts only say where it is.
            self.say(f"Sign in as admin with the password {self.state.admin_password.read_text().strip()}")
        if self.state.admin_password.exists():
            self.say(f"The first password of admin is kept in {self.state.admin_password}")
        self.say(f"Logs: {self.state.logs}   Stop: Ctrl-C\n")


@contextmanager
def only_one(state: StateFolder) -> Iterator[None]:
    """Two supervisors on one state folder would end each other's children. The lock dies with its holder."""
    path = state.run / "up.lock"
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise EmbeddedError(
                f"Headrace already runs from {state.root} (process {file.read().strip() or 'unknown'}).\n"
                "Fix: stop it with Ctrl-C in its terminal, or set HEADRACE_STATE and HEADRACE_PORT for a second one"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def write_environment(state: StateFolder, env: Mapping[str, str]) -> None:
    """For commands beside a running `make run`: `set -a; . STATE/environment; set +a; python manage.py ...`."""
    own = sorted(
        name for name in env if name in ("DATABASE_URL", "REDIS_URL") or name.startswith("HEADRACE_")
    )
    write_private(state.root / "environment", "".join(f"{name}={shlex.quote(env[name])}\n" for name in own))


def answers(url: str) -> bool:
    # No proxy of the environment may stand between us and our own port.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False

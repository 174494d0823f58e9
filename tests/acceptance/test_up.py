"""`manage.py up` as people meet it: it starts, survives what kills it, and says what is wrong."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg
import pytest

from controlplane.embedded.postgres import Postgres
from controlplane.embedded.processes import facts_of
from controlplane.embedded.start import answers
from controlplane.embedded.state import StateFolder
from controlplane.embedded.valkey import free_port
from tests.waiting import eventually
from tools.console import ROOT

pytestmark = pytest.mark.acceptance

START_S = 90.0


@dataclass
class Instance:
    """One start of `manage.py up` in a state folder that later starts share."""

    state: StateFolder
    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def output(self) -> str:
        return (self.state.root / "up.out").read_text()

    def pid_of(self, name: str) -> int:
        return int(json.loads((self.state.run / f"{name}.json").read_text())["pid"])

    def wait_up(self) -> None:
        eventually(
            lambda: self.process.poll() is not None or "Headrace is up" in self.output,
            within_s=START_S,
            what=lambda: self.output,
        )
        assert self.process.poll() is None, self.output

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(timeout=60) == 0, self.output


def environment(state: StateFolder, port: int) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")
    }
    return {**kept, "HEADRACE_STATE": str(state.root), "HEADRACE_PORT": str(port)}


@contextmanager
def up(state: StateFolder, port: int, *options: str) -> Iterator[Instance]:
    state.ensure()
    with (state.root / "up.out").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up", *options],
            cwd=ROOT,
            env=environment(state, port),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    instance = Instance(state=state, port=port, process=process)
    try:
        yield instance
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)


@pytest.fixture
def fresh_state() -> Iterator[StateFolder]:
    with temporary_state() as state:
        yield state


@pytest.fixture(scope="module")
def state() -> Iterator[StateFolder]:
    with temporary_state() as state:
        yield state


@contextmanager
def temporary_state() -> Iterator[StateFolder]:
    # Not pytest's folder: as root the database's account has to pass through.
    with tempfile.TemporaryDirectory(prefix="hr-up-") as folder:
        Path(folder).chmod(0o711)
        yield StateFolder(Path(folder) / "state")


def restarted(instance: Instance, name: str, before: int) -> bool:
    return instance.pid_of(name) != before


def alive(pid: int) -> bool:
    facts = facts_of(pid)
    return facts is not None and facts.alive


def test_first_start_serves_and_the_second_has_all_data(fresh_state: StateFolder) -> None:
    first_start(fresh_state)
    second_start(fresh_state)


def first_start(state: StateFolder) -> None:
    """It serves, tells the password once, and leaves nobody behind."""
    with up(state, free_port()) as instance:
        instance.wait_up()
        password = state.admin_password.read_text().strip()
        assert password in instance.output
        assert answers(f"{instance.url}/readyz")
        with urllib.request.urlopen(f"{instance.url}/healthz", timeout=5) as response:
            assert response.status == 200
        children = [instance.pid_of(path.stem) for path in state.run.glob("*.json")]
        assert len(children) == 8
        instance.stop()
    assert not [pid for pid in children if alive(pid)]
    assert password not in "".join(path.read_text(errors="replace") for path in state.logs.iterdir())


def second_start(state: StateFolder) -> None:
    """Nothing is lost, nothing made twice; how quick it is, `bench` measures."""
    with up(state, free_port()) as instance:
        instance.wait_up()
        assert "with the password" not in instance.output
        with psycopg.connect(Postgres(state).url()) as connection:
            assert connection.execute("SELECT count(*) FROM base_cluster").fetchone() == (1,)
            assert connection.execute("SELECT username FROM accounts_user").fetchall() == [("admin",)]


def test_this_machine_becomes_a_ready_node(state: StateFolder) -> None:
    with up(state, free_port()) as instance:
        instance.wait_up()
        with psycopg.connect(Postgres(state).url(), autocommit=True) as connection:

            def ready() -> bool:
                return connection.execute(
                    "SELECT name FROM inventory_node WHERE state = 'ready'"
                ).fetchall() == [(socket.gethostname(),)]

            eventually(ready, within_s=40, what=(state.logs / "agent.log").read_text)


def test_dead_children_come_back(state: StateFolder) -> None:
    with up(state, free_port()) as instance:
        instance.wait_up()
        for name in ("postgres", "valkey", "web", "worker-cycle"):
            before = instance.pid_of(name)
            os.kill(before, signal.SIGKILL)
            eventually(partial(restarted, instance, name, before), within_s=20, what=name)
            assert f"{name} was ended by SIGKILL" in instance.output
        eventually(lambda: answers(f"{instance.url}/readyz"), within_s=30)


def test_a_killed_supervisor_leaves_a_state_that_starts_again(state: StateFolder) -> None:
    port = free_port()
    with up(state, port) as instance:
        instance.wait_up()
        web = instance.pid_of("web")
        os.kill(instance.process.pid, signal.SIGKILL)
        instance.process.wait()
    with up(state, port) as instance:
        instance.wait_up()
        assert answers(f"{instance.url}/readyz")
        assert not alive(web) or instance.pid_of("web") != web


def test_a_second_one_on_the_same_state_is_refused(state: StateFolder) -> None:
    with up(state, free_port()) as instance:
        instance.wait_up()
        done = subprocess.run(
            [sys.executable, "manage.py", "up"],
            cwd=ROOT,
            env=environment(state, free_port()),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert f"already runs from {state.root} (process {instance.process.pid})" in done.stderr
        assert answers(f"{instance.url}/readyz")


def test_a_port_in_use_is_named(state: StateFolder) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with up(state, port) as instance:
            assert instance.process.wait(timeout=30) == 1
            assert re.search(rf"port {port} is in use by process {os.getpid()} ", instance.output)

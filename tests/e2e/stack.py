"""A running Headrace for the browser: started here in a folder of its own, or one that is named in the environment."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controlplane.embedded.state import StateFolder
from controlplane.embedded.valkey import free_port
from tests.waiting import eventually
from tools.console import ROOT
from tools.frontend import DIST, ensure_console

START_S = 120.0
STOP_S = 60.0
NOT_PASSED_ON = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")


@dataclass(frozen=True)
class Stack:
    """Where the console is and who may sign in."""

    url: str
    username: str
    password: str


@contextmanager
def running_stack() -> Iterator[Stack]:
    """The server that HEADRACE_TEST_E2E_URL, _USERNAME and _PASSWORD name, else a fresh one with one agent."""
    named = os.environ.get("HEADRACE_TEST_E2E_URL")
    if named:
        username = os.environ.get("HEADRACE_TEST_E2E_USERNAME", "admin")
        yield Stack(
            url=named.rstrip("/"), username=username, password=os.environ["HEADRACE_TEST_E2E_PASSWORD"]
        )
        return
    if not (DIST / "index.html").exists():
        ensure_console()
    # Not pytest's folder: as root the database's account has to pass through.
    with tempfile.TemporaryDirectory(prefix="hr-e2e-") as folder:
        Path(folder).chmod(0o711)
        with started(StateFolder(Path(folder) / "state"), free_port()) as stack:
            yield stack


@contextmanager
def started(state: StateFolder, port: int) -> Iterator[Stack]:
    """`manage.py up` until the block ends."""
    state.ensure()
    output = state.root / "up.out"
    kept = {name: value for name, value in os.environ.items() if name not in NOT_PASSED_ON}
    with output.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up"],
            cwd=ROOT,
            env={**kept, "HEADRACE_STATE": str(state.root), "HEADRACE_PORT": str(port)},
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        eventually(
            lambda: process.poll() is not None or "Headrace is up" in output.read_text(),
            within_s=START_S,
            what=output.read_text,
        )
        assert process.poll() is None, output.read_text()
        password = state.admin_password.read_text().strip()
        yield Stack(url=f"http://127.0.0.1:{port}", username="admin", password=password)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=STOP_S)

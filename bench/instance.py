"""The whole product for one benchmark: `manage.py up` on a free port, its state thrown away afterwards."""

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from client import Client
from client.errors import ClientError

CLONE = Path(__file__).resolve().parents[1]
START_S = 120.0
STOP_S = 60.0


@dataclass(frozen=True)
class Instance:
    """A running instance: its address, state folder and a signed-in client of its first admin."""

    url: str
    state: Path
    client: Client

    def pid_of(self, child: str) -> int | None:
        """Process id of one child as the launcher last noted it, None while it is being restarted."""
        try:
            return int(json.loads((self.state / "run" / f"{child}.json").read_text())["pid"])
        except (OSError, ValueError, KeyError):
            return None

    def ready(self) -> bool:
        """Whether web, database and Valkey answer."""
        try:
            return httpx.get(f"{self.url}/readyz", timeout=2.0).status_code == 200
        except httpx.TransportError:
            return False


@contextmanager
def own_instance() -> Iterator[Instance]:
    """Start, sign in, wait for this machine's node; stop and delete everything at the end."""
    state = Path(tempfile.mkdtemp(prefix="headrace-bench-"))
    # Jobs run as accounts of their own and pass through this folder.
    state.chmod(0o711)
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "HEADRACE_STATE": str(state), "HEADRACE_PORT": str(port)}
    with (state / "up.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up"],
            cwd=CLONE,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield _signed_in(url, state, process)
    except BaseException:
        sys.stderr.write((state / "up.log").read_text(errors="replace")[-4000:])
        raise
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(STOP_S)
        shutil.rmtree(state, ignore_errors=True)


def _signed_in(url: str, state: Path, process: subprocess.Popen[bytes]) -> Instance:
    client = Client(url=url, token="none")
    instance = Instance(url=url, state=state, client=client)
    wait_until(
        lambda: instance.ready() or process.poll() is not None, within_s=START_S, what="the instance to start"
    )
    if process.poll() is not None:
        raise RuntimeError(f"manage.py up ended with {process.returncode}")
    password = (state / "admin.password").read_text().strip()
    client.sign_in(username="admin", password=password, token_name="bench")
    wait_until(lambda: _node_ready(client), within_s=START_S, what="this machine's node")
    return instance


def _node_ready(client: Client) -> bool:
    try:
        return any(node["state"] == "ready" for node in client.nodes())
    except ClientError:
        return False


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

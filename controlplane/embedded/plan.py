"""What `manage.py up` runs: the environment of the children and their command lines."""

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from controlplane.embedded.errors import EmbeddedError
from controlplane.embedded.processes import ChildSpec
from controlplane.embedded.state import CLONE, StateFolder

BIN = Path(sys.prefix) / "bin"
APP = "controlplane.celery"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
DEFAULT_PORT = 8000
# A look over SSH waits nearly all of its time; ticks overlap where a node takes longer than one lasts. One more fetches
# images, which lasts, and one finds that this is so.
REMOTE = ("--pool", "threads", "--concurrency", "6")
# Settings of the agent that people may give by environment; see docs/operations.md.
AGENT_SETTINGS = "HEADRACE_AGENT_"


@dataclass(frozen=True)
class Address:
    """Where the web process listens and how people reach it."""

    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.reachable_host}:{self.port}"

    @property
    def ready_url(self) -> str:
        return f"{self.url}/readyz"

    @property
    def reachable_host(self) -> str:
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"[{host}]" if ":" in host else host


def find_address(environ: Mapping[str, str] = os.environ) -> Address:
    text = environ.get("HEADRACE_PORT") or str(DEFAULT_PORT)
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise EmbeddedError(f"HEADRACE_PORT is {text!r}.\nFix: a number from 1 to 65535")
    return Address(host=environ.get("HEADRACE_HOST") or "127.0.0.1", port=int(text))


def child_environment(
    *,
    state: StateFolder,
    address: Address,
    database_url: str,
    redis_url: str,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """All that our own processes learn; what the caller set for itself wins where that is safe."""
    hosts = [
        *LOOPBACK,
        socket.gethostname(),
        address.reachable_host,
        environ.get("HEADRACE_ALLOWED_HOSTS", ""),
    ]
    return {
        **environ,
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "HEADRACE_STATE": str(state.root),
        "HEADRACE_SECRET_KEY_FILE": str(state.secret_key),
        "HEADRACE_ALLOWED_HOSTS": ",".join(dict.fromkeys(filter(None, hosts))),
        "HEADRACE_ORIGIN": environ.get("HEADRACE_ORIGIN") or address.url,
        "DJANGO_SETTINGS_MODULE": environ.get("DJANGO_SETTINGS_MODULE") or "controlplane.settings",
        "PYTHONUNBUFFERED": "1",
    }


def web_child(state: StateFolder, address: Address, env: Mapping[str, str]) -> ChildSpec:
    """One ASGI process for everything."""
    listen = ("--host", address.host, "--port", str(address.port), "--workers", "1")
    command = (
        "granian",
        "--interface",
        "asginl",
        *listen,
        "--log-level",
        "warning",
        "controlplane.asgi:application",
    )
    return child("web", command, state=state, env=env)


def worker_children(state: StateFolder, env: Mapping[str, str]) -> list[ChildSpec]:
    """Workers that never wait for one another: a cycle not behind upkeep, upkeep for no node over SSH. And the beat."""
    return [
        child("worker-cycle", worker("cycle", "--pool", "solo"), state=state, env=env),
        child("worker-upkeep", worker("upkeep,replay", "--concurrency", "2"), state=state, env=env),
        child("worker-remote", worker("remote", *REMOTE), state=state, env=env),
        child("beat", beat(state), state=state, env=env),
    ]


def worker(queues: str, *options: str) -> tuple[str, ...]:
    name = queues.split(",")[0]
    return (
        "celery",
        "-A",
        APP,
        "worker",
        "-Q",
        queues,
        "-n",
        f"{name}@%h",
        "-l",
        "WARNING",
        "--without-gossip",
        "--without-mingle",
        *options,
    )


def beat(state: StateFolder) -> tuple[str, ...]:
    return ("celery", "-A", APP, "beat", "-s", str(state.beat / "schedule"), "--pidfile", "", "-l", "WARNING")


def agent_child(state: StateFolder, config: Path) -> ChildSpec:
    """The agent of this very machine. It gets nothing of the server's environment: it is a stranger like any other."""
    command = ("headrace-agent", "run", "--config", str(config))
    return child("agent", command, state=state, env=agent_environment())


def agent_environment() -> dict[str, str]:
    wanted = ("PATH", "HOME", "LANG", "USER", "LOGNAME")
    return {
        name: value for name, value in os.environ.items() if name in wanted or name.startswith(AGENT_SETTINGS)
    }


def demo_children(state: StateFolder, address: Address, env: Mapping[str, str]) -> list[ChildSpec]:
    """The simulated nodes, strangers like every agent, and whoever submits jobs for them."""
    nodes = (
        "headrace-agent",
        "simulate",
        "--server",
        address.url,
        "--state-dir",
        str(state.demo / "nodes"),
        "--token-file",
        str(state.demo_tokens),
    )
    return [
        child("demo-nodes", nodes, state=state, env=agent_environment()),
        child("demo-jobs", ("python", "manage.py", "demo_jobs"), state=state, env=env),
    ]


def child(name: str, command: tuple[str, ...], *, state: StateFolder, env: Mapping[str, str]) -> ChildSpec:
    program, *arguments = command
    return ChildSpec(
        name=name, argv=(str(BIN / program), *arguments), env=env, cwd=CLONE, log=state.logs / f"{name}.log"
    )

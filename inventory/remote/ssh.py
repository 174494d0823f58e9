"""One connection to a node without an agent: host key pinned, everything bounded in time and size."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import paramiko

from controlplane.base import clock
from inventory.models.remote import RemoteProblem
from inventory.remote import keys

CONNECT_LIMIT_S = 5.0
HANDSHAKE_LIMIT_S = 6.0
KEEP_ALIVE_S = 60
# Before the node proved who it is it has little to say.
MOST_HANDSHAKE_BYTES = 256 * 1024
_CHUNK = 64 * 1024

# What it says of a broken connection is raised as well, and told there with the node.
logging.getLogger("paramiko").setLevel(logging.CRITICAL)


class Unreached(Exception):
    """No connection, or none that is left."""

    def __init__(self, problem: RemoteProblem, detail: str = "") -> None:
        super().__init__(f"{problem.value}: {detail}")
        self.problem = problem
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Way:
    """How a node is reached."""

    address: str
    port: int
    user: str
    key: str
    host_key: str


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command printed; `problem` is empty where it ended well. `hung`: it did not end in time; `flooded`: it
    said more than it may.
    """

    data: bytes
    problem: str = ""
    hung: bool = False
    flooded: bool = False


class BoundedSocket:
    """A socket that ends at a point in time and after so many bytes, whatever the other side does: the library itself
    reads banners of any length, and waits for some answers for ever.
    """

    def __init__(self, inner: socket.socket, *, deadline_s: float, most_bytes: int) -> None:
        self._inner = inner
        self._deadline_s = deadline_s
        self._left = most_bytes
        self.ended: RemoteProblem | None = None

    def allow(self, more_bytes: int) -> None:
        """The node may say more from now on."""
        self._left += more_bytes

    def recv(self, size: int) -> bytes:
        """As a socket's; the end of the stream where a bound is reached."""
        if self._is_over():
            return b""
        data = self._inner.recv(size)
        self._left -= len(data)
        return data

    def send(self, data: bytes) -> int:
        """As a socket's."""
        if self._is_over():
            raise BrokenPipeError(str(self.ended))
        return self._inner.send(data)

    def _is_over(self) -> bool:
        if self.ended is None and clock.monotonic_s() > self._deadline_s:
            self.ended = RemoteProblem.TIMED_OUT
        if self.ended is None and self._left < 0:
            self.ended = RemoteProblem.TOO_MUCH_OUTPUT
        return self.ended is not None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Connection:
    """A session with a node that has proved who it is."""

    def __init__(self, client: paramiko.SSHClient, bounded: BoundedSocket, peer: str) -> None:
        self._client = client
        self._bounded = bounded
        self.peer = peer

    def run(self, line: str, *, limit_s: float, most_bytes: int, told: bytes | None = None) -> Printed:
        """What a command line prints that is `told` this on its standard input. Raises Unreached where the connection
        is gone.
        """
        deadline_s = clock.monotonic_s() + limit_s
        # What is read, what the window then still lets come, which has to be read, too, and the packets' own weight.
        self._bounded.allow(3 * most_bytes)
        transport = self._client.get_transport()
        try:
            if transport is None:
                raise EOFError
            channel = transport.open_session(window_size=most_bytes, timeout=limit_s)
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise self._lost(error) from error
        with contextlib.closing(channel):
            try:
                channel.exec_command(line)
                if told is not None:
                    channel.settimeout(limit_s)
                    channel.sendall(told)
                    channel.shutdown_write()
                return self._read(channel, deadline_s=deadline_s, most_bytes=most_bytes)
            except TimeoutError:
                return Printed(b"", f"no answer within {limit_s:g} s", hung=True)
            except (paramiko.SSHException, EOFError, OSError) as error:
                raise self._lost(error) from error

    def _read(self, channel: paramiko.Channel, *, deadline_s: float, most_bytes: int) -> Printed:
        parts: list[bytes] = []
        size = 0
        while size <= most_bytes:
            channel.settimeout(max(0.01, deadline_s - clock.monotonic_s()))
            part = channel.recv(_CHUNK)
            if not part:
                break
            parts.append(part)
            size += len(part)
        data = b"".join(parts)
        if size > most_bytes:
            return Printed(b"", f"more than {most_bytes >> 20} MiB of output", flooded=True)
        if not channel.status_event.wait(max(0.01, deadline_s - clock.monotonic_s())):
            raise TimeoutError
        status = channel.exit_status
        if status == -1 and not self._is_alive():
            raise EOFError
        return Printed(data, "" if status == 0 else _problem_of(status, data))

    def _is_alive(self) -> bool:
        transport = self._client.get_transport()
        return transport is not None and transport.is_active()

    def _lost(self, error: Exception) -> Unreached:
        return Unreached(self._bounded.ended or RemoteProblem.CONNECTION_LOST, _words(error))


@contextlib.contextmanager
def connected(way: Way, *, deadline_s: float) -> Iterator[Connection]:
    """A connection that ends at `deadline_s` of the monotonic clock at the latest. Raises Unreached."""
    key, host_key = _keys_of(way)
    bounded = _open(way.address, way.port, deadline_s=deadline_s)
    with contextlib.closing(bounded), paramiko.SSHClient() as client:
        client.set_missing_host_key_policy(paramiko.RejectPolicy())
        client.get_host_keys().add(_known_as(way), host_key.get_name(), host_key)
        try:
            client.connect(
                way.address,
                port=way.port,
                username=way.user,
                pkey=key,
                sock=bounded,
                timeout=HANDSHAKE_LIMIT_S,
                banner_timeout=HANDSHAKE_LIMIT_S,
                auth_timeout=HANDSHAKE_LIMIT_S,
                allow_agent=False,
                look_for_keys=False,
            )
        except paramiko.BadHostKeyException as error:
            shown = keys.fingerprint(error.key)
            raise Unreached(RemoteProblem.HOST_KEY_CHANGED, shown) from error
        except paramiko.AuthenticationException as error:
            problem = bounded.ended or RemoteProblem.KEY_REFUSED
            raise Unreached(problem, way.user) from error
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise Unreached(bounded.ended or RemoteProblem.NOT_SSH, _words(error)) from error
        transport = client.get_transport()
        if transport is not None:
            # A fetch says nothing for long, and what is in between forgets connections that say nothing.
            transport.set_keepalive(KEEP_ALIVE_S)
        yield Connection(client, bounded, bounded.getpeername()[0])


def scan(address: str, port: int) -> paramiko.PKey:
    """The host key that is shown there, for a person to compare; nothing is sent. Raises Unreached."""
    deadline_s = clock.monotonic_s() + CONNECT_LIMIT_S + HANDSHAKE_LIMIT_S
    bounded = _open(address, port, deadline_s=deadline_s)
    with contextlib.closing(bounded):
        try:
            transport = paramiko.Transport(bounded)
            with contextlib.closing(transport):
                transport.banner_timeout = HANDSHAKE_LIMIT_S
                transport.start_client(timeout=HANDSHAKE_LIMIT_S)
                return transport.get_remote_server_key()
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise Unreached(bounded.ended or RemoteProblem.NOT_SSH, _words(error)) from error


def _keys_of(way: Way) -> tuple[paramiko.PKey, paramiko.PKey]:
    try:
        return keys.load(way.key), keys.parse_host_key(way.host_key)
    except keys.KeyMissing as error:
        raise Unreached(RemoteProblem.KEY_MISSING, way.key) from error
    except keys.KeyUnusable as error:
        raise Unreached(RemoteProblem.KEY_UNUSABLE, f"{way.key}: {error}") from error


def _open(address: str, port: int, *, deadline_s: float) -> BoundedSocket:
    try:
        inner = socket.create_connection((address, port), timeout=CONNECT_LIMIT_S)
    except TimeoutError as error:
        raise Unreached(RemoteProblem.TIMED_OUT) from error
    except (OSError, UnicodeError) as error:
        raise Unreached(RemoteProblem.UNREACHABLE, _words(error)) from error
    return BoundedSocket(inner, deadline_s=deadline_s, most_bytes=MOST_HANDSHAKE_BYTES)


def _known_as(way: Way) -> str:
    return way.address if way.port == paramiko.config.SSH_PORT else f"[{way.address}]:{way.port}"


def _words(error: Exception) -> str:
    """What a library says of a failure; never what the node said."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__


def _problem_of(status: int, data: bytes) -> str:
    said = " ".join(data[:1000].decode("utf-8", "replace").split())[:300]
    return f"exit status {status} {said}".strip()

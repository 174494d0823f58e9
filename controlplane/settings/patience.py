"""A database connection that gives up when the server no longer answers anybody.

A stopped or swapped-out server keeps its sockets open, so neither TCP nor the server's own time-outs end a wait.
A statement may take long, though: so a silent wait asks the server itself whether it lives, on a socket of its own.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections.abc import Generator
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg.waiting import Ready

Result = TypeVar("Result")

SILENCE_S = 1.5
PROBE_TIMEOUT_S = 1.5
# Requests that wait at the same time share one answer.
PROBE_FRESH_S = 1.0
# The server may be silent for this part of the time that a statement has taken: the longer it ran, the more would be
# lost for a disk that stood still for some seconds.
PATIENT_PART = 0.1
# A pooled connection is asked for a sign of life at most this often while nothing came in on its socket, which a server
# that goes away closes.
CHECK_EVERY_S = 2.0
# Asks whether TLS is wanted; any server answers with one byte, before it knows who is there.
_HELLO = struct.pack("!II", 8, 80877103)


class PatientConnection(psycopg.Connection[Any]):
    """Waits for a slow statement as long as the server answers others, and fails when it does not."""

    _checked_at_s = 0.0

    def execute(self, query: Any, *args: Any, **options: Any) -> psycopg.Cursor[Any]:
        """As ever; the empty statement, the pool's check of each connection it hands out, is left out when it would
        tell nothing new: it costs a seventh of a report of an agent.
        """
        if query != "":
            return super().execute(query, *args, **options)
        now_s = monotonic()
        if now_s - self._checked_at_s < CHECK_EVERY_S and not self._has_input():
            return self.cursor()
        done = super().execute(query, *args, **options)
        self._checked_at_s = now_s
        return done

    def _has_input(self) -> bool:
        waiting = select.poll()
        waiting.register(self.pgconn.socket, select.POLLIN)
        return bool(waiting.poll(0))

    def wait(
        self, gen: Generator[Any, Any, Result], interval: float = 0.1, timeout: float | None = None
    ) -> Result:
        return super().wait(self._patient(gen), interval, timeout)

    def _patient(self, gen: Generator[Any, Any, Result]) -> Generator[Any, Any, Result]:
        """The same steps; `Ready.NONE` comes whenever an interval passed in silence."""
        began_s = answered_s = monotonic()
        ask_at_s = began_s + SILENCE_S
        ready: Any = None
        while True:
            try:
                waits_for = gen.send(ready)
            except StopIteration as end:
                return end.value
            ready = yield waits_for
            now_s = monotonic()
            if ready != Ready.NONE:
                ask_at_s = now_s + SILENCE_S
            elif now_s >= ask_at_s:
                alive = PROBE.answers(self.pgconn.host.decode(), self.pgconn.port.decode())
                now_s = monotonic()
                if alive:
                    answered_s, ask_at_s = now_s, now_s + SILENCE_S
                elif now_s - answered_s >= PATIENT_PART * (now_s - began_s):
                    gen.close()
                    # Nobody may wait for it again, not even to roll back.
                    self.pgconn.finish()
                    raise psycopg.OperationalError("the server does not answer")


class Probe:
    """Whether a server answers; asked at most once in PROBE_FRESH_S, by whoever comes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[float, bool]] = {}

    def answers(self, host: str, port: str) -> bool:
        """True also when the server is gone for good: then the wait itself ends."""
        with self._lock:
            at_s, alive = self._known.get((host, port), (0.0, True))
            if monotonic() - at_s > PROBE_FRESH_S or not at_s:
                alive = _says_something(host, port)
                self._known[host, port] = (monotonic(), alive)
            return alive


PROBE = Probe()


def _says_something(host: str, port: str) -> bool:
    try:
        with _connect(host, port) as asked:
            asked.sendall(_HELLO)
            asked.recv(1)
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def _connect(host: str, port: str) -> socket.socket:
    if not host.startswith("/"):
        return socket.create_connection((host or "localhost", int(port)), timeout=PROBE_TIMEOUT_S)
    asked = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    asked.settimeout(PROBE_TIMEOUT_S)
    asked.connect(f"{host}/.s.PGSQL.{port}")
    return asked

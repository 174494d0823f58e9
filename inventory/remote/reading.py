"""The program that turns outputs into a report: the agent's own parsers, in a process of their own.

The server imports no code of the agent, and what a stranger's machine printed is parsed where it can hang, crash or
fill memory without harm.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
from types import TracebackType

import msgspec
from django.conf import settings

from agent import protocol
from agent.protocol import RemoteAnswer, RemoteRound
from controlplane.base import clock

ANSWER_LIMIT_S = 5.0
MOST_ANSWER_BYTES = 32 << 20
READER = "agent.remote.reader"
KEPT = ("PATH", "LANG", "TMPDIR", "TZ")


class Reader:
    """One process for as many looks as wanted, started when it is needed and again after it failed."""

    def __init__(self, *, limit_s: float = ANSWER_LIMIT_S, program: str = READER) -> None:
        self._limit_s = limit_s
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def ask(self, asked: RemoteRound, *, limit_s: float | None = None) -> RemoteAnswer:
        """What the outputs of one look say. Never raises: a reader that fails, or needs longer than the limit (its
        start does not count), is a look that says nothing.
        """
        try:
            line = self._exchange(protocol.encode(asked) + b"\n", limit_s or self._limit_s)
            return protocol.decode(line, RemoteAnswer)
        except (OSError, msgspec.MsgspecError, ValueError) as error:
            self._end()
            return RemoteAnswer(problem=f"the reader failed: {error}"[:500])

    def _exchange(self, question: bytes, limit_s: float) -> bytes:
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        deadline_s, parts, size, sent = clock.monotonic_s() + limit_s, [], 0, 0
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdin, selectors.EVENT_WRITE)
            selector.register(process.stdout, selectors.EVENT_READ)
            while (left_s := deadline_s - clock.monotonic_s()) > 0:
                for ready, _events in selector.select(left_s):
                    if ready.fileobj is process.stdin:
                        sent += os.write(process.stdin.fileno(), question[sent : sent + (1 << 16)])
                        if sent == len(question):
                            selector.unregister(process.stdin)
                        continue
                    part = os.read(process.stdout.fileno(), 1 << 20)
                    parts.append(part)
                    size += len(part)
                    if not part or size > MOST_ANSWER_BYTES:
                        raise ValueError(
                            "it ended without an answer" if not part else "its answer has no end"
                        )
                    if part.endswith(b"\n"):
                        return b"".join(parts)
        raise TimeoutError(f"no answer within {limit_s:g} s")

    def _start(self) -> subprocess.Popen[bytes]:
        """It gets nothing of the server's environment, which names databases and secrets."""
        process = self._process = subprocess.Popen(
            [sys.executable, "-m", self._program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
            cwd=settings.BASE_DIR,
            env={name: os.environ[name] for name in KEPT if name in os.environ},
        )
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        self._await_start(process)
        return process

    def _await_start(self, process: subprocess.Popen[bytes]) -> None:
        """Its first line is empty, and says that it is there."""
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(self._limit_s):
                raise TimeoutError(f"no start within {self._limit_s:g} s")
        if os.read(process.stdout.fileno(), 1) != b"\n":
            raise ValueError("it ended before it began")

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()

"""Follows the logs of tasks on disk and ships what is new; the file is the spool, so nothing is lost while
the server is away.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.protocol import LogReply
from agent.task import TaskKey
from agent.transport import Backoff, Refused, Transport, TransportError

logger = logging.getLogger("headrace.agent.logs")
TICK_S = 0.1
CHUNK_BYTES = 512 << 10


@dataclass
class Tail:
    """How far one log got."""

    path: Path
    offset: int = 0
    ended: bool = False
    done: bool = False


class LogShipper:
    """One thread for all logs. `on_done` is called when an ended task's log has arrived as a whole or is
    refused for good.
    """

    def __init__(
        self, transport: Transport, on_done: Callable[[TaskKey], None], *, tick_s: float = TICK_S
    ) -> None:
        self._transport = transport
        self._on_done = on_done
        self._tick_s = tick_s
        self._tails: dict[TaskKey, Tail] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closed = False
        self._backoff = Backoff()
        self._thread = threading.Thread(target=self._run, name="logs", daemon=True)

    def start(self) -> None:
        """Begin to ship."""
        self._thread.start()

    def follow(self, key: TaskKey, path: Path, *, ended: bool = False) -> None:
        """Ship this log from now on. Offset 0 is right also after a restart: the server answers how much it has."""
        with self._lock:
            tail = self._tails.setdefault(key, Tail(path))
            tail.path = path
            tail.ended = tail.ended or ended
        self._wake.set()

    def is_done(self, key: TaskKey) -> bool:
        """Whether the whole log has arrived."""
        with self._lock:
            tail = self._tails.get(key)
        return tail is not None and tail.done

    def drop(self, key: TaskKey) -> None:
        """Stop following."""
        with self._lock:
            self._tails.pop(key, None)

    def close(self) -> None:
        """Stop; what is left is shipped after the next start."""
        self._closed = True
        self._wake.set()

    def _run(self) -> None:
        delay_s: float | None = None
        while not self._closed:
            self._wake.wait(delay_s)
            self._wake.clear()
            try:
                delay_s = self._round()
            except TransportError as error:
                delay_s = self._backoff.next_s(error)
                self._pause(delay_s)
            except Exception:
                logger.exception("shipping logs failed")
                delay_s = self._backoff.next_s()
                self._pause(delay_s)

    def _pause(self, delay_s: float) -> None:
        """Wait in spite of new output: the server is away."""
        until = time.monotonic() + delay_s
        while not self._closed and (left := until - time.monotonic()) > 0:
            time.sleep(min(0.1, left))
        self._wake.set()

    def _round(self) -> float | None:
        """Ship one piece of every log that has grown; returns how long to wait, None = until told."""
        with self._lock:
            open_tails = [(key, tail) for key, tail in self._tails.items() if not tail.done]
        more = False
        for key, tail in open_tails:
            more = self._advance(key, tail) or more
        if more:
            return 0.0
        return self._tick_s if any(not tail.ended for _, tail in open_tails) else None

    def _advance(self, key: TaskKey, tail: Tail) -> bool:
        """Ship the next piece; True when there is more at once."""
        ended = tail.ended  # read before the size: output stops before the end is known
        size = tail.path.stat().st_size if tail.path.exists() else 0
        if size > tail.offset and self._ship(key, tail):
            return True
        if ended and not tail.done and tail.offset >= size:
            self._finish(key, tail)
        return False

    def _ship(self, key: TaskKey, tail: Tail) -> bool:
        with tail.path.open("rb") as source:
            source.seek(tail.offset)
            data = source.read(CHUNK_BYTES)
        try:
            reply = self._transport.send_log(key, offset=tail.offset, data=data)
        except Refused as error:
            if error.status in (401, 408, 425, 429):
                raise
            reply = self._after_refusal(key, tail, error)
        self._backoff.reset()
        moved = reply.next_offset != tail.offset
        tail.offset = max(0, reply.next_offset)
        if reply.truncated:
            self._finish(key, tail)
            return False
        return moved

    def _after_refusal(self, key: TaskKey, tail: Tail, error: Refused) -> LogReply:
        wanted = error.body.get("next_offset")
        if error.status == 409 and isinstance(wanted, int) and wanted != tail.offset:
            return LogReply(next_offset=wanted)
        logger.warning("log of placement %s is not wanted any more: %s", key.placement, error)
        return LogReply(next_offset=tail.offset, truncated=True)

    def _finish(self, key: TaskKey, tail: Tail) -> None:
        tail.done = True
        if tail.ended:
            self._on_done(key)

"""The way of readings to the database: a bounded Valkey stream that may lose everything."""

from __future__ import annotations

import functools
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
import redis
import structlog
from django.conf import settings
from redis.exceptions import LockError

from agent.protocol import DeviceSample, DeviceUse, NodeSample, TaskPhase, TaskState
from controlplane.base.broker import Breaker

log = structlog.get_logger(__name__)

STREAM = "headrace:readings"
MAX_ENTRIES = 20_000
MAX_SAMPLES = 1024
TIMEOUT_S = 0.25
# After the death of whoever stored, readings wait so long.
ALONE_S = 15
FIELD = b"r"
# What tasks used last, by node; nothing of it is stored elsewhere.
USES = "headrace:uses:"
USES_KEPT_S = 120
GATHER_S = 0.02
MOST_TOGETHER = 500


class TaskUse(msgspec.Struct, frozen=True, array_like=True):
    """What one placement used when its node reported; unknown is null."""

    placement: int
    memory_used_mib: int | None
    cpu_used_milli: int | None
    devices: list[DeviceUse]


class Reading(msgspec.Struct, frozen=True, array_like=True):
    """One report's readings with the server's time of receipt."""

    node: int
    received_at_ms: int
    host: NodeSample | None
    devices: list[DeviceSample]
    tasks: list[TaskUse] = []


def reading_of(
    node_id: int,
    received_at_ms: int,
    host: NodeSample | None,
    samples: Sequence[DeviceSample],
    tasks: Sequence[TaskState],
) -> Reading | None:
    """One report's readings; None when it has none."""
    uses = [
        TaskUse(task.placement, task.memory_used_mib, task.cpu_used_milli, task.device_use)
        for task in tasks[:MAX_SAMPLES]
        if task.phase is not TaskPhase.ENDED
    ]
    if host is None and not samples and not uses:
        return None
    return Reading(node_id, received_at_ms, host, list(samples[:MAX_SAMPLES]), uses)


@functools.cache
def client() -> redis.Redis:
    """The connection pool of this process; answers or fails within TIMEOUT_S."""
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=None
    )


_breaker = Breaker()


def push(
    node_id: int,
    received_at_ms: int,
    host: NodeSample | None,
    samples: Sequence[DeviceSample],
    tasks: Sequence[TaskState] = (),
) -> bool:
    """Appends one report's readings; False when they are lost because Valkey is away. Never raises."""
    reading = reading_of(node_id, received_at_ms, host, samples, tasks)
    if reading is None:
        return True
    entry: dict[Any, Any] = {FIELD: msgspec.json.encode(reading)}
    return _breaker.attempt(
        "push-readings", lambda: client().xadd(STREAM, entry, maxlen=MAX_ENTRIES, approximate=True)
    )


def push_soon(
    node_id: int,
    received_at_ms: int,
    host: NodeSample | None,
    samples: Sequence[DeviceSample],
    tasks: Sequence[TaskState] = (),
) -> None:
    """The same within moments and together with those of other reports; a process that is killed meanwhile loses them,
    as it would what it had not yet heard.
    """
    reading = reading_of(node_id, received_at_ms, host, samples, tasks)
    if reading is not None:
        _pusher().add(reading)


class Pusher:
    """A thread that sends what was added, many at a time: a round trip for each would cost more than all its bytes."""

    def __init__(self) -> None:
        # Where Valkey is too slow the oldest are lost, as in the stream itself; where it is away, whatever is taken.
        self._waiting: deque[Reading] = deque(maxlen=MAX_ENTRIES)
        self._added = threading.Event()
        threading.Thread(target=self._run, name="push-readings", daemon=True).start()

    def add(self, reading: Reading) -> None:
        """Never waits."""
        self._waiting.append(reading)
        self._added.set()

    def _run(self) -> None:
        while True:
            self._added.wait()
            time.sleep(GATHER_S)
            self._added.clear()
            while self._waiting:
                self._send()

    def _send(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]
        _breaker.attempt("push-readings", lambda: _send_together(batch))


def _send_together(batch: Sequence[Reading]) -> None:
    pipe = client().pipeline(transaction=False)
    for reading in batch:
        entry: dict[Any, Any] = {FIELD: msgspec.json.encode(reading)}
        pipe.xadd(STREAM, entry, maxlen=MAX_ENTRIES, approximate=True)
    pipe.execute()


@functools.cache
def _pusher() -> Pusher:
    return Pusher()


def waiting() -> int | None:
    """How many reports' readings wait to be stored; None when Valkey does not answer."""
    try:
        return int(client().xlen(STREAM))
    except redis.RedisError:
        return None


@contextmanager
def taken_alone() -> Iterator[Callable[[], bool] | None]:
    """None while somebody else takes from the stream: two would store the same at once, and wait for each other's rows.
    What is given says, each time it is asked, whether it is still so, and makes it last.
    """
    lock = client().lock(f"{STREAM}:taken", timeout=ALONE_S)
    alone = lock.acquire(blocking=False)

    def still() -> bool:
        with suppress(LockError):
            return bool(lock.reacquire())
        return False

    try:
        yield still if alone else None
    finally:
        if alone:
            # Gone by its time, or with Valkey.
            with suppress(redis.RedisError):
                lock.release()


def take(limit: int) -> tuple[list[bytes], list[Reading]]:
    """The oldest entries with their ids; `forget` them once they are stored.

    Reading twice is harmless, storing is idempotent.
    """
    entries: Any = client().xrange(STREAM, count=limit)
    ids: list[bytes] = []
    readings: list[Reading] = []
    for entry_id, fields in entries:
        ids.append(entry_id)
        try:
            readings.append(msgspec.json.decode(fields[FIELD], type=Reading))
        except (KeyError, msgspec.MsgspecError):
            log.warning("reading-unreadable", entry=entry_id)
    return ids, readings


def forget(ids: Sequence[bytes]) -> None:
    """Removes stored entries."""
    if ids:
        client().xdel(STREAM, *ids)


def keep_uses(readings: Sequence[Reading]) -> bool:
    """What tasks use now, for whoever looks within USES_KEPT_S; False when Valkey is away. Never raises."""
    newest: dict[int, Reading] = {}
    for reading in readings:
        if reading.tasks and (
            reading.node not in newest or newest[reading.node].received_at_ms <= reading.received_at_ms
        ):
            newest[reading.node] = reading
    if not newest:
        return True

    def send() -> None:
        pipe = client().pipeline(transaction=False)
        for node, reading in newest.items():
            value = msgspec.json.encode((reading.received_at_ms, reading.tasks))
            pipe.set(f"{USES}{node}", value, ex=USES_KEPT_S)
        pipe.execute()

    return _breaker.attempt("keep-uses", send)


def uses_of(node_ids: Collection[int]) -> dict[tuple[int, int], TaskUse]:
    """By node and placement what was told within USES_KEPT_S; nothing where Valkey does not answer."""
    nodes = sorted(set(node_ids))
    if not nodes:
        return {}
    try:
        kept: Any = client().mget([f"{USES}{node}" for node in nodes])
    except redis.RedisError:
        return {}
    found: dict[tuple[int, int], TaskUse] = {}
    for node, value in zip(nodes, kept, strict=True):
        if value is not None:
            with suppress(msgspec.MsgspecError):
                _at_ms, uses = msgspec.json.decode(value, type=tuple[int, list[TaskUse]])
                found |= {(node, use.placement): use for use in uses}
    return found

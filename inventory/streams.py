"""The way of readings to the database: a bounded Valkey stream that may lose everything."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import msgspec
import redis
import structlog
from django.conf import settings

from agent.protocol import DeviceSample, NodeSample
from controlplane.base.broker import Breaker

log = structlog.get_logger(__name__)

STREAM = "headrace:readings"
MAX_ENTRIES = 20_000
MAX_SAMPLES = 1024
TIMEOUT_S = 0.25
FIELD = b"r"


class Reading(msgspec.Struct, frozen=True, array_like=True):
    """One report's readings with the server's time of receipt."""

    node: int
    received_at_ms: int
    host: NodeSample | None
    devices: list[DeviceSample]


@functools.cache
def client() -> redis.Redis:
    """The connection pool of this process; answers or fails within TIMEOUT_S."""
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=None
    )


_breaker = Breaker()


def push(node_id: int, received_at_ms: int, host: NodeSample | None, samples: Sequence[DeviceSample]) -> bool:
    """Appends one report's readings; False when they are lost because Valkey is away. Never raises."""
    if host is None and not samples:
        return True
    reading = Reading(node_id, received_at_ms, host, list(samples[:MAX_SAMPLES]))
    entry: dict[Any, Any] = {FIELD: msgspec.json.encode(reading)}
    return _breaker.attempt(
        "push-readings", lambda: client().xadd(STREAM, entry, maxlen=MAX_ENTRIES, approximate=True)
    )


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

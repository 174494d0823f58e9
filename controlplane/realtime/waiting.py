"""One subscription to a channel-layer group that is silent, not broken, while Valkey is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import redis
import structlog
from channels.layers import get_channel_layer

log = structlog.get_logger(__name__)

SUBSCRIBE_TIMEOUT_S = 1.0
GONE = (redis.RedisError, OSError, TimeoutError)


@asynccontextmanager
async def next_message(group: str) -> AsyncIterator[asyncio.Event]:
    """An event that is set by the first message to `group` after the block was entered; never, while Valkey is away."""
    layer: Any = get_channel_layer()
    arrived = asyncio.Event()
    channel = await _subscribe(layer, group)
    reader = asyncio.create_task(_read(layer, channel, arrived)) if channel else None
    try:
        yield arrived
    finally:
        if reader is not None:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            await _unsubscribe(layer, group, channel)


async def _subscribe(layer: Any, group: str) -> str | None:
    try:
        async with asyncio.timeout(SUBSCRIBE_TIMEOUT_S):
            channel: str = await layer.new_channel()
            await layer.group_add(group, channel)
            return channel
    except GONE as error:
        log.warning("not-subscribed", group=group, error=type(error).__name__)
        return None


async def _read(layer: Any, channel: str, arrived: asyncio.Event) -> None:
    await layer.receive(channel)
    arrived.set()


async def _unsubscribe(layer: Any, group: str, channel: str | None) -> None:
    try:
        async with asyncio.timeout(SUBSCRIBE_TIMEOUT_S):
            await layer.group_discard(group, channel)
    except GONE as error:
        log.warning("not-unsubscribed", group=group, error=type(error).__name__)

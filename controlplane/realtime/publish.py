"""Publishes hints and wakes after commits: never waits long, never raises, may lose everything."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any

import redis
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from channels_redis.pubsub import RedisPubSubChannelLayer
from django.conf import settings

from controlplane.base.broker import Breaker
from controlplane.realtime.groups import (
    HINTS,
    hang_up_message,
    hint_message,
    node_group,
    user_group,
    wake_message,
)

TIMEOUT_S = 0.25


_breaker = Breaker()


def publish_hint(key: Hashable) -> None:
    """Subscriber of the topic HINT; `key` is a tuple such as ("job", 12)."""
    _publish(HINTS, hint_message(key if isinstance(key, tuple) else (key,)))


def publish_wake(key: Hashable) -> None:
    """Subscriber of the topic NODE_WAKE; `key` is the node's id."""
    _publish(node_group(int(str(key))), wake_message())


def publish_hang_up(key: Hashable) -> None:
    """Subscriber of the topic ACCESS_CHANGED; `key` is the user's id."""
    _publish(user_group(int(str(key))), hang_up_message())


def _publish(group: str, message: dict[str, Any]) -> None:
    _breaker.attempt(f"publish-{group.partition('.')[0]}", lambda: _send(group, message))


def _send(group: str, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if isinstance(layer, RedisPubSubChannelLayer):
        # The layer itself opens a connection per event loop, and a request thread would need a loop per call.
        layers: dict[str, Any] = settings.CHANNEL_LAYERS
        prefix = layers["default"].get("CONFIG", {}).get("prefix", "asgi")
        _client().publish(f"{prefix}__group__{group}", layer.serialize(message))
    elif layer is not None:
        async_to_sync(layer.group_send)(group, message)


@functools.cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=None
    )

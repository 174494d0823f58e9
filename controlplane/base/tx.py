"""Work that waits for the commit: lower packages wake higher ones by topic, without importing them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from enum import StrEnum

import structlog
from django.db import transaction

log = structlog.get_logger(__name__)

Subscriber = Callable[[Hashable], None]


class Topic(StrEnum):
    """What may have to be told after a commit; the key says about what."""

    CYCLE_WAKE = "cycle-wake"  # key: ""
    NODE_WAKE = "node-wake"  # key: node id
    # The key is a tuple: ("jobs",), ("job", 12), ("reasons",), ("map",), ("readings",), ("node", 3), ("alerts",), ...
    HINT = "hint"
    ACCESS_CHANGED = "access-changed"  # key: user id; a session or token ended, or may do something else


_subscribers: dict[Topic, list[Subscriber]] = {topic: [] for topic in Topic}


def subscribe(topic: Topic, subscriber: Subscriber) -> None:
    """Called once per process and subscriber, from controlplane.subscriptions only."""
    if subscriber not in _subscribers[topic]:
        _subscribers[topic].append(subscriber)


def after_commit(topic: Topic, key: Hashable = "") -> None:
    """Tell the subscribers after this transaction, once per (topic, key); outside of one at once, rolled back never."""
    connection = transaction.get_connection()
    told = getattr(connection, "headrace_told", None)
    # Whoever registers while the commit's callbacks run belongs to the next transaction and is told again.
    if not isinstance(told, set) or told:
        told = set()
        connection.headrace_told = told
    transaction.on_commit(functools.partial(_tell_once, told, topic, key))


def _tell_once(told: set[tuple[Topic, Hashable]], topic: Topic, key: Hashable) -> None:
    if (topic, key) in told:
        return
    told.add((topic, key))
    tell(topic, key)


def tell(topic: Topic, key: Hashable = "") -> None:
    """Call the subscribers now. A failure is logged, never raised: what is told is a hint, the truth is committed."""
    for subscriber in _subscribers[topic]:
        try:
            subscriber(key)
        except Exception:
            log.warning("subscriber-failed", topic=topic.value, key=repr(key), exc_info=True)

"""Watches the epochs of all nodes that wait in this process with one query a second, so that a wake needs no Valkey."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import structlog
from asgiref.sync import sync_to_async
from django.db import Error, connection

from scheduling.models import DesiredState

log = structlog.get_logger(__name__)

POLL_S = 1.0


@dataclass(eq=False, slots=True)
class Waiter:
    """One long-poll: `newer` is set when the node's epoch is above `epoch`."""

    node_id: int
    epoch: int
    newer: asyncio.Event = field(default_factory=asyncio.Event)


class EpochWatch:
    """The waiters of one event loop; its query runs only while somebody waits."""

    def __init__(self) -> None:
        self._waiters: set[Waiter] = set()
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def waiting(self, node_id: int, epoch: int) -> Iterator[Waiter]:
        """Registers a waiter for the time of the block."""
        waiter = Waiter(node_id, epoch)
        self._waiters.add(waiter)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._poll())
        try:
            yield waiter
        finally:
            self._waiters.discard(waiter)

    async def _poll(self) -> None:
        while self._waiters:
            await asyncio.sleep(POLL_S)
            nodes = {waiter.node_id for waiter in self._waiters}
            try:
                epochs = await sync_to_async(_read_epochs, thread_sensitive=False)(sorted(nodes))
            except Error as error:
                log.warning("epochs-unreadable", error=type(error).__name__)
                continue
            for waiter in self._waiters:
                if epochs.get(waiter.node_id, 0) > waiter.epoch:
                    waiter.newer.set()


def _read_epochs(node_ids: list[int]) -> dict[int, int]:
    try:
        return dict(DesiredState.objects.filter(node_id__in=node_ids).values_list("node_id", "epoch"))
    finally:
        connection.close()


_watches: WeakKeyDictionary[asyncio.AbstractEventLoop, EpochWatch] = WeakKeyDictionary()


def epoch_watch() -> EpochWatch:
    """The watch of the running loop."""
    return _watches.setdefault(asyncio.get_running_loop(), EpochWatch())

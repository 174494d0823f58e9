"""The websocket /live: hints what to read again, never data."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import structlog
from channels.generic.websocket import AsyncWebsocketConsumer

from controlplane.realtime.callers import caller_of
from controlplane.realtime.coalescing import Hint, Pending
from controlplane.realtime.groups import HINTS, user_group
from controlplane.realtime.waiting import GONE

log = structlog.get_logger(__name__)

INTERVAL_S = 0.25
# A session or token runs out meanwhile: the reader connects again and is asked again.
LONGEST_S = 3600.0
TRY_AGAIN, UNAUTHENTICATED = 1013, 4401


class LiveConsumer(AsyncWebsocketConsumer):
    """One console. A hint goes out at once when the last one is INTERVAL_S ago, else with the others that gather."""

    def __init__(self) -> None:
        super().__init__()
        self._pending = Pending()
        self._arrived = asyncio.Event()
        self._sender: asyncio.Task[None] | None = None
        self._groups: tuple[str, ...] = ()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Refuses cleanly while Valkey is away: the reader polls and tries again."""
        try:
            await super().__call__(scope, receive, send)
        except GONE as error:
            log.warning("live-without-valkey", error=type(error).__name__)
            await send({"type": "websocket.close", "code": TRY_AGAIN})

    async def connect(self) -> None:
        """Accepts those who may look; joins first, since they read everything as soon as they are accepted."""
        caller = await caller_of(self.scope)
        if caller is None:
            await self.close(code=UNAUTHENTICATED)
            return
        self._groups = (HINTS, user_group(caller.pk))
        for group in self._groups:
            await self.channel_layer.group_add(group, self.channel_name)
        await self.accept()
        self._sender = asyncio.create_task(self._send_hints())

    async def disconnect(self, code: int) -> None:
        """Stops sending."""
        if self._sender is not None:
            self._sender.cancel()
        for group in self._groups:
            await self.channel_layer.group_discard(group, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Readers have nothing to say; what they send is ignored."""

    async def hint_message(self, event: Mapping[str, Any]) -> None:
        """One hint from the channel layer. Never waits for the socket, so that a slow reader holds nobody up."""
        self._note(tuple(event["hint"]))

    async def hang_up(self, event: Mapping[str, Any]) -> None:
        """A password changed, a session or token ended, an account was closed: who still may look connects again."""
        await self.close(code=TRY_AGAIN)

    def _note(self, hint: Hint) -> None:
        self._pending.add(hint)
        self._arrived.set()

    async def _send_hints(self) -> None:
        """Whoever reads slowly holds only this task: meanwhile its hints gather, and in the end become one `resync`."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + LONGEST_S
        while loop.time() < ends_at:
            await self._arrived.wait()
            self._arrived.clear()
            for hint in self._pending.take():
                await self.send(text_data=json.dumps({"hint": list(hint)}))
            await asyncio.sleep(INTERVAL_S)
        await self.close(code=TRY_AGAIN)

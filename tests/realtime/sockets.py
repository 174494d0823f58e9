"""One websocket to the ASGI application, without a server in between."""

from __future__ import annotations

import json
from typing import Any

from asgiref.testing import ApplicationCommunicator

TIMEOUT_S = 5.0
HOST = (b"host", b"localhost:8000")


class Socket:
    """`code` is the close code when the handshake was refused."""

    def __init__(self, app: Any, *headers: tuple[bytes, bytes]) -> None:
        scope = {
            "type": "websocket",
            "path": "/live",
            "raw_path": b"/live",
            "query_string": b"",
            "headers": [HOST, *headers],
            "subprotocols": [],
        }
        self._wire = ApplicationCommunicator(app, scope)
        self.connected = False
        self.code: int | None = None

    async def open(self) -> bool:
        await self._wire.send_input({"type": "websocket.connect"})
        answer = await self._wire.receive_output(TIMEOUT_S)
        self.connected = answer["type"] == "websocket.accept"
        self.code = answer.get("code")
        return self.connected

    async def next_hint(self) -> list[Any]:
        event = await self._wire.receive_output(TIMEOUT_S)
        assert event["type"] == "websocket.send", event
        hint: list[Any] = json.loads(event["text"])["hint"]
        return hint

    async def close_code(self) -> int:
        """The code with which the server ends the connection."""
        event = await self._wire.receive_output(TIMEOUT_S)
        assert event["type"] == "websocket.close", event
        code: int = event["code"]
        return code

    async def is_silent(self, timeout_s: float) -> bool:
        return bool(await self._wire.receive_nothing(timeout=timeout_s))

    async def close(self) -> None:
        await self._wire.send_input({"type": "websocket.disconnect", "code": 1000})
        await self._wire.wait(TIMEOUT_S)

"""Names of channel-layer groups and the messages that go through them."""

from __future__ import annotations

from typing import Any

HINTS = "hints"
HINT_TYPE = "hint.message"
WAKE_TYPE = "node.wake"
HANG_UP_TYPE = "hang.up"


def node_group(node_id: int) -> str:
    """The group of those who wait for a change of a node's desired set."""
    return f"node.{node_id}"


def user_group(user_id: int) -> str:
    """The group of the websockets that one user has open."""
    return f"user.{user_id}"


def hint_message(hint: tuple[object, ...]) -> dict[str, Any]:
    """Tells a console what to read again."""
    return {"type": HINT_TYPE, "hint": list(hint)}


def wake_message() -> dict[str, Any]:
    """Tells the long-poll of a node to look."""
    return {"type": WAKE_TYPE}


def hang_up_message() -> dict[str, Any]:
    """Tells a websocket to close: whoever still may opens another one."""
    return {"type": HANG_UP_TYPE}

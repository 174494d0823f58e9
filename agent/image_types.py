"""Wire types of image work: what to fetch ahead of demand and what to give up; part of `agent.protocol`."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class ImageAction(StrEnum):
    """What the agent did with an image."""

    PULL = "pull"
    PRUNE = "prune"


class ImageResult(msgspec.Struct, frozen=True):
    """How one order ended; `ms` is the time it took by the node's own clock. Not `ours` is what was there already by
    somebody else's wish: nothing was fetched, and it is never to be removed.
    """

    image: str
    action: ImageAction
    ok: bool
    ms: int | None = None
    problem: str = ""
    ours: bool = True


class ImageReport(msgspec.Struct, frozen=True):
    """What became of the orders before; the same twice is harmless."""

    version: int
    results: list[ImageResult] = []


class ImageOrders(msgspec.Struct, frozen=True):
    """What to fetch now, one after the other, what to remove of that which was fetched by such orders, and when to ask
    again. `secrets` name, by image, the registry's secret to fetch it with.
    """

    version: int
    pull: list[str] = []
    prune: list[str] = []
    again_s: int = 60
    secrets: dict[str, str] = {}


class SecretRequest(msgspec.Struct, frozen=True):
    """A node asks for the secret of a registry, by its name, to fetch an image that it was told to."""

    version: int
    name: str


class SecretReply(msgspec.Struct, frozen=True):
    """User and password (base64 of `user:password`) by registry; for the engine's eyes only."""

    version: int
    auths: dict[str, str]

    def __repr__(self) -> str:
        return "SecretReply(...)"

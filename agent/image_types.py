"""Wire types of image work: what to fetch ahead of demand and what to give up; part of `agent.protocol`."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class ImageAction(StrEnum):
    """What the agent did with an image."""

    PULL = "pull"
    PRUNE = "prune"


class ImageResult(msgspec.Struct, frozen=True):
    """How one order ended; `ms` is the time it took by the node's own clock."""

    image: str
    action: ImageAction
    ok: bool
    ms: int | None = None
    problem: str = ""


class ImageReport(msgspec.Struct, frozen=True):
    """What became of the orders before; the same twice is harmless."""

    version: int
    results: list[ImageResult] = []


class ImageOrders(msgspec.Struct, frozen=True):
    """What to fetch now, one after the other, what to remove of that which was fetched by such orders, and when to ask
    again.
    """

    version: int
    pull: list[str] = []
    prune: list[str] = []
    again_s: int = 60

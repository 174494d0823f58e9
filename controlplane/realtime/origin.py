"""Whether a websocket handshake comes from our own pages. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit


def is_own_origin(origin: str | None, host: str | None, trusted: Iterable[str]) -> bool:
    """True when `origin` is a trusted one or names the host that was asked; False also without an origin."""
    if not origin:
        return False
    if origin.rstrip("/") in {entry.rstrip("/") for entry in trusted}:
        return True
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and bool(host) and parts.netloc.lower() == (host or "").lower()

"""Whether a websocket handshake asks for this server, and comes from our own pages. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from django.http.request import split_domain_port, validate_host


def is_own_origin(origin: str | None, host: str | None, trusted: Iterable[str]) -> bool:
    """True when `origin` is a trusted one or names the host that was asked; False also without an origin."""
    if not origin:
        return False
    if origin.rstrip("/") in {entry.rstrip("/") for entry in trusted}:
        return True
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and bool(host) and parts.netloc.lower() == (host or "").lower()


def is_own_host(host: str | None, allowed: Iterable[str]) -> bool:
    """Whether the Host header names this server, as ALLOWED_HOSTS says."""
    domain, _port = split_domain_port(host or "")
    return bool(domain) and validate_host(domain, list(allowed))

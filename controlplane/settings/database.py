"""DATABASE_URL as Django wants it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from controlplane.settings.patience import PatientConnection

# Who finds all connections busy is told to come back after the time-out (seconds).
POOL = {"min_size": 1, "max_size": 20, "timeout": 3, "connection_class": PatientConnection}


def database_from_url(url: str) -> dict[str, Any]:
    """Django's DATABASES entry for `postgres://user:password@host:port/name?host=/socket`; ValueError otherwise."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ValueError(f"DATABASE_URL must start with postgres:// or postgresql://, not {parts.scheme}://")
    query = dict(parse_qsl(parts.query))
    host = query.pop("host", None) or unquote(parts.hostname or "")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "headrace",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or query.pop("port", "")),
        "CONN_MAX_AGE": 0,
        # A restarted server leaves dead connections in the pool: they are tried before they are lent.
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"pool": POOL, "connect_timeout": 3, **query},
    }

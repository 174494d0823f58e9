"""Who opens a websocket: a session of our own pages, or a token in the Authorization header."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from rest_framework.exceptions import AuthenticationFailed

from controlplane.accounts.authentication import TokenAuthentication
from controlplane.accounts.models import User
from controlplane.accounts.permissions import Action, allows
from controlplane.realtime.origin import is_own_host, is_own_origin


async def caller_of(scope: Mapping[str, Any]) -> User | None:
    """The user, or None for nobody who may listen. A cookie counts only from our own origin, a token from anywhere."""
    headers = _headers(scope)
    if not is_own_host(headers.get("host"), settings.ALLOWED_HOSTS):
        return None
    scheme, _sep, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return await database_sync_to_async(_by_token)(token.strip())
    if not is_own_origin(headers.get("origin"), headers.get("host"), settings.CSRF_TRUSTED_ORIGINS):
        return None
    user = scope.get("user")
    # The session's user is lazy: looking at it may read the database.
    return await database_sync_to_async(_if_allowed)(user)


def _headers(scope: Mapping[str, Any]) -> dict[str, str]:
    return {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", [])
    }


def _by_token(token: str) -> User | None:
    try:
        user, used = TokenAuthentication().authenticate_credentials(token.encode())
    except AuthenticationFailed:
        return None
    user.used_token = used
    return _if_allowed(user)


def _if_allowed(user: object) -> User | None:
    is_person = user is not None and getattr(user, "is_authenticated", False)
    return user if is_person and allows(user, Action.MAP_READ) else None  # type: ignore[arg-type,return-value]

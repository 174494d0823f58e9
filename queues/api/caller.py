"""Who makes a request."""

from __future__ import annotations

from rest_framework.request import Request

from controlplane.accounts.models import User


def caller(request: Request) -> User:
    """The user of a request that a permission class has let through."""
    assert isinstance(request.user, User)
    return request.user

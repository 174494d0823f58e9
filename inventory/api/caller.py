"""The person behind a request that passed its permission check."""

from __future__ import annotations

from rest_framework.request import Request

from controlplane.accounts.models import User
from controlplane.base.problems import Problem


def caller(request: Request) -> User:
    """The signed-in user; every action of the permission table needs one."""
    if not isinstance(request.user, User):
        raise Problem(401, "not-authenticated")
    return request.user

"""The audit trail: who changed what, to what, from where. Written in the transaction of the change."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.db.models import Model
from django.http import HttpRequest
from rest_framework.request import Request

from controlplane.accounts.models import AuditEntry, User

Who = HttpRequest | Request | User | str
SYSTEM = "system"


def record(
    who: Who,
    action: str,
    *,
    target: Model | tuple[str, object] | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    """`who` is a request, a user, or the name of a part of the system; `target` an object or (type, id).

    Details must be JSON, without secrets.
    """
    actor, name, address = _actor(who)
    target_type, target_id = _target(target)
    AuditEntry.objects.create(
        actor=actor, actor_name=name, action=action, target_type=target_type, target_id=target_id,
        details=dict(details or {}), address=address,
    )  # fmt: skip


def name_of(who: Who) -> str:
    """The name that the trail keeps of the actor."""
    return _actor(who)[1]


def _actor(who: Who) -> tuple[User | None, str, str | None]:
    if isinstance(who, str):
        return None, who[:150], None
    if isinstance(who, User):
        return who, who.username, None
    user = who.user if isinstance(who.user, User) else None
    return user, user.username if user else "", client_address(who)


def client_address(request: HttpRequest | Request) -> str | None:
    """The address of the peer; behind our own proxy the one it saw, last in X-Forwarded-For."""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "") if settings.BEHIND_PROXY else ""
    for text in (forwarded.rpartition(",")[2].strip(), request.META.get("REMOTE_ADDR", "")):
        try:
            return str(ip_address(text))
        except ValueError:
            continue
    return None


def _target(target: Model | tuple[str, object] | None) -> tuple[str, str]:
    if target is None:
        return "", ""
    if isinstance(target, Model):
        return target._meta.model_name or "", str(target.pk)
    return target[0], str(target[1])[:100]

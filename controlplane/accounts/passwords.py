"""Passwords: made, judged, and changed by their owners."""

from __future__ import annotations

import secrets

from allauth.core.internal import ratelimit
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from rest_framework.request import Request

from controlplane.accounts.audit import record
from controlplane.accounts.models import ApiToken, User
from controlplane.accounts.signin import too_many_attempts
from controlplane.base.problems import Fault, FieldError, Problem, invalid
from controlplane.base.tx import Topic, after_commit


def new_password() -> str:
    """Four groups that can be read aloud and typed, 96 bits in all."""
    return "-".join(secrets.token_hex(3) for _group in range(4))


def weaknesses(password: str, user: User | None = None) -> list[str]:
    """What makes a password too easy to guess, in the language now active."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        return list(error.messages)
    return []


def change_own_password(request: Request, user: User, *, current: str, new: str, revoke_tokens: bool) -> int:
    """A new password for who knows the old one; all other sessions end. How many tokens were revoked."""
    _count_attempt(request, user)
    weak = weaknesses(new, user)
    with transaction.atomic():
        # Of two changes at once the second is judged by what the first one set.
        stored = User.objects.select_for_update().get(pk=user.pk)
        knows = stored.check_password(current)
        if knows and not weak:
            return _set_own_password(request, stored, new, revoke_tokens=revoke_tokens)
    if not knows:
        record(request, "password-change-failed", target=user)
        raise invalid("current", Fault.WRONG_PASSWORD)
    errors = [FieldError("new", Fault.WEAK_PASSWORD, message) for message in weak]
    raise Problem(400, "invalid", errors=errors)


def _set_own_password(request: Request, user: User, new: str, *, revoke_tokens: bool) -> int:
    user.set_password(new)
    user.save(update_fields=["password"])
    revoked = revoke_all_tokens(user) if revoke_tokens else 0
    record(request, "password-change", target=user, details={"tokens_revoked": revoked})
    after_commit(Topic.ACCESS_CHANGED, user.pk)
    if request.auth is None:
        # The sessions of the old password are void; the caller's own goes on under a new key.
        update_session_auth_hash(request._request, user)
    return revoked


def revoke_all_tokens(user: User) -> int:
    """Every token of the account is worthless from now on; how many there were."""
    after_commit(Topic.ACCESS_CHANGED, user.pk)
    return ApiToken.objects.filter(user=user).delete()[0]


def _count_attempt(request: Request, user: User) -> None:
    """429 for who guesses at the password of an open session."""
    action = "change_password"
    if not ratelimit.consume(request._request, app="allauth.account", action=action, user=user):
        raise too_many_attempts(request._request, action, user=user)

"""Who is calling: by session cookie with CSRF check, or by API token; and in which language they are answered."""

from __future__ import annotations

from datetime import timedelta

import knox.auth
from django.db.models import Q
from django.utils import translation
from knox.crypto import hash_token
from rest_framework import authentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from controlplane.accounts.models import ApiToken, User
from controlplane.base import clock

# `last_used_at` is written at most this often per token.
LAST_USED_STEP = timedelta(minutes=1)


class SessionAuthentication(authentication.SessionAuthentication):
    """Django's session, CSRF-checked."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        found = super().authenticate(request)
        # What a page shows of ours is in the page's own language, whatever another page of this user was switched to.
        if found and "Accept-Language" not in request.headers:
            speak_language_of(found[0])
        return found


class TokenAuthentication(knox.auth.TokenAuthentication):
    """`Authorization: Bearer hr_...`; the token rides on the user so that permissions and scoping see its limits."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        found = super().authenticate(request)
        if not found:
            return None
        user, token = found
        user.used_token = token
        note_use(token)
        speak_language_of(user)
        return user, token

    def authenticate_credentials(self, token: bytes) -> tuple[User, ApiToken]:
        """One query by the whole hash; expired tokens stay listed until their owner removes them."""
        text = token.decode("ascii", errors="replace")
        found = ApiToken.objects.select_related("user").filter(digest=hash_token(text)).first()
        if (
            found is None
            or not found.user.is_active
            or (found.expiry is not None and found.expiry <= clock.now())
        ):
            raise AuthenticationFailed
        return found.user, found


def note_use(token: ApiToken) -> None:
    """Remember when the token was last used, to the minute."""
    now = clock.now()
    if token.last_used_at is None or now - token.last_used_at > LAST_USED_STEP:
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - LAST_USED_STEP)
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)


def speak_language_of(user: User) -> None:
    """The user's language when one is set; else it stays as the request asks."""
    if user.language:
        translation.activate(user.language)

"""Sign-in through allauth: no sign-up, every attempt in the audit trail."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.internal import ratelimit
from allauth.headless.account.views import LoginView
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import HttpRequest, HttpResponseBase

from controlplane.accounts.audit import client_address, record
from controlplane.accounts.models import User
from controlplane.base.problems import Problem, problem_response
from controlplane.base.tx import Topic, after_commit


class SignInAdapter(DefaultAccountAdapter):
    """People are made by administrators; addresses of peers are taken from the connection only."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request) or "0.0.0.0"

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        super().login(request, user)
        record(request, "sign-in", target=("user", user.pk))

    def logout(self, request: HttpRequest) -> None:
        user = request.user
        if user.is_authenticated:
            record(request, "sign-out", target=("user", user.pk))
        super().logout(request)
        if user.pk is not None:
            after_commit(Topic.ACCESS_CHANGED, user.pk)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            # Not a form error: the right password would not get through now either.
            key = self._get_login_attempts_cache_key(request, **credentials)
            problem = too_many_attempts(request, "login_failed", key=key)
            raise ImmediateHttpResponse(problem_response(problem)) from None

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        super().authentication_failed(request, **credentials)
        name = str(credentials.get("username") or credentials.get("email") or "")
        # What people type into the name field by mistake may be their password: only names that exist are kept.
        record(request, "sign-in-failed", target=("user", ""), details={"username": known_name(name)})


class SignInView(LoginView):
    """allauth's, with our shape of "too many"."""

    def handle(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = super().handle(request, *args, **kwargs)
        if response.status_code == 429 and "Retry-After" not in response:
            return problem_response(too_many_attempts(request, "login"))
        return response


def too_many_attempts(
    request: HttpRequest, action: str, *, key: str | None = None, user: User | None = None
) -> Problem:
    """429 that says for how long: the longest of the windows that are full."""
    limits = settings.ACCOUNT_RATE_LIMITS[action].split(",")
    windows = [
        ratelimit.parse_rate(limit).duration
        for limit in limits
        if not ratelimit.consume(
            request,
            app="allauth.account",
            action=action,
            config={action: limit},
            key=key,
            user=user,
            dry_run=True,
        )
    ]
    return Problem(429, "throttled", headers={"Retry-After": str(int(max(windows, default=1)))})


def known_name(name: str) -> str | None:
    """The user name that a sign-in meant, None when there is no such user."""
    users = User.objects.filter(Q(username__iexact=name) | Q(email__iexact=name))
    return users.values_list("username", flat=True).first() if name else None

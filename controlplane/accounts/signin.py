"""Sign-in through allauth: no sign-up, every attempt in the audit trail."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models import Q
from django.http import HttpRequest

from controlplane.accounts.audit import client_address, record
from controlplane.accounts.models import User


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
        if request.user.is_authenticated:
            record(request, "sign-out", target=("user", request.user.pk))
        super().logout(request)

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        super().authentication_failed(request, **credentials)
        name = str(credentials.get("username") or credentials.get("email") or "")
        # What people type into the name field by mistake may be their password: only names that exist are kept.
        record(request, "sign-in-failed", target=("user", ""), details={"username": known_name(name)})


def known_name(name: str) -> str | None:
    """The user name that a sign-in meant, None when there is no such user."""
    users = User.objects.filter(Q(username__iexact=name) | Q(email__iexact=name))
    return users.values_list("username", flat=True).first() if name else None

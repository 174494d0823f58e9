"""Changes of accounts, teams, memberships and tokens: each with its guard and its line in the audit trail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from controlplane.accounts.audit import record
from controlplane.accounts.models import ApiToken, Membership, Role, Team, TeamRole, User
from controlplane.accounts.passwords import new_password, revoke_all_tokens
from controlplane.accounts.scoping import signed_in
from controlplane.base.problems import Fault, FieldError, Problem, fault, invalid
from controlplane.base.tx import Topic, after_commit

LARGEST_TOKEN_COUNT = 100
# Names of the API -> columns.
USER_COLUMNS = {"email": "email", "role": "role", "active": "is_active", "language": "language"}


@dataclass(frozen=True)
class NewUser:
    """An account just made; `password` is None when the caller chose it."""

    user: User
    password: str | None


@dataclass(frozen=True)
class NewToken:
    """A token just made, with its secret."""

    row: ApiToken
    secret: str


def make_user(request: Request, fields: Mapping[str, Any]) -> NewUser:
    """A new account; 409 `username-taken` or `email-taken`."""
    chosen = fields.get("password")
    password = chosen or new_password()
    user = User(username=fields["username"], **_columns(fields))
    user.set_password(password)
    with transaction.atomic():
        _save_user(user)
        record(request, "user-make", target=user, details={"username": user.username, "role": user.role})
    return NewUser(user, None if chosen else password)


def edit_user(request: Request, user: User, *, fields: Mapping[str, Any]) -> User:
    """Change an account; 409 `last-admin` when nobody would be left to administer. A new password ends all sessions,
    since they are signed with it.
    """
    columns = _columns(fields)
    with transaction.atomic():
        # All admins are locked so that two cannot depose each other at once.
        admins = set(_active_admins().select_for_update().order_by("pk").values_list("pk", flat=True))
        stays = columns.get("role", user.role) == Role.ADMIN and columns.get("is_active", user.is_active)
        if admins == {user.pk} and not stays:
            raise Problem(409, "last-admin", message=_("This is the last active administrator."))
        for name, value in columns.items():
            setattr(user, name, value)
        if "password" in fields:
            user.set_password(fields["password"])
        _save_user(user, [*columns, *(["password"] if "password" in fields else [])])
        revoked = revoke_all_tokens(user) if fields.get("revoke_tokens") else 0
        record(
            request,
            "user-edit",
            target=user,
            details={**_without_password(fields), "tokens_revoked": revoked},
        )
        after_commit(Topic.ACCESS_CHANGED, user.pk)
    return user


def _active_admins() -> Any:
    return User.objects.filter(role=Role.ADMIN, is_active=True)


def _columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    columns = {column: fields[name] for name, column in USER_COLUMNS.items() if name in fields}
    return {**columns, "language": columns["language"] or ""} if "language" in columns else columns


def _without_password(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: "***" if name == "password" else value for name, value in fields.items()}


def _save_user(user: User, columns: list[str] | None = None) -> None:
    try:
        with transaction.atomic():
            user.save(update_fields=columns, force_insert=columns is None)
    except IntegrityError as error:
        field = "email" if "user_email_once" in str(error) else "username"
        raise Problem(
            409, f"{field}-taken", message=_("Another account has this already."), errors=[_taken(field)]
        ) from None


def _taken(field: str) -> FieldError:
    return fault(field, Fault.TAKEN)


def edit_me(user: User, *, language: str | None) -> None:
    """The caller's own settings."""
    user.language = language or ""
    user.save(update_fields=["language"])


def make_team(request: Request, *, slug: str, name: str) -> Team:
    """A new, empty team; 409 `team-exists`."""
    with transaction.atomic():
        team, made = Team.objects.get_or_create(slug=slug, defaults={"name": name})
        if not made:
            raise Problem(409, "team-exists", message=_("There is a team with this slug already."))
        record(request, "team-make", target=team, details={"slug": slug, "name": name})
    return team


def rename_team(request: Request, team: Team, *, name: str) -> None:
    """A new display name."""
    with transaction.atomic():
        Team.objects.filter(pk=team.pk).update(name=name)
        record(request, "team-edit", target=team, details={"slug": team.slug, "name": name})


def set_member(request: Request, team: Team, *, user: User, role: TeamRole) -> Membership:
    """Add a user to a team or change the user's role there."""
    with transaction.atomic():
        row, _made = Membership.objects.update_or_create(team=team, user=user, defaults={"role": role})
        record(
            request,
            "member-set",
            target=team,
            details={"team": team.slug, "username": user.username, "role": role},
        )
    return row


def remove_member(request: Request, team: Team, *, user: User) -> None:
    """Take a user out of a team; tokens narrowed to that team end with it."""
    with transaction.atomic():
        Membership.objects.filter(team=team, user=user).delete()
        ApiToken.objects.filter(team=team, user=user).delete()
        after_commit(Topic.ACCESS_CHANGED, user.pk)
        record(request, "member-remove", target=team, details={"team": team.slug, "username": user.username})


def make_token(request: Request, fields: Mapping[str, Any], *, team: Team | None) -> NewToken:
    """A new token of the caller; 409 `too-many-tokens`."""
    user, days = signed_in(request), fields["expires_in_days"]
    if len(set(fields["scopes"])) != len(fields["scopes"]):
        raise invalid("scopes", Fault.REPEATED)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)
        if ApiToken.objects.filter(user=user).count() >= LARGEST_TOKEN_COUNT:
            raise Problem(409, "too-many-tokens", message=_("You have 100 tokens. Remove some first."))
        row, secret = ApiToken.objects.create(
            user=user, expiry=timedelta(days=days), name=fields["name"], scopes=fields["scopes"], team=team
        )
        details = {"name": row.name, "scopes": row.scopes, "team": team.slug if team else None, "days": days}
        record(request, "token-make", target=("token", row.pk), details=details)
    return NewToken(row, secret)


def revoke_token(request: Request, token: ApiToken) -> None:
    """The token is worthless from now on."""
    with transaction.atomic():
        ApiToken.objects.filter(pk=token.pk).delete()
        after_commit(Topic.ACCESS_CHANGED, token.user_id)
        record(request, "token-revoke", target=("token", token.pk), details={"name": token.name})

"""Enrolment tokens: made here and nowhere else; of a token only its digest is kept."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from controlplane.accounts.models import User
from controlplane.base import clock
from inventory.models import EnrolmentToken, Node, NodeSet
from inventory.tokens import digest, new_enrolment_secret

LIFE = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A one-time enrolment token with its secret, which is shown once."""

    token: EnrolmentToken
    secret: str


def make_token(
    *,
    creator: User | None,
    life: timedelta = LIFE,
    node_set: str | None = None,
    replaces: Node | None = None,
) -> NewToken:
    """A new one-time token; with `replaces` it lets this silent node's machine enrol without its old token."""
    site = NodeSet.objects.get_or_create(name=node_set)[0] if node_set else None
    secret = new_enrolment_secret()
    token = EnrolmentToken.objects.create(
        token_hash=digest(secret),
        created_by=creator,
        expires_at=clock.now() + life,
        node_set=site,
        replaces=replaces,
    )
    return NewToken(token, secret)


def renew_tokens(previous: Collection[str], *, count: int) -> list[str]:
    """Fresh secrets of nobody in particular, in the place of those that nobody used."""
    with transaction.atomic():
        unused = EnrolmentToken.objects.filter(used_at=None)
        unused.filter(token_hash__in=[digest(secret) for secret in previous]).delete()
        return [make_token(creator=None).secret for _ in range(count)]

"""Teams and people of the demo, and the enrolment tokens of its simulated nodes; safe to repeat at every start."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from django.db import transaction

from controlplane.accounts.models import Membership, Team, TeamRole, User
from controlplane.base import clock
from controlplane.embedded.state import write_private
from inventory.models import EnrolmentToken
from inventory.tokens import digest, new_enrolment_secret

# As many as the agent's own mixed cluster has.
NODES = 48
TOKEN_LIFE = timedelta(hours=24)
TEAMS: Mapping[str, str] = {
    "language": "Language models",
    "vision": "Computer vision",
    "platform": "Platform",
}
# The first of a team leads it.
PEOPLE: Mapping[str, tuple[str, ...]] = {
    "language": ("lin.wei", "ana.sousa"),
    "vision": ("chen.yu", "tom.berg"),
    "platform": ("mia.novak",),
}


def write_demo_rows(token_file: Path) -> None:
    """Whoever owns jobs exists, and every node without an identity finds a token."""
    for slug, names in PEOPLE.items():
        team, _ = Team.objects.get_or_create(slug=slug, defaults={"name": TEAMS[slug]})
        for name in names:
            role = TeamRole.LEAD if name == names[0] else TeamRole.MEMBER
            Membership.objects.get_or_create(user=_person(name), team=team, defaults={"role": role})
    renew_tokens(token_file)


def _person(name: str) -> User:
    user, made = User.objects.get_or_create(username=name)
    if made:
        # Nobody signs in as them until an administrator gives them a password.
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


def renew_tokens(token_file: Path) -> None:
    """Fresh one-time tokens, one a line, in the place of those that nobody used."""
    previous = token_file.read_text().split() if token_file.exists() else []
    secrets = [new_enrolment_secret() for _ in range(NODES)]
    expires_at = clock.now() + TOKEN_LIFE
    with transaction.atomic():
        unused = EnrolmentToken.objects.filter(used_at=None)
        unused.filter(token_hash__in=[digest(secret) for secret in previous]).delete()
        EnrolmentToken.objects.bulk_create(
            EnrolmentToken(token_hash=digest(secret), expires_at=expires_at) for secret in secrets
        )
    token_file.parent.mkdir(mode=0o700, exist_ok=True)
    write_private(token_file, "".join(f"{secret}\n" for secret in secrets))

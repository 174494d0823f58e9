"""Teams and people of the demo, and the enrolment tokens of its simulated nodes; safe to repeat at every start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from controlplane.accounts.models import Membership, Team, TeamRole, User
from controlplane.embedded.first_rows import renew_token_file

# As many as the agent's own mixed cluster has.
NODES = 48
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
    renew_token_file(token_file, count=NODES)


def _person(name: str) -> User:
    user, made = User.objects.get_or_create(username=name)
    if made:
        # Nobody signs in as them until an administrator gives them a password.
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user

"""The rows without which nobody can sign in and no agent can enrol; safe to repeat at every start."""

from pathlib import Path

from django.core.management import call_command
from django.db import transaction

from controlplane.accounts.models import Membership, Role, Team, TeamRole, User
from controlplane.accounts.passwords import new_password
from controlplane.base.models import Cluster
from controlplane.embedded.state import StateFolder, write_private
from controlplane.policy.models import PolicyVersion
from inventory.enrolment_tokens import renew_tokens

ADMIN = "admin"
DEFAULT_TEAM = "default"


def write_first_rows(state: StateFolder) -> str | None:
    """Cluster, policy, team, admin, enrolment token of the local agent; the admin's password if one was made."""
    Cluster.objects.get_or_create(id=1)
    if not PolicyVersion.objects.exists():
        call_command("load_policy")
    password = make_admin(state)
    renew_token_file(state.enrolment_token)
    return password


def make_admin(state: StateFolder) -> str | None:
    """Makes the first admin unless there is any; the file with its password is written before the row."""
    team, _ = Team.objects.get_or_create(slug=DEFAULT_TEAM, defaults={"name": "Default"})
    if User.objects.filter(role=Role.ADMIN, is_active=True).exists():
        return None
    password = new_password()
    write_private(state.admin_password, password + "\n")
    with transaction.atomic():
        user, _ = User.objects.get_or_create(username=ADMIN)
        user.role, user.is_active = Role.ADMIN, True
        user.set_password(password)
        user.save(update_fields=["role", "is_active", "password"])
        Membership.objects.update_or_create(user=user, team=team, defaults={"role": TeamRole.LEAD})
    return password


def renew_token_file(path: Path, *, count: int = 1) -> None:
    """Fresh one-time tokens, one a line, for agents beside us, which read them only while they have no identity."""
    previous = path.read_text().split() if path.exists() else []
    secrets = renew_tokens(previous, count=count)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_private(path, "".join(f"{secret}\n" for secret in secrets))

"""The rows without which nobody can sign in and no agent can enrol; safe to repeat at every start."""

from datetime import timedelta

from django.core.management import call_command
from django.db import transaction

from controlplane.accounts.models import Membership, Role, Team, TeamRole, User
from controlplane.accounts.passwords import new_password
from controlplane.base import clock
from controlplane.base.models import Cluster
from controlplane.embedded.state import StateFolder, write_private
from controlplane.policy.models import PolicyVersion
from inventory.models import EnrolmentToken
from inventory.tokens import digest, new_enrolment_secret

ADMIN = "admin"
DEFAULT_TEAM = "default"
TOKEN_LIFE = timedelta(hours=24)


def write_first_rows(state: StateFolder) -> str | None:
    """Cluster, policy, team, admin, enrolment token of the local agent; the admin's password if one was made."""
    Cluster.objects.get_or_create(id=1)
    if not PolicyVersion.objects.exists():
        call_command("load_policy")
    password = make_admin(state)
    renew_local_token(state)
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


def renew_local_token(state: StateFolder) -> None:
    """A fresh one-time token for the agent beside us, which reads it only while it has no identity of its own."""
    previous = state.enrolment_token.read_text().strip() if state.enrolment_token.exists() else ""
    secret = new_enrolment_secret()
    with transaction.atomic():
        EnrolmentToken.objects.filter(token_hash=digest(previous), used_at=None).delete()
        EnrolmentToken.objects.create(token_hash=digest(secret), expires_at=clock.now() + TOKEN_LIFE)
    write_private(state.enrolment_token, secret + "\n")

"""People, teams, API tokens, and who changed what."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Lower
from knox.models import AbstractAuthToken
from knox.settings import CONSTANTS

from controlplane.base import clock


class Role(models.TextChoices):
    """What a user may do in the whole cluster; team leads are members with a lead membership."""

    ADMIN = "admin"
    OPERATOR = "operator"
    MEMBER = "member"


class TeamRole(models.TextChoices):
    """What a user may do in one team."""

    LEAD = "lead"
    MEMBER = "member"


class Scope(models.TextChoices):
    """What an API token may do, never more than its user may."""

    READ = "read"
    SUBMIT = "submit"
    WRITE = "write"
    # Figures for Prometheus and nothing else.
    METRICS = "metrics"


class User(AbstractUser):  # type: ignore[django-manager-missing]  # knox's manager is untyped
    """A person or a robot account. An empty language means: as the browser asks."""

    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    language = models.CharField(max_length=10, choices=settings.LANGUAGES, blank=True)

    # What one request knows of its caller: the token it came with, and the memberships once read.
    used_token: ApiToken | None = None
    cached_memberships: list[Membership] | None = None

    class Meta(AbstractUser.Meta):
        constraints = [
            # Sign-in takes both in any case, so both must be unique in any case.
            models.UniqueConstraint(Lower("username"), name="user_name_once"),
            models.UniqueConstraint(Lower("email"), condition=~models.Q(email=""), name="user_email_once"),
        ]

    @property
    def team_roles(self) -> list[dict[str, str]]:
        """The teams of this user by name; prefetch `memberships__team` for lists."""
        found = sorted(self.memberships.all(), key=lambda m: m.team.slug)
        return [{"slug": m.team.slug, "name": m.team.name, "role": m.role} for m in found]


class Team(models.Model):  # type: ignore[django-manager-missing]
    """A group of users who share quota; `slug` is its name in requests."""

    slug = models.SlugField(max_length=50, unique=True)
    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(default=clock.now)
    members = models.ManyToManyField(User, through="Membership", related_name="teams")


class Membership(models.Model):
    """One user in one team."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=TeamRole, default=TeamRole.MEMBER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "team"], name="membership_once")]


class ApiToken(AbstractAuthToken):
    """A hashed, expiring token with scopes, optionally narrowed to one team."""

    # Not the primary key as in the library: the hash must not appear in addresses.
    digest = models.CharField(max_length=CONSTANTS.DIGEST_LENGTH, unique=True)
    name = models.CharField(max_length=100)
    scopes = models.JSONField(default=list)
    team = models.ForeignKey(Team, null=True, on_delete=models.CASCADE, related_name="tokens")
    last_used_at = models.DateTimeField(null=True)


class AuditEntry(models.Model):
    """One change: who, what, to what, from where."""

    at = models.DateTimeField(default=clock.now, db_index=True)
    actor = models.ForeignKey(User, null=True, on_delete=models.SET_NULL)
    actor_name = models.CharField(max_length=150)
    action = models.CharField(max_length=50)
    target_type = models.CharField(max_length=50)
    target_id = models.CharField(max_length=100)
    details = models.JSONField(default=dict)
    address = models.GenericIPAddressField(null=True)

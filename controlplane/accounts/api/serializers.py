"""Bodies and answers of accounts, teams, tokens and the audit trail."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from controlplane.accounts.models import Role, Scope, TeamRole
from controlplane.accounts.passwords import weaknesses
from controlplane.accounts.permissions import Action
from controlplane.base.api import SecretField, StrictSerializer
from controlplane.base.problems import Fault

USERNAME = RegexValidator(
    r"\A[A-Za-z0-9][A-Za-z0-9._+-]*\Z",
    _("Letters, digits and . _ + - only, beginning with a letter or digit."),
)
SLUG = RegexValidator(r"\A[a-z0-9]([a-z0-9-]*[a-z0-9])?\Z", _("Lower-case letters, digits and - only."))
LANGUAGES = [code for code, _name in settings.LANGUAGES]


class TeamRoleSerializer(serializers.Serializer):
    """A team that a user is in, with the user's role there."""

    slug = serializers.CharField()
    name = serializers.CharField()
    role = serializers.ChoiceField(choices=TeamRole.choices)


class ClusterSerializer(serializers.Serializer):
    """Which cluster this is."""

    name = serializers.CharField()
    uid = serializers.UUIDField()
    paused = serializers.BooleanField()
    version = serializers.CharField()


class MeSerializer(serializers.Serializer):
    """The caller: who, where, and what the caller may do. `language` null: as the browser asks."""

    username = serializers.CharField()
    email = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.choices)
    language = serializers.ChoiceField(choices=LANGUAGES, allow_null=True)
    teams = TeamRoleSerializer(many=True)
    permissions = serializers.ListField(
        child=serializers.ChoiceField(choices=[action.value for action in Action])
    )
    cluster = ClusterSerializer()


class MeEditSerializer(StrictSerializer):
    """What people may change of themselves here."""

    language = serializers.ChoiceField(choices=LANGUAGES, allow_null=True)


class PasswordChangeSerializer(StrictSerializer):
    """A new password of one's own; with `revoke_tokens` all tokens of the account end as well."""

    current = SecretField()
    new = SecretField()
    revoke_tokens = serializers.BooleanField(default=False)


class PasswordChangedSerializer(serializers.Serializer):
    """All other sessions have ended; `tokens_revoked` counts the tokens that did, too."""

    tokens_revoked = serializers.IntegerField()


class UserSerializer(serializers.Serializer):
    """An account as administrators see it."""

    id = serializers.IntegerField()
    username = serializers.CharField()
    email = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.choices)
    language = serializers.ChoiceField(choices=LANGUAGES, allow_null=True)
    active = serializers.BooleanField(source="is_active")
    created_at = serializers.DateTimeField(source="date_joined")
    last_sign_in_at = serializers.DateTimeField(source="last_login", allow_null=True)
    teams = TeamRoleSerializer(many=True, source="team_roles")

    def to_representation(self, instance: Any) -> dict[str, Any]:
        return {**super().to_representation(instance), "language": instance.language or None}


class UserMadeSerializer(UserSerializer):
    """The account just made; `password` only when the server chose it, and only this once."""

    password = serializers.CharField(allow_null=True)


class UserFieldsSerializer(StrictSerializer):
    """What administrators decide about an account."""

    email = serializers.EmailField(allow_blank=True, max_length=254, required=False)
    role = serializers.ChoiceField(choices=Role.choices, required=False)
    language = serializers.ChoiceField(choices=LANGUAGES, allow_null=True, required=False)
    password = SecretField(required=False)

    def validate_password(self, password: str) -> str:
        weak = weaknesses(password)
        if weak:
            raise serializers.ValidationError(weak, code=Fault.WEAK_PASSWORD)
        return password


class UserEditSerializer(UserFieldsSerializer):
    """What administrators may change of an account; a closed one (active: false) is out at once, and a new
    password ends all sessions.
    """

    active = serializers.BooleanField(required=False)
    revoke_tokens = serializers.BooleanField(required=False, help_text="All tokens of the account end.")


class UserMakeSerializer(UserFieldsSerializer):
    """A new account; without a password the server chooses one."""

    username = serializers.CharField(min_length=1, max_length=150, validators=[USERNAME])


class MemberSerializer(serializers.Serializer):
    """A member of a team."""

    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(choices=TeamRole.choices)


class MemberEditSerializer(StrictSerializer):
    """The role of a member."""

    role = serializers.ChoiceField(choices=TeamRole.choices)


class TeamSerializer(serializers.Serializer):
    """A team."""

    id = serializers.IntegerField()
    slug = serializers.CharField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
    members = serializers.IntegerField(source="member_count")


class TeamMakeSerializer(StrictSerializer):
    """A new team; the slug is its name in requests and never changes."""

    slug = serializers.CharField(max_length=50, validators=[SLUG])
    name = serializers.CharField(max_length=100)


class TeamEditSerializer(StrictSerializer):
    """What may change of a team."""

    name = serializers.CharField(max_length=100)


class TokenSerializer(serializers.Serializer):
    """A token without its secret."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices))
    team = serializers.CharField(source="team.slug", allow_null=True, default=None)
    created_at = serializers.DateTimeField(source="created")
    expires_at = serializers.DateTimeField(source="expiry", allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


class TokenMadeSerializer(TokenSerializer):
    """The token just made, with its secret, this once."""

    token = serializers.CharField()


class TokenMakeSerializer(StrictSerializer):
    """A new token, never stronger than its maker."""

    name = serializers.CharField(max_length=100)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=Scope.choices), min_length=1, max_length=len(Scope)
    )
    team = serializers.CharField(max_length=50, allow_null=True, default=None)
    expires_in_days = serializers.IntegerField(min_value=1, max_value=365, default=90)


class AuditSerializer(serializers.Serializer):
    """One line of the audit trail."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    actor = serializers.CharField(source="actor_name")
    action = serializers.CharField()
    target_type = serializers.CharField()
    target_id = serializers.CharField()
    details = serializers.DictField()
    address = serializers.CharField(allow_null=True)


class AuditQuerySerializer(StrictSerializer):
    """Filters of the audit trail."""

    actor = serializers.CharField(max_length=150, required=False)
    action = serializers.CharField(max_length=50, required=False)
    target_type = serializers.CharField(max_length=50, required=False)
    target_id = serializers.CharField(max_length=100, required=False)

"""Secrets of private registries, by name: what jobs may name. Their content has no way out of here."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.accounts.scoping import signed_in, visible_teams
from inventory.images import secrets
from inventory.images.secrets import SecretMissing, SecretUnusable


class RegistrySecretSerializer(serializers.Serializer):
    """One secret: the registries it is for and the teams whose jobs may name it (none: all). A `problem` says why it
    cannot be used.
    """

    name = serializers.CharField()
    registries = serializers.ListField(child=serializers.CharField())
    teams = serializers.ListField(child=serializers.CharField())
    problem = serializers.CharField(allow_blank=True)


class RegistrySecretsSerializer(serializers.Serializer):
    """All by name."""

    results = RegistrySecretSerializer(many=True)


class RegistrySecretsView(APIView):
    """The secrets that the caller's teams may name in jobs. They are made by `manage.py registry_secret`."""

    permission_classes = [permission_for(Action.JOB_READ)]

    @extend_schema(operation_id="registry_secrets", responses=RegistrySecretsSerializer)
    def get(self, request: Request) -> Response:
        teams = set(visible_teams(signed_in(request)).values_list("slug", flat=True))
        found = [_document(name, teams) for name in secrets.names()]
        return Response(RegistrySecretsSerializer({"results": [one for one in found if one]}).data)


def _document(name: str, teams: set[str]) -> dict[str, Any] | None:
    """None for one that is none of these teams' business."""
    told = {"name": name, "registries": [], "teams": [], "problem": ""}
    try:
        secret = secrets.find(name)
    except SecretMissing:
        return None
    except SecretUnusable as error:
        return told | {"problem": str(error)}
    mine = [team for team in secret.teams if team in teams]
    return told | {"registries": secret.registries, "teams": mine} if mine or not secret.teams else None

"""How views appear in the OpenAPI description: with their problems, tags by area, and operation ids from paths."""

from __future__ import annotations

from typing import Any, Literal

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from controlplane.base.problems import CONTENT_TYPE


class FieldErrorSerializer(serializers.Serializer):
    """One field error of a problem."""

    field = serializers.CharField()
    code = serializers.CharField()
    message = serializers.CharField()


class ProblemSerializer(serializers.Serializer):
    """Every error of the API."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField()
    detail = serializers.CharField()
    params = serializers.DictField()

    def get_fields(self) -> dict[str, serializers.Field]:
        # `errors` is taken as an attribute of every serializer.
        return {**super().get_fields(), "errors": FieldErrorSerializer(many=True)}


STATUSES = ("4XX", "5XX")


class ProblemSchema(AutoSchema):
    """Adds the problem answers to every operation."""

    def get_tags(self) -> list[str]:
        parts = [
            part for part in self.path.removeprefix("/api/v1").split("/") if part and not part.startswith("{")
        ]
        return parts[:1] or ["api"]

    def _get_response_bodies(self, direction: Literal["request", "response"] = "response") -> dict[str, Any]:
        bodies = super()._get_response_bodies(direction=direction)
        component = self.resolve_serializer(ProblemSerializer, "response")
        for status in STATUSES:
            bodies.setdefault(
                status, {"content": {CONTENT_TYPE: {"schema": component.ref}}, "description": "Problem"}
            )
        return bodies

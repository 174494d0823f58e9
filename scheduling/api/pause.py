"""Pausing the cluster and letting it go on."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.base.api import read_body
from inventory.api.serializers import ReasonSerializer
from scheduling.operations import pause_cluster, resume_cluster


class PauseStateSerializer(serializers.Serializer):
    """Whether anything new is started, and why not."""

    paused = serializers.BooleanField()
    reason = serializers.CharField(allow_null=True)


class PauseView(APIView):
    """Start nothing new until somebody resumes; what runs goes on. Harmless when paused already."""

    permission_classes = [permission_for(Action.CLUSTER_PAUSE)]

    @extend_schema(operation_id="pause", request=ReasonSerializer, responses=PauseStateSerializer)
    def post(self, request: Request) -> Response:
        reason = read_body(request, ReasonSerializer)["reason"]
        pause_cluster(request, reason=reason)
        return Response(PauseStateSerializer({"paused": True, "reason": reason or None}).data)


class ResumeView(APIView):
    """Start jobs again. Harmless when not paused."""

    permission_classes = [permission_for(Action.CLUSTER_PAUSE)]

    @extend_schema(operation_id="resume", request=ReasonSerializer, responses=PauseStateSerializer)
    def post(self, request: Request) -> Response:
        resume_cluster(request, reason=read_body(request, ReasonSerializer)["reason"])
        return Response(PauseStateSerializer({"paused": False, "reason": None}).data)

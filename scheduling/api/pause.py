"""Pausing the cluster, a queue or a node set, and letting it go on."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.base.api import read_body
from controlplane.base.problems import Fault, invalid
from inventory.api.serializers import ReasonSerializer
from inventory.models import NodeSet
from queues.models import Queue
from scheduling.pauses import pause_cluster, pause_part, resume_cluster, resume_part
from scheduling.selectors.pauses import pauses


class PauseRequestSerializer(ReasonSerializer):
    """Why, and what: one queue or one node set by name; neither for everything."""

    queue = serializers.CharField(max_length=50, required=False, allow_null=True)
    node_set = serializers.CharField(max_length=100, required=False, allow_null=True)


class PauseStateSerializer(serializers.Serializer):
    """Whether anything new is started there, and why not."""

    paused = serializers.BooleanField()
    reason = serializers.CharField(allow_null=True)


class PausedPartSerializer(serializers.Serializer):
    """What is paused, by whom and since when; both are null where that was not kept. `name` is null for everything."""

    scope = serializers.ChoiceField(choices=["cluster", "queue", "node-set"])
    name = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_null=True)
    actor = serializers.CharField(allow_null=True)
    since = serializers.DateTimeField(allow_null=True)


class PausesView(APIView):
    """All that is paused now: everything first, then queues, then node sets."""

    permission_classes = [permission_for(Action.QUEUE_READ)]

    @extend_schema(operation_id="pauses", responses=PausedPartSerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response(PausedPartSerializer(pauses(), many=True).data)


class PauseView(APIView):
    """Start nothing new there until somebody resumes; what runs goes on. Once this is answered nothing is started any
    more. Harmless when paused already.
    """

    permission_classes = [permission_for(Action.CLUSTER_PAUSE)]

    @extend_schema(operation_id="pause", request=PauseRequestSerializer, responses=PauseStateSerializer)
    def post(self, request: Request) -> Response:
        body = read_body(request, PauseRequestSerializer)
        part, reason = _part(body), body["reason"]
        if part is None:
            pause_cluster(request, reason=reason)
        else:
            pause_part(request, part, reason=reason)
        return Response(PauseStateSerializer({"paused": True, "reason": reason or None}).data)


class ResumeView(APIView):
    """Start jobs there again. Harmless when not paused."""

    permission_classes = [permission_for(Action.CLUSTER_PAUSE)]

    @extend_schema(operation_id="resume", request=PauseRequestSerializer, responses=PauseStateSerializer)
    def post(self, request: Request) -> Response:
        body = read_body(request, PauseRequestSerializer)
        part, reason = _part(body), body["reason"]
        if part is None:
            resume_cluster(request, reason=reason)
        else:
            resume_part(request, part, reason=reason)
        return Response(PauseStateSerializer({"paused": False, "reason": None}).data)


def _part(body: dict[str, Any]) -> Queue | NodeSet | None:
    queue, node_set = body.get("queue"), body.get("node_set")
    if queue is not None and node_set is not None:
        message = _("Name a queue or a node set, not both.")
        raise invalid("node_set", Fault.INVALID, message=message)
    if queue is None and node_set is None:
        return None
    field, found = (
        ("queue", Queue.objects.filter(name=queue).first())
        if queue is not None
        else ("node_set", NodeSet.objects.filter(name=node_set).first())
    )
    if found is None:
        raise invalid(field, Fault.NOT_FOUND)
    return found

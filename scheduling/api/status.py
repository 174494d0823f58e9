"""The control plane about itself: for the console as JSON, for Prometheus as text."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from scheduling.api.cluster_serializers import LastCycleSerializer
from scheduling.api.logs import PlainTextRenderer
from scheduling.metrics import CONTENT_TYPE, exposition
from scheduling.selectors.status import status


class WallSerializer(serializers.Serializer):
    """Milliseconds that cycles took."""

    count = serializers.IntegerField()
    mean = serializers.FloatField(allow_null=True)
    p50 = serializers.FloatField(allow_null=True)
    p95 = serializers.FloatField(allow_null=True)
    p99 = serializers.FloatField(allow_null=True)


class CycleStatusSerializer(serializers.Serializer):
    """The scheduler in the last hour. A cycle is a look that found waiting jobs; `looks_1h` counts those that found
    none, too. `skipped_1h`: looks that came to nothing (lease lost, an error). `decisions_per_s` counts
    what was decided per second of cycle time: jobs placed or to be decided anew, and shapes refused, not the jobs
    that a refused shape answers for. `cpu_percent` is of one core, `cache_hit_percent` the share of scores (one per
    shape and node) that were still right.
    """

    last = LastCycleSerializer(allow_null=True)
    looks_1h = serializers.IntegerField()
    count_1h = serializers.IntegerField()
    wall_ms = WallSerializer()
    decisions_per_s = serializers.FloatField(allow_null=True)
    cache_hit_percent = serializers.FloatField(allow_null=True)
    cpu_percent = serializers.FloatField(allow_null=True)
    skipped_1h = serializers.IntegerField()
    longest_gap_s = serializers.FloatField(allow_null=True)


class WorkerQueueSerializer(serializers.Serializer):
    """Messages that no worker has taken yet; null when the broker does not answer."""

    name = serializers.CharField()
    waiting = serializers.IntegerField(allow_null=True)


class AgentVersionSerializer(serializers.Serializer):
    """How many nodes run one version of the agent."""

    version = serializers.CharField()
    count = serializers.IntegerField()


class AgentsSerializer(serializers.Serializer):
    """Nodes whose agents report, and those that are silent or lost."""

    online = serializers.IntegerField()
    silent = serializers.IntegerField()
    versions = AgentVersionSerializer(many=True)


class DatabaseSerializer(serializers.Serializer):
    """PostgreSQL."""

    ok = serializers.BooleanField()
    size_mib = serializers.IntegerField(allow_null=True)
    version = serializers.CharField(allow_null=True)


class ValkeySerializer(serializers.Serializer):
    """Valkey, or a Redis in its place."""

    ok = serializers.BooleanField()
    version = serializers.CharField(allow_null=True)


class StatusSerializer(serializers.Serializer):
    """The control plane about itself."""

    at = serializers.DateTimeField()
    cycle = CycleStatusSerializer()
    workers = WorkerQueueSerializer(many=True)
    agents = AgentsSerializer()
    database = DatabaseSerializer()
    valkey = ValkeySerializer()


class StatusView(APIView):
    """The control plane about itself: cycles, workers, agents, database and broker."""

    permission_classes = [permission_for(Action.STATUS_READ)]

    @extend_schema(operation_id="status", responses=StatusSerializer)
    def get(self, request: Request) -> Response:
        return Response(StatusSerializer(status()).data)


class MetricsView(APIView):
    """Figures for Prometheus. Counts only, no names of jobs, teams or people; still they say how large and how busy a
    cluster is, so a token with the scope `metrics` or `read` is needed (`authorization: {credentials: hr_...}`). No
    exception for loopback: behind a proxy everybody comes from there.
    """

    permission_classes = [permission_for(Action.METRICS_READ)]
    renderer_classes = [PlainTextRenderer]

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(exposition(), content_type=CONTENT_TYPE)

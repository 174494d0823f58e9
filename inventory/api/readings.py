"""Charts of readings: of a device, a node, and of many devices together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.base import clock
from controlplane.base.api import LARGEST_LIMIT, StrictSerializer, read_query
from controlplane.base.problems import Fault, invalid, not_found
from controlplane.policy.active import active_policy
from inventory.history.groups import Groups, group_totals
from inventory.history.metrics import DEVICE, GROUP, NODE, Grain, Subject
from inventory.history.reading import LONGEST, MOST_POINTS, Span, Window, chart, choose
from inventory.models import Device, Node

DEFAULT_SPAN = timedelta(hours=1)
OVERVIEW_METRICS = ("utilization_pct", "booked_milli")
_ORDER = _("`from` must be before `to`.")
_LENGTH = _("At most %(limit)s days.")
METRICS = sorted({*DEVICE.metrics, *NODE.metrics})


def _span_fields(metrics: Sequence[str]) -> dict[str, Any]:
    return {
        "from": serializers.DateTimeField(required=False, help_text="Default: an hour before `to`."),
        "to": serializers.DateTimeField(required=False, help_text="Exclusive. Default: now."),
        "points": serializers.IntegerField(min_value=2, max_value=MOST_POINTS, default=MOST_POINTS),
        "metric": serializers.MultipleChoiceField(choices=list(metrics), required=False),
    }


DeviceReadingsQuerySerializer = type(
    "DeviceReadingsQuerySerializer", (StrictSerializer,), _span_fields(DEVICE.metrics)
)
NodeReadingsQuerySerializer = type(
    "NodeReadingsQuerySerializer", (StrictSerializer,), _span_fields(NODE.metrics)
)
_GROUP_FIELDS = {
    "node_set": serializers.CharField(max_length=100, required=False),
    "model": serializers.CharField(max_length=200, required=False),
}
ReadingsQuerySerializer = type(
    "ReadingsQuerySerializer", (StrictSerializer,), {**_span_fields(GROUP.metrics), **_GROUP_FIELDS}
)
_LIMIT = serializers.IntegerField(min_value=1, max_value=LARGEST_LIMIT, default=LARGEST_LIMIT)
GroupsQuerySerializer = type("GroupsQuerySerializer", (ReadingsQuerySerializer,), {"limit": _LIMIT})


class SeriesSerializer(serializers.Serializer):
    """One metric: a list per statistic with one member per step; null where there was no reading."""

    metric = serializers.ChoiceField(choices=METRICS)
    count = serializers.ListField(child=serializers.IntegerField(allow_null=True))
    mean = serializers.ListField(child=serializers.FloatField(allow_null=True))
    min = serializers.ListField(child=serializers.IntegerField(allow_null=True))
    max = serializers.ListField(child=serializers.IntegerField(allow_null=True))
    p50 = serializers.ListField(child=serializers.FloatField(allow_null=True))
    p95 = serializers.ListField(child=serializers.FloatField(allow_null=True))
    p99 = serializers.ListField(child=serializers.FloatField(allow_null=True))


class _ChartSerializer(serializers.Serializer):
    """Step i begins `i * step_s` seconds after `from`; percentiles are within 1.6 % of the value."""

    to = serializers.DateTimeField()
    step_s = serializers.IntegerField()
    grain = serializers.ChoiceField(choices=[grain.value for grain in Grain])
    points = serializers.IntegerField()
    series = SeriesSerializer(many=True)


ReadingsSerializer = type(
    "ReadingsSerializer",
    (_ChartSerializer,),
    {"from": serializers.DateTimeField(), "__doc__": _ChartSerializer.__doc__},
)


class ReadingSummarySerializer(serializers.Serializer):
    """One metric of a group over the whole span."""

    count = serializers.IntegerField()
    mean = serializers.FloatField()
    min = serializers.IntegerField()
    max = serializers.IntegerField()
    p50 = serializers.FloatField()
    p95 = serializers.FloatField()
    p99 = serializers.FloatField()


class GroupReadingsSerializer(serializers.Serializer):
    """Devices of one node set and model: use as measured beside what was booked, each over the whole span."""

    node_set = serializers.CharField(allow_null=True)
    model = serializers.CharField(allow_null=True)
    utilization_pct = ReadingSummarySerializer(allow_null=True)
    booked_milli = ReadingSummarySerializer(allow_null=True)


class GroupsReadingsSerializer(serializers.Serializer):
    """The first `limit` groups by node set and model, and how many there are in all."""

    total = serializers.IntegerField()
    results = GroupReadingsSerializer(many=True)


class DeviceReadingsView(APIView):
    """Readings of one device over time."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(
        operation_id="device_readings",
        parameters=[DeviceReadingsQuerySerializer],
        responses=ReadingsSerializer,
    )
    def get(self, request: Request, device_id: int) -> Response:
        query = read_query(request, DeviceReadingsQuerySerializer)
        if not Device.objects.filter(pk=device_id).exists():
            raise not_found()
        return _chart(DEVICE, [device_id], query)


class NodeReadingsView(APIView):
    """Readings of one host over time."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(
        operation_id="node_readings", parameters=[NodeReadingsQuerySerializer], responses=ReadingsSerializer
    )
    def get(self, request: Request, node_id: int) -> Response:
        query = read_query(request, NodeReadingsQuerySerializer)
        if not Node.objects.filter(pk=node_id).exists():
            raise not_found()
        return _chart(NODE, [node_id], query)


class ReadingsView(APIView):
    """Readings of all accelerators together, or of those of one node set or model. `booked_milli` is what was booked of
    each at the same time, 1000 being a whole device. Without `metric`: these two.
    """

    permission_classes = [permission_for(Action.OVERVIEW_READ)]

    @extend_schema(
        operation_id="readings", parameters=[ReadingsQuerySerializer], responses=ReadingsSerializer
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, ReadingsQuerySerializer)
        ids = _groups(query).ids()
        return _chart(GROUP, ids, {"metric": OVERVIEW_METRICS, **query})


class GroupsReadingsView(APIView):
    """Each node set's models with their use over a span: what was measured beside what was booked."""

    permission_classes = [permission_for(Action.OVERVIEW_READ)]

    @extend_schema(
        operation_id="readings_groups",
        parameters=[GroupsQuerySerializer],
        responses=GroupsReadingsSerializer,
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, GroupsQuerySerializer)
        found = group_totals(_groups(query), _window(GROUP, query), OVERVIEW_METRICS, limit=query["limit"])
        return Response(GroupsReadingsSerializer(found).data)


def _groups(query: dict[str, Any]) -> Groups:
    return Groups(query.get("node_set"), query.get("model"))


def _chart(subject: Subject, ids: Sequence[int], query: dict[str, Any]) -> Response:
    found = chart(subject, ids, _window(subject, query), query.get("metric") or None)
    return Response(ReadingsSerializer(found).data)


def _window(subject: Subject, query: dict[str, Any]) -> Window:
    """The asked span; 400 when it is none."""
    now = clock.now()
    end = query.get("to", now)
    start = query.get("from", end - DEFAULT_SPAN)
    if start >= end:
        raise invalid("from", Fault.INVALID, message=_ORDER)
    if end - start > LONGEST:
        raise invalid("from", Fault.INVALID, message=_LENGTH, limit=LONGEST.days)
    return choose(Span(start, end, query["points"]), subject, active_policy(), now)

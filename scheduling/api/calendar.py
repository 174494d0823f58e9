"""What the coming days bring: valley windows, peak hours, promised starts, deadlines of nodes, and free capacity by the
hour.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.accounts.scoping import signed_in
from controlplane.base import clock
from controlplane.base.api import StrictSerializer, read_query
from controlplane.base.problems import Fault, invalid
from controlplane.policy.active import active_policy
from inventory.known_names import no_such_model
from inventory.models import NodeState
from scheduling.deferring import coming_windows, current_season
from scheduling.selectors.calendar import (
    forecast_view,
    out_of_service,
    peak_spans,
    power_spans,
    promised,
    valley_spans,
)
from scheduling.selectors.live import live_view

MOST_DAYS = 31
MOST_HOURS = 7 * 24
MOST_MODELS = 20


class WindowSerializer(serializers.Serializer):
    """One stretch of time; the end is not part of it."""

    opens_at = serializers.DateTimeField()
    closes_at = serializers.DateTimeField()


class ValleySerializer(serializers.Serializer):
    """The valley window by the clocks of its time zone and the moments at which it opens and closes; `open` with the
    reason `because` while deferrable jobs may start. `early_at`: when a cluster that stays as idle as it is lets them.
    """

    time_zone = serializers.CharField()
    closes = serializers.CharField()
    early_below_percent = serializers.IntegerField()
    early_after_s = serializers.IntegerField()
    open = serializers.BooleanField()
    because = serializers.CharField(allow_null=True)
    early_at = serializers.DateTimeField(allow_null=True)
    windows = WindowSerializer(many=True)

    def get_fields(self) -> dict[str, serializers.Field]:
        """`from` is a word of the language, so it cannot be declared like the others."""
        fields: dict[str, serializers.Field] = super().get_fields()
        return {"from": serializers.CharField(), "to": fields.pop("closes"), **fields}


class ValleyQuerySerializer(StrictSerializer):
    """How far to look."""

    days = serializers.IntegerField(min_value=1, max_value=MOST_DAYS, default=7)


class ValleyView(APIView):
    """The coming valley windows, also over midnight and on days of 23 and 25 hours."""

    permission_classes = [permission_for(Action.QUEUE_READ)]

    @extend_schema(operation_id="valley", parameters=[ValleyQuerySerializer], responses=ValleySerializer)
    def get(self, request: Request) -> Response:
        days = read_query(request, ValleyQuerySerializer)["days"]
        window = active_policy().valley_window
        found = current_season(window)
        spans = coming_windows(window, clock.now(), days=days)
        answer = {
            "from": window.from_,
            "to": window.to,
            "time_zone": window.time_zone,
            "early_below_percent": window.early_below_percent,
            "early_after_s": window.early_after_s,
            "open": found.code is not None,
            "because": found.code,
            "early_at": found.early_at,
            "windows": [{"opens_at": opens, "closes_at": closes} for opens, closes in spans],
        }
        return Response(ValleySerializer(answer).data)


class PowerSpanSerializer(WindowSerializer):
    """A stretch of time with one cap on power; null is no cap."""

    cap_w = serializers.IntegerField(allow_null=True)


class PromisedStartSerializer(serializers.Serializer):
    """Where and when one replica of a job that waited long should start; names of foreign jobs are null."""

    job = serializers.IntegerField()
    name = serializers.CharField(allow_null=True)
    replica = serializers.IntegerField()
    node = serializers.IntegerField()
    node_name = serializers.CharField()
    starts_at = serializers.DateTimeField()


class NodeOutSerializer(serializers.Serializer):
    """A node that an operator drains or maintains; what still runs there at the deadline (null: none) is moved."""

    node = serializers.IntegerField()
    node_name = serializers.CharField()
    state = serializers.ChoiceField(choices=NodeState.choices)
    reason = serializers.CharField()
    since = serializers.DateTimeField()
    deadline = serializers.DateTimeField(allow_null=True)


class CalendarSerializer(serializers.Serializer):
    """The coming days by the clocks of the policy's time zone: when deferrable jobs may start, the peak hours (what the
    idle rule does not call off-peak), caps on power, promised starts and nodes out of service, of both the first 200.
    """

    time_zone = serializers.CharField()
    begins_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    valleys = WindowSerializer(many=True)
    peaks = WindowSerializer(many=True)
    power = PowerSpanSerializer(many=True)
    promised = PromisedStartSerializer(many=True)
    promised_total = serializers.IntegerField()
    nodes = NodeOutSerializer(many=True)
    nodes_total = serializers.IntegerField()


class CalendarView(APIView):
    """Windows, promises and deadlines of the coming days."""

    permission_classes = [permission_for(Action.QUEUE_READ)]

    @extend_schema(operation_id="calendar", parameters=[ValleyQuerySerializer], responses=CalendarSerializer)
    def get(self, request: Request) -> Response:
        days = read_query(request, ValleyQuerySerializer)["days"]
        policy, now = active_policy(), clock.now()
        zone = policy.valley_window.time_zone
        starts, total = promised(signed_in(request))
        nodes, nodes_total = out_of_service()
        answer = {
            "time_zone": zone,
            "begins_at": now,
            "ends_at": now + timedelta(days=days),
            "valleys": _windows(valley_spans(policy.valley_window, now, days)),
            "peaks": _windows(peak_spans(policy.idle_rule, zone, now, days)),
            "power": power_spans(policy.power, now, days),
            "promised": starts,
            "promised_total": total,
            "nodes": nodes,
            "nodes_total": nodes_total,
        }
        return Response(CalendarSerializer(answer).data)


def _windows(spans: list[tuple[datetime, datetime]]) -> list[dict[str, datetime]]:
    return [{"opens_at": opens, "closes_at": closes} for opens, closes in spans]


class ForecastPointSerializer(serializers.Serializer):
    """What should be free at least at this moment, and what is held until nobody knows when."""

    at = serializers.DateTimeField()
    free_device_milli = serializers.IntegerField()
    free_devices = serializers.IntegerField()
    free_core_milli = serializers.IntegerField()
    unknown_device_milli = serializers.IntegerField()
    unknown_core_milli = serializers.IntegerField()


class ForecastSerializer(serializers.Serializer):
    """Free capacity now and at every full hour: free now, and what comes back at the ends of what runs that are known
    by a time limit or as long as such jobs usually run, less promised starts. New jobs are not foreseen.
    """

    models = serializers.ListField(child=serializers.CharField())
    by_time_limit = serializers.IntegerField()
    by_history = serializers.IntegerField()
    end_unknown = serializers.IntegerField()
    promised = serializers.IntegerField()
    points = ForecastPointSerializer(many=True)


class ForecastQuerySerializer(StrictSerializer):
    """How far to look, and of which models; all where none is named."""

    hours = serializers.IntegerField(min_value=1, max_value=MOST_HOURS, default=24)
    model = serializers.ListField(
        child=serializers.CharField(max_length=200), max_length=MOST_MODELS, required=False
    )


class ForecastView(APIView):
    """How much should be free when, for those whose jobs can wait."""

    permission_classes = [permission_for(Action.QUEUE_READ)]

    @extend_schema(
        operation_id="forecast", parameters=[ForecastQuerySerializer], responses=ForecastSerializer
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, ForecastQuerySerializer)
        models = query.get("model", [])
        for model in models:
            if reason := no_such_model(model):
                raise invalid("model", Fault.NOT_FOUND, message=reason)
        live = live_view(pending=False)
        found = forecast_view(live, hours=query["hours"], models=models)
        return Response(ForecastSerializer(found).data)

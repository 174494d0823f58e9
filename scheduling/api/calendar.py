"""When jobs that can wait for a quieter time may start."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.base import clock
from controlplane.base.api import StrictSerializer, read_query
from controlplane.policy.active import active_policy
from scheduling.deferring import coming_windows, current_season

MOST_DAYS = 31


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

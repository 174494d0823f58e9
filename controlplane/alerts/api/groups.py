"""Open alerts that say the same of many subjects, as one row; and taking up all of such a group."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Min, Q
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import audit
from controlplane.accounts.permissions import Action, permission_for
from controlplane.accounts.scoping import signed_in
from controlplane.alerts.api.views import AlertSerializer, NoteSerializer, alerts_of
from controlplane.alerts.models import Severity
from controlplane.alerts.service import acknowledge_all
from controlplane.base.api import StrictSerializer, read_body, read_query

KIND = ("code", "severity", "silenced")


class AlertGroupSerializer(serializers.Serializer):
    """Open alerts of one code and severity; who they are about: `alerts?open=true&code=&severity=&silenced=`."""

    code = serializers.CharField()
    severity = serializers.ChoiceField(choices=Severity.choices)
    silenced = serializers.BooleanField()
    count = serializers.IntegerField()
    acknowledged = serializers.IntegerField(help_text="How many of them somebody has taken up.")
    first_raised_at = serializers.DateTimeField()
    last_raised_at = serializers.DateTimeField()
    newest = AlertSerializer()


class AlertGroupQuerySerializer(StrictSerializer):
    """Filters of groups."""

    silenced = serializers.BooleanField(required=False)


class AlertGroupsView(APIView):
    """Open alerts by code and severity, critical ones first, then those with the newest alert."""

    permission_classes = [permission_for(Action.ALERT_READ)]

    @extend_schema(
        operation_id="alert_groups",
        parameters=[AlertGroupQuerySerializer],
        responses=AlertGroupSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, AlertGroupQuerySerializer)
        alerts = alerts_of(signed_in(request)).filter(cleared_at=None, **query)
        groups: list[dict[str, Any]] = list(
            alerts.values(*KIND).order_by().annotate(
                count=Count("id"), acknowledged=Count("id", filter=Q(acknowledged_at__isnull=False)),
                first_raised_at=Min("raised_at"), last_raised_at=Max("raised_at"), newest=Max("id"),
            )
        )  # fmt: skip
        newest = alerts_of(signed_in(request)).in_bulk([group["newest"] for group in groups])
        rows = [{**one, "newest": newest[one["newest"]]} for one in groups if one["newest"] in newest]
        rows.sort(key=lambda one: (one["severity"] != Severity.CRITICAL, -one["newest"].pk))
        return Response(AlertGroupSerializer(rows, many=True).data)


class AcknowledgeGroupSerializer(NoteSerializer):
    """Which alerts: as a group names them, up to the newest one that the caller has seen."""

    code = serializers.CharField(max_length=80)
    severity = serializers.ChoiceField(choices=Severity.choices)
    silenced = serializers.BooleanField()
    up_to = serializers.IntegerField(min_value=1, max_value=2**63 - 1, help_text="Id of the newest one.")


class AcknowledgedSerializer(serializers.Serializer):
    """How many alerts were taken up now; the others had somebody already."""

    acknowledged = serializers.IntegerField()


class AcknowledgeGroupView(APIView):
    """Somebody takes up all alerts of a group that nobody has yet."""

    permission_classes = [permission_for(Action.ALERT_HANDLE)]

    @extend_schema(
        operation_id="alert_group_acknowledge",
        request=AcknowledgeGroupSerializer,
        responses=AcknowledgedSerializer,
    )
    def post(self, request: Request) -> Response:
        body = read_body(request, AcknowledgeGroupSerializer)
        kind = {name: body[name] for name in KIND}
        alerts = alerts_of(signed_in(request)).filter(**kind, pk__lte=body["up_to"])
        with transaction.atomic():
            taken = acknowledge_all(alerts, by=signed_in(request).username, note=body["note"])
            if taken:
                audit.record(request, "alert-group-acknowledge", details=body | {"acknowledged": taken})
        return Response(AcknowledgedSerializer({"acknowledged": taken}).data)

"""What needs a person."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.accounts.scoping import sees_everything
from controlplane.alerts.models import Alert, Severity
from controlplane.base.api import PAGE_PARAMETERS, StrictSerializer, page, page_of, read_query

# Subjects that belong to no team; alerts about anything else are for those who see everything.
SHARED_SUBJECTS = ("node", "device", "cluster")


class AlertSerializer(serializers.Serializer):
    """One alert; open until `cleared_at`. The text is made from `code` and `details`."""

    id = serializers.IntegerField()
    code = serializers.CharField()
    severity = serializers.ChoiceField(choices=Severity.choices)
    subject_type = serializers.CharField()
    subject_id = serializers.CharField()
    details = serializers.DictField()
    raised_at = serializers.DateTimeField()
    cleared_at = serializers.DateTimeField(allow_null=True)


class AlertQuerySerializer(StrictSerializer):
    """Filters of alerts."""

    open = serializers.BooleanField(required=False)
    severity = serializers.ChoiceField(choices=Severity.choices, required=False)
    code = serializers.CharField(max_length=50, required=False)
    subject_type = serializers.CharField(max_length=20, required=False)
    subject_id = serializers.CharField(max_length=100, required=False)


class AlertsView(APIView):
    """Open and cleared alerts, newest first."""

    permission_classes = [permission_for(Action.ALERT_READ)]

    @extend_schema(
        operation_id="alerts",
        parameters=[AlertQuerySerializer, *PAGE_PARAMETERS],
        responses=page_of(AlertSerializer),
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, AlertQuerySerializer, paged=True)
        if "open" in query:
            query["cleared_at__isnull"] = query.pop("open")
        alerts = Alert.objects.filter(**query)
        if not sees_everything(request.user):
            alerts = alerts.filter(subject_type__in=SHARED_SUBJECTS)
        return page(request, alerts, serializer=AlertSerializer)

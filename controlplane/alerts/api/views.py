"""What needs a person."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import audit
from controlplane.accounts.models import User
from controlplane.accounts.permissions import Action, permission_for
from controlplane.accounts.scoping import sees_everything, signed_in
from controlplane.alerts.models import Alert, Severity
from controlplane.alerts.service import acknowledge, unacknowledge
from controlplane.alerts.silences import with_silenced
from controlplane.base.api import PAGE_PARAMETERS, StrictSerializer, page, page_of, read_body, read_query
from controlplane.base.problems import Problem, not_found

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
    acknowledged_at = serializers.DateTimeField(allow_null=True)
    acknowledged_by = serializers.CharField()
    note = serializers.CharField()
    silenced = serializers.BooleanField()


class AlertQuerySerializer(StrictSerializer):
    """Filters of alerts."""

    open = serializers.BooleanField(required=False)
    acknowledged = serializers.BooleanField(required=False)
    silenced = serializers.BooleanField(required=False)
    severity = serializers.ChoiceField(choices=Severity.choices, required=False)
    code = serializers.CharField(max_length=80, required=False)
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
        if "acknowledged" in query:
            query["acknowledged_at__isnull"] = not query.pop("acknowledged")
        alerts = alerts_of(signed_in(request)).filter(**query)
        return page(request, alerts, serializer=AlertSerializer)


def alerts_of(user: User) -> QuerySet[Alert]:
    """What this caller may see."""
    alerts = with_silenced(Alert.objects.all())
    return alerts if sees_everything(user) else alerts.filter(subject_type__in=SHARED_SUBJECTS)


class NoteSerializer(StrictSerializer):
    """What is being done about it."""

    note = serializers.CharField(max_length=500, allow_blank=True, default="")


class AcknowledgeView(APIView):
    """Somebody takes up an open alert; it stays open until its cause is gone. Whoever has it already keeps it."""

    permission_classes = [permission_for(Action.ALERT_HANDLE)]

    @extend_schema(operation_id="alert_acknowledge", request=NoteSerializer, responses=AlertSerializer)
    def post(self, request: Request, alert_id: int) -> Response:
        note = read_body(request, NoteSerializer)["note"]
        alert = _found(request, alert_id)
        if alert.cleared_at is not None:
            raise Problem(409, "alert-cleared", message=_("The alert is cleared already."))
        with transaction.atomic():
            if acknowledge(alert, by=signed_in(request).username, note=note):
                audit.record(
                    request, "alert-acknowledge", target=alert, details=_told(alert) | {"note": note}
                )
        return Response(AlertSerializer(_found(request, alert_id)).data)


class UnacknowledgeView(APIView):
    """Nobody has the alert any more. Harmless when nobody had."""

    permission_classes = [permission_for(Action.ALERT_HANDLE)]

    @extend_schema(operation_id="alert_unacknowledge", request=None, responses=AlertSerializer)
    def post(self, request: Request, alert_id: int) -> Response:
        alert = _found(request, alert_id)
        with transaction.atomic():
            if unacknowledge(alert):
                audit.record(request, "alert-unacknowledge", target=alert, details=_told(alert))
        return Response(AlertSerializer(_found(request, alert_id)).data)


def _found(request: Request, alert_id: int) -> Alert:
    alert = alerts_of(signed_in(request)).filter(pk=alert_id).first()
    if alert is None:
        raise not_found()
    return alert


def _told(alert: Alert) -> dict[str, Any]:
    return {"code": alert.code, "subject_type": alert.subject_type, "subject_id": alert.subject_id}

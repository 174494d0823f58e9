"""Alerts that shall call nobody for a while, and the rules that raise alerts out of readings."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import audit
from controlplane.accounts.permissions import Action, permission_for, permissions_by_method
from controlplane.accounts.scoping import sees_everything, signed_in
from controlplane.alerts.api.views import SHARED_SUBJECTS
from controlplane.alerts.models import Severity, Silence
from controlplane.alerts.silences import end_silence, is_known, silence
from controlplane.base import clock
from controlplane.base.api import PAGE_PARAMETERS, StrictSerializer, page, page_of, read_body, read_query
from controlplane.base.problems import Fault, invalid, not_found
from controlplane.policy.active import active_policy
from controlplane.policy.document import AlertMetric

LONGEST = timedelta(days=30)
SUBJECT_TYPES = (*SHARED_SUBJECTS, "job")


class SilenceSerializer(serializers.Serializer):
    """Alerts that match all that is not blank call nobody until `until`."""

    id = serializers.IntegerField()
    code = serializers.CharField()
    subject_type = serializers.CharField()
    subject_id = serializers.CharField()
    reason = serializers.CharField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    until = serializers.DateTimeField()


class SilenceMakeSerializer(StrictSerializer):
    """Which alerts, for how long (minutes, at most 30 days) and why. A code or a subject is needed."""

    code = serializers.CharField(max_length=80, allow_blank=True, default="")
    subject_type = serializers.ChoiceField(choices=SUBJECT_TYPES, allow_blank=True, default="")
    subject_id = serializers.CharField(max_length=100, allow_blank=True, default="")
    minutes = serializers.IntegerField(min_value=1, max_value=LONGEST // timedelta(minutes=1))
    reason = serializers.CharField(max_length=500)


class SilenceQuerySerializer(StrictSerializer):
    """Filters of silences."""

    active = serializers.BooleanField(required=False)


class SilencesView(APIView):
    """Silences, newest first; and a new one."""

    permission_classes = [permissions_by_method(GET=Action.ALERT_READ, POST=Action.ALERT_HANDLE)]

    @extend_schema(
        operation_id="alert_silences",
        parameters=[SilenceQuerySerializer, *PAGE_PARAMETERS],
        responses=page_of(SilenceSerializer),
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, SilenceQuerySerializer, paged=True)
        found = Silence.objects.all()
        if not sees_everything(signed_in(request)):
            found = found.filter(subject_type__in=(*SHARED_SUBJECTS, ""))
        if "active" in query:
            now = clock.now()
            found = found.filter(until__gt=now) if query["active"] else found.filter(until__lte=now)
        return page(request, found, serializer=SilenceSerializer)

    @extend_schema(
        operation_id="alert_silence_create", request=SilenceMakeSerializer, responses={201: SilenceSerializer}
    )
    def post(self, request: Request) -> Response:
        body = read_body(request, SilenceMakeSerializer)
        if not body["code"] and not body["subject_id"]:
            raise invalid("code", Fault.REQUIRED, message=_("Name a code, or a subject by type and id."))
        if body["subject_id"] and not body["subject_type"]:
            raise invalid("subject_type", Fault.REQUIRED)
        if body["subject_id"] and not is_known(body["subject_type"], body["subject_id"]):
            raise invalid("subject_id", Fault.NOT_FOUND)
        until = clock.now() + timedelta(minutes=body.pop("minutes"))
        with transaction.atomic():
            made = silence(**body, until=until, by=signed_in(request).username)
            audit.record(request, "alert-silence", target=made, details=body | {"until": until.isoformat()})
        return Response(SilenceSerializer(made).data, status=201)


class SilenceEndView(APIView):
    """Ends a silence now. Harmless when it has ended."""

    permission_classes = [permission_for(Action.ALERT_HANDLE)]

    @extend_schema(operation_id="alert_silence_end", request=None, responses=SilenceSerializer)
    def post(self, request: Request, silence_id: int) -> Response:
        made = Silence.objects.filter(pk=silence_id).first()
        if made is None:
            raise not_found()
        with transaction.atomic():
            if end_silence(made):
                audit.record(request, "alert-silence-end", target=made)
        made.refresh_from_db()
        return Response(SilenceSerializer(made).data)


class AlertRuleSerializer(serializers.Serializer):
    """A rule of the active policy: an alert where `metric` stays above or below a limit for `for_s`."""

    name = serializers.CharField()
    metric = serializers.ChoiceField(choices=[metric.value for metric in AlertMetric])
    above = serializers.IntegerField(allow_null=True)
    below = serializers.IntegerField(allow_null=True)
    clear = serializers.IntegerField(allow_null=True)
    for_s = serializers.IntegerField()
    severity = serializers.ChoiceField(choices=Severity.choices)
    node_sets = serializers.ListField(child=serializers.CharField())
    models = serializers.ListField(child=serializers.CharField())


class AlertRulesView(APIView):
    """The rules of the active policy, in its order; they are changed by a new version of the policy."""

    permission_classes = [permission_for(Action.ALERT_READ)]

    @extend_schema(operation_id="alert_rules", responses=AlertRuleSerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response(AlertRuleSerializer(active_policy().alert_rules, many=True).data)

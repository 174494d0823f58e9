"""What an edit of queues would mean, told before it is made."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.accounts.scoping import signed_in
from controlplane.base.api import LinesField, StrictSerializer, read_body
from controlplane.base.problems import Fault, FieldError, Problem
from controlplane.policy.reading import LARGEST_BYTES, PolicyError
from controlplane.policy.service import read_checked
from scheduling.api.serializers import NamedJobSerializer
from scheduling.engine.types import CapKind
from scheduling.policy_bridge import with_queues_of
from scheduling.selectors.consequences import consequences


class DryRunQuerySerializer(StrictSerializer):
    """`dry_run` 1: store nothing, tell what would follow."""

    dry_run = serializers.ChoiceField(choices=["0", "1"], default="0")

    def validate_dry_run(self, value: str) -> bool:
        return value == "1"


class OverSerializer(serializers.Serializer):
    """A queue, team or member that holds more than it might: nothing of it is ended, nothing new started there."""

    kind = serializers.ChoiceField(choices=[kind.value for kind in CapKind])
    queue = serializers.CharField()
    team = serializers.CharField(allow_null=True)
    owner = serializers.CharField(allow_null=True)
    model = serializers.CharField(allow_null=True)
    unit = serializers.ChoiceField(choices=["device-milli", "core-milli"])
    cap_milli = serializers.IntegerField()
    held_milli = serializers.IntegerField()


class ConsequencesSerializer(serializers.Serializer):
    """What would follow at once: who of those that the caller may see would be over, which of the first `considered`
    waiting jobs would start that do not now, and which would wait that start now; of both the first 50.
    """

    considered = serializers.IntegerField()
    over = OverSerializer(many=True)
    starts = NamedJobSerializer(many=True)
    starts_total = serializers.IntegerField()
    waits = NamedJobSerializer(many=True)
    waits_total = serializers.IntegerField()


class DocumentSerializer(StrictSerializer):
    """A policy document that is not activated."""

    document = LinesField(max_length=LARGEST_BYTES, trim_whitespace=False)


class QueuesPreviewView(APIView):
    """What the queues of a policy document would mean, were it activated now; queues are matched by name."""

    permission_classes = [permission_for(Action.QUEUE_EDIT)]

    @extend_schema(
        operation_id="queues_preview", request=DocumentSerializer, responses=ConsequencesSerializer
    )
    def post(self, request: Request) -> Response:
        text = read_body(request, DocumentSerializer)["document"]
        try:
            document = read_checked(text)
        except PolicyError as error:
            params = {"line": error.line, "field": error.field, "reason": error.reason}
            message = _("The request is not valid.")
            errors = [FieldError("document", Fault.POLICY, str(error))]
            raise Problem(400, "invalid", params=params, message=message, errors=errors) from None
        edit = with_queues_of(document)
        return Response(ConsequencesSerializer(consequences(edit, signed_in(request))).data)

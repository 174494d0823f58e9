"""What-ifs, and the recordings that they and replays start from."""

from __future__ import annotations

import threading
from typing import Any

import structlog
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.models import User
from controlplane.accounts.permissions import Action, permission_for, permissions_by_method
from controlplane.accounts.scoping import signed_in
from controlplane.base.api import PAGE_PARAMETERS, StrictSerializer, page, page_of, read_body
from controlplane.base.failures import RETRY_AFTER
from controlplane.base.problems import Problem, not_found
from inventory.api.serializers import ReasonSerializer
from queues.wording import FAULTS, fault
from scheduling import models
from scheduling.api.requests import WHAT_IF_REQUEST
from scheduling.api.serializers import (
    EstimateSerializer,
    NamedJobSerializer,
    SentenceSerializer,
    WhySerializer,
)
from scheduling.edits import EditFaults
from scheduling.recordings import UnreadableRecording, document, load
from scheduling.selectors.whatif import what_if
from scheduling.wishes import wish_recording, wish_view

log = structlog.get_logger(__name__)

# Each takes seconds of a processor; more at once would only be slower, and slow everybody else.
_one_at_a_time = threading.Lock()


class RecordingSerializer(serializers.Serializer):
    """One recorded call of the scheduler's plan; `bytes` is what it takes in the database."""

    id = serializers.IntegerField()
    cycle = serializers.IntegerField(source="cycle_id", allow_null=True)
    at = serializers.DateTimeField()
    nodes = serializers.IntegerField()
    jobs = serializers.IntegerField()
    placed = serializers.IntegerField()
    refused = serializers.IntegerField()
    bytes = serializers.IntegerField()


class RecordingsView(APIView):
    """The recorded decisions, newest first. The oldest make room: their number and size are bounded."""

    permission_classes = [permission_for(Action.RECORDING_READ)]

    @extend_schema(
        operation_id="recordings", parameters=PAGE_PARAMETERS, responses=page_of(RecordingSerializer)
    )
    def get(self, request: Request) -> Response:
        rows = models.Recording.objects.defer("document")
        return page(request, rows, serializer=RecordingSerializer)


class RecordingWishSerializer(serializers.Serializer):
    """Whether the next cycle is recorded whatever it costs; by whose wish, why, and since when."""

    wanted = serializers.BooleanField()
    reason = serializers.CharField(allow_null=True, allow_blank=True)
    actor = serializers.CharField(allow_null=True)
    since = serializers.DateTimeField(allow_null=True)


class RecordingWishView(APIView):
    """Record the next cycle that looks at waiting jobs, whatever it costs and also when it changes nothing. The wish is
    gone when that is done; the recordings are then the newest in the list, at most the last 20 batches of the cycle.
    """

    permission_classes = [permissions_by_method(GET=Action.RECORDING_READ, POST=Action.RECORDING_WISH)]

    @extend_schema(operation_id="recording_wish", responses=RecordingWishSerializer)
    def get(self, request: Request) -> Response:
        return Response(RecordingWishSerializer(wish_view()).data)

    @extend_schema(
        operation_id="recording_wish_make", request=ReasonSerializer, responses=RecordingWishSerializer
    )
    def post(self, request: Request) -> Response:
        body = read_body(request, ReasonSerializer)
        return Response(RecordingWishSerializer(wish_recording(request, reason=body["reason"])).data)


class DocumentView(APIView):
    """All that one decision was made from, and the plan; `manage.py replay_cycle FILE` makes it again."""

    permission_classes = [permission_for(Action.RECORDING_READ)]

    @extend_schema(
        operation_id="recording_document",
        responses={200: OpenApiResponse({"type": "object"}, description="The engine's own document.")},
    )
    def get(self, request: Request, recording_id: int) -> HttpResponse:
        try:
            found = document(load(recording_id))
        except models.Recording.DoesNotExist:
            raise not_found() from None
        except UnreadableRecording as error:
            log.warning("recording-unreadable", recording=recording_id, error=str(error))
            raise Problem(409, error.why, message=FAULTS[error.why], params=error.params) from error
        name = f"headrace-recording-{recording_id}.json"
        return HttpResponse(
            found,
            content_type="application/json",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )


class ReasonCountSerializer(serializers.Serializer):
    """How many jobs wait for one reason."""

    code = serializers.CharField()
    text = serializers.CharField()
    count = serializers.IntegerField()


class QueueOutcomeSerializer(serializers.Serializer):
    """What becomes of the jobs of one queue; `held` ones wait for a pause."""

    name = serializers.CharField()
    placed = serializers.IntegerField()
    refused = serializers.IntegerField()
    held = serializers.IntegerField()


class BookedPercentSerializer(serializers.Serializer):
    """Booked shares of what takes jobs, in per cent, once the plan is carried out."""

    devices = serializers.FloatField(allow_null=True)
    cores = serializers.FloatField(allow_null=True)


class OutcomeSerializer(serializers.Serializer):
    """One plan in figures. Of a long line only the first jobs are considered; `exhausted`: those were all. `held` jobs
    wait for a pause and are not considered.
    """

    considered = serializers.IntegerField()
    placed = serializers.IntegerField()
    refused = serializers.IntegerField()
    held = serializers.IntegerField()
    exhausted = serializers.BooleanField()
    wall_ms = serializers.IntegerField()
    queues = QueueOutcomeSerializer(many=True)
    reasons = ReasonCountSerializer(many=True)
    booked_percent = BookedPercentSerializer()


class PlaceSerializer(serializers.Serializer):
    """A node by id and name; added nodes have ids above 2^40."""

    node = serializers.IntegerField()
    node_name = serializers.CharField()


class JobChangeSerializer(serializers.Serializer):
    """A job for which the plans differ; `job` is null for an added one. Where it goes, or why it waits. `start` is when
    one that waits after the edits could start, by the expected ends of what runs now; else `start_unknown` says why.
    One that takes over a place starts when the jobs `stops` have left.
    """

    job = serializers.IntegerField(allow_null=True)
    name = serializers.CharField()
    queue = serializers.CharField()
    before = PlaceSerializer(allow_null=True)
    after = PlaceSerializer(allow_null=True)
    reason_before = WhySerializer(allow_null=True)
    reason_after = WhySerializer(allow_null=True)
    start = EstimateSerializer(allow_null=True)
    start_unknown = WhySerializer(allow_null=True)
    stops = NamedJobSerializer(many=True)


class WhatIfSerializer(serializers.Serializer):
    """Both plans side by side, and the first 200 of the jobs for which they differ; `notes` say what this version
    cannot answer.
    """

    at = serializers.DateTimeField()
    recording = serializers.IntegerField(allow_null=True)
    notes = SentenceSerializer(many=True)
    before = OutcomeSerializer()
    after = OutcomeSerializer()
    changes = JobChangeSerializer(many=True)
    changes_total = serializers.IntegerField()


class EditsField(serializers.Field):
    """Whatever came: scheduling.edits judges it and names every fault."""

    def to_internal_value(self, data: Any) -> Any:
        return data


class WhatIfRequestSerializer(StrictSerializer):
    """The start - a recording, or null for the cluster now - and what is different."""

    recording = serializers.IntegerField(allow_null=True, required=False, min_value=1)
    edits = EditsField()


class WhatIfView(APIView):
    """What would be decided for the waiting jobs if something were different. Nothing is stored or started."""

    permission_classes = [permission_for(Action.WHAT_IF)]

    @extend_schema(
        operation_id="what_if",
        request={"application/json": WHAT_IF_REQUEST},
        responses=WhatIfSerializer,
    )
    def post(self, request: Request) -> Response:
        body = read_body(request, WhatIfRequestSerializer)
        if not _one_at_a_time.acquire(blocking=False):
            message = _("Another what-if is being worked out. Try again in a moment.")
            raise Problem(429, "busy", message=message, headers=RETRY_AFTER)
        try:
            return Response(WhatIfSerializer(_answer(body, signed_in(request))).data)
        finally:
            _one_at_a_time.release()


def _answer(body: dict[str, Any], user: User) -> dict[str, Any]:
    try:
        return what_if(body.get("recording"), body["edits"], user)
    except EditFaults as faults:
        raise Problem(400, "invalid", errors=[fault(error) for error in faults.errors]) from None

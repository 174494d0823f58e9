"""One queue: read, and its caps edited; with `dry_run` 1 nothing is stored and the answer tells what would follow."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permissions_by_method
from controlplane.accounts.scoping import signed_in
from controlplane.base.api import (
    IF_MATCH,
    StrictSerializer,
    check_if_match,
    etag_of,
    read_body,
    read_query,
    with_etag,
)
from controlplane.base.problems import Fault, invalid, not_found
from controlplane.policy.queue_edit import PPM_PER_PERCENT
from inventory.known_names import no_such_model
from queues.edits import edit_queue, edited
from queues.models import Queue
from scheduling.api.cluster_serializers import QueueSerializer
from scheduling.api.consequences import ConsequencesSerializer, DryRunQuerySerializer
from scheduling.policy_bridge import with_queues_of
from scheduling.selectors.consequences import consequences
from scheduling.selectors.live import live_view
from scheduling.selectors.shares import capacity_of, queue_views

LARGEST_REASON = 500


class PercentField(serializers.FloatField):
    """A share in per cent, to a ten-thousandth."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0, max_value=100, **options)


class QueueEditSerializer(StrictSerializer):
    """What becomes of the queue: what is left out stays. `quota_percent` null is no cap, `model_caps` are all caps on
    single models. `reason` stands in the new version of the policy; a dry run needs none.
    """

    quota_percent = PercentField(required=False, allow_null=True)
    model_caps = serializers.DictField(child=PercentField(), required=False)
    borrow = serializers.BooleanField(required=False)
    reason = serializers.CharField(max_length=LARGEST_REASON, required=False)


class QueueView(APIView):
    """One queue with its share."""

    permission_classes = [permissions_by_method(GET=Action.QUEUE_READ, PATCH=Action.QUEUE_EDIT)]

    @extend_schema(operation_id="queue", responses=QueueSerializer)
    def get(self, request: Request, name: str) -> Response:
        queue = _find(name)
        return with_etag(Response(_view(queue)), _etag(queue))

    @extend_schema(
        operation_id="queue_edit",
        parameters=[DryRunQuerySerializer, IF_MATCH],
        request=QueueEditSerializer,
        responses={201: QueueSerializer, 200: ConsequencesSerializer},
    )
    def patch(self, request: Request, name: str) -> Response:
        queue = _find(name)
        check_if_match(request, _etag(queue))
        body = read_body(request, QueueEditSerializer)
        fields = _fields(body)
        if read_query(request, DryRunQuerySerializer)["dry_run"]:
            edit = with_queues_of(edited(queue, fields).document)
            return Response(ConsequencesSerializer(consequences(edit, signed_in(request))).data)
        if "reason" not in body:
            raise invalid("reason", Fault.REQUIRED)
        edit_queue(request, signed_in(request), queue, fields, reason=body["reason"])
        queue = _find(name)
        return with_etag(Response(_view(queue), status=201), _etag(queue))


def _fields(body: dict[str, Any]) -> dict[str, Any]:
    """The body in the words of the document; 400 when it changes nothing."""
    fields: dict[str, Any] = {}
    if "quota_percent" in body:
        share = body["quota_percent"]
        fields["quota_ppm"] = None if share is None else round(share * PPM_PER_PERCENT)
    if "model_caps" in body:
        caps = body["model_caps"]
        for model in caps:
            if reason := no_such_model(model):
                raise invalid(f"model_caps.{model}", Fault.NOT_FOUND, message=reason)
        fields["model_caps_ppm"] = {model: round(caps[model] * PPM_PER_PERCENT) for model in caps}
    if "borrow" in body:
        fields["borrow"] = body["borrow"]
    if not fields:
        raise invalid("quota_percent", Fault.REQUIRED)
    return fields


def _find(name: str) -> Queue:
    queue = Queue.objects.filter(name=name).first()
    if queue is None:
        raise not_found()
    return queue


def _etag(queue: Queue) -> str:
    return etag_of("queue", queue.pk, queue.quota_ppm, sorted(queue.model_caps_ppm.items()), queue.borrow)


def _view(queue: Queue) -> dict[str, Any]:
    capacity = capacity_of(live_view(pending=False).state)
    found: dict[str, Any] = next(one for one in queue_views(capacity) if one["id"] == queue.pk)
    return dict(QueueSerializer(found).data)

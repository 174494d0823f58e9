"""Images: where containers found them, how long the others waited, and what is fetched ahead of demand."""

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
from controlplane.accounts.permissions import Action, permission_for
from controlplane.base.api import (
    PAGE_PARAMETERS,
    CursorPages,
    StrictSerializer,
    page_of,
    read_body,
    read_query,
)
from controlplane.base.problems import Fault, invalid, not_found
from controlplane.policy.active import active_policy
from inventory.api.serializers import ReasonSerializer
from inventory.images.names import LONGEST_NAME, NAME
from inventory.images.orders import ImageOrder, order
from inventory.images.places import counts_of, nodes_with, place_views, waits_for
from inventory.images.secrets import SecretMissing, SecretUnusable, find, note_use
from inventory.images.starts import history_of
from inventory.models import Image, ImagePush, PushState, PushWhy

MOST_NODES = 500


class PullTimesSerializer(serializers.Serializer):
    """Milliseconds that the fetching of an image took before a start, over the starts that had to wait for it."""

    mean = serializers.IntegerField()
    p50 = serializers.IntegerField()
    p95 = serializers.IntegerField()
    p99 = serializers.IntegerField()


class ImageSerializer(serializers.Serializer):
    """One image with its history: `hits` of its `starts` found it on the node. `nodes` have it, `wanted` are to fetch
    it, `fetched` did so ahead of demand.
    """

    id = serializers.IntegerField()
    name = serializers.CharField()
    size_mib = serializers.IntegerField(allow_null=True)
    starts = serializers.IntegerField()
    hits = serializers.IntegerField()
    pull_ms = PullTimesSerializer(allow_null=True)
    nodes = serializers.IntegerField()
    wanted = serializers.IntegerField()
    fetched = serializers.IntegerField()


class ImagePushSerializer(serializers.Serializer):
    """An image that a node fetches ahead of demand, fetched, or removes again."""

    id = serializers.IntegerField()
    node = serializers.IntegerField(source="node_id")
    node_name = serializers.CharField(source="node.name")
    image = serializers.CharField()
    stage = serializers.ChoiceField(choices=PushState.choices)
    why = serializers.ChoiceField(choices=PushWhy.choices)
    wanted_at = serializers.DateTimeField()
    asked_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    ms = serializers.IntegerField(allow_null=True)
    failures = serializers.IntegerField()
    problem = serializers.CharField(allow_blank=True)


class ImagePlaceSerializer(serializers.Serializer):
    """One image on one node: whether it is `here`, what is fetched ahead, and how its starts there found it."""

    node = serializers.IntegerField()
    node_name = serializers.CharField()
    here = serializers.BooleanField()
    push = ImagePushSerializer(allow_null=True)
    starts = serializers.IntegerField()
    hits = serializers.IntegerField()


class ImageWaitSerializer(serializers.Serializer):
    """A start that waited for its image, in milliseconds."""

    node = serializers.IntegerField(source="node_id")
    node_name = serializers.CharField(source="node.name")
    at = serializers.DateTimeField()
    pull_ms = serializers.IntegerField()


class ImageOrderSerializer(ReasonSerializer):
    """`warm`: have the image on these nodes, fetched with the `secret` named. `prune`: have it gone from those of
    them that fetched it ahead.
    """

    action = serializers.ChoiceField(choices=[(one.value, one.value) for one in ImageOrder])
    image = serializers.CharField(max_length=LONGEST_NAME)
    secret = serializers.CharField(max_length=64, required=False, allow_null=True)
    nodes = serializers.ListField(
        child=serializers.IntegerField(min_value=1), min_length=1, max_length=MOST_NODES
    )


class ImageOutcomeSerializer(serializers.Serializer):
    """What became of an order on one node; `code` and `text` say why nothing did."""

    node = serializers.IntegerField()
    node_name = serializers.CharField(allow_null=True)
    changed = serializers.BooleanField()
    code = serializers.CharField(allow_null=True)
    text = serializers.CharField(allow_null=True)


class ImageOrderedSerializer(serializers.Serializer):
    """One outcome per node."""

    outcomes = ImageOutcomeSerializer(many=True)


class DaysSerializer(StrictSerializer):
    """How far back; at most, and without it, as far as the policy keeps starts (`images.history-days`)."""

    days = serializers.IntegerField(min_value=1, max_value=3650, required=False)


class ImageQuerySerializer(DaysSerializer):
    """Filter of images; `search` looks into the name."""

    search = serializers.CharField(max_length=320, required=False)


class ImagePushQuerySerializer(StrictSerializer):
    """Filters of what is fetched ahead."""

    stage = serializers.ChoiceField(choices=PushState.choices, required=False)
    node = serializers.IntegerField(required=False)
    image = serializers.CharField(max_length=320, required=False)


class ImagesView(APIView):
    """Images that nodes told of or that containers started from, with their history."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(
        operation_id="images",
        parameters=[ImageQuerySerializer, *PAGE_PARAMETERS],
        responses=page_of(ImageSerializer),
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, ImageQuerySerializer, paged=True)
        search = query.get("search")
        rows = Image.objects.filter(name__icontains=search) if search else Image.objects.all()
        pages, found = _paged(rows, request)
        return pages.get_paginated_response(
            ImageSerializer(_documents(found, days_of(query)), many=True).data
        )


class ImageView(APIView):
    """One image."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(operation_id="image", parameters=[DaysSerializer], responses=ImageSerializer)
    def get(self, request: Request, image_id: int) -> Response:
        days = days_of(read_query(request, DaysSerializer))
        return Response(ImageSerializer(_documents([_found(image_id)], days)[0]).data)


class ImageNodesView(APIView):
    """Where an image is, and where it is wanted or was fetched ahead of demand."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(
        operation_id="image_nodes",
        parameters=[DaysSerializer, *PAGE_PARAMETERS],
        responses=page_of(ImagePlaceSerializer),
    )
    def get(self, request: Request, image_id: int) -> Response:
        days = days_of(read_query(request, DaysSerializer, paged=True))
        name = _found(image_id).name
        pages, nodes = _paged(nodes_with(name), request)
        documents = place_views(name, nodes, days=days)
        return pages.get_paginated_response(ImagePlaceSerializer(documents, many=True).data)


class ImageWaitsView(APIView):
    """The starts that waited for an image, newest first."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(
        operation_id="image_waits", parameters=PAGE_PARAMETERS, responses=page_of(ImageWaitSerializer)
    )
    def get(self, request: Request, image_id: int) -> Response:
        pages = CursorPages()
        found = pages.paginate_queryset(waits_for(_found(image_id).name), request)
        return pages.get_paginated_response(ImageWaitSerializer(found, many=True).data)


class ImageOrdersView(APIView):
    """Have an image on nodes ahead of demand, or gone from nodes that fetched it so. Others are never removed."""

    permission_classes = [permission_for(Action.NODE_OPERATE)]

    @extend_schema(operation_id="image_order", request=ImageOrderSerializer, responses=ImageOrderedSerializer)
    def post(self, request: Request) -> Response:
        body = read_body(request, ImageOrderSerializer)
        if not NAME.fullmatch(body["image"]):
            raise invalid("image", Fault.FORMAT)
        nodes = list(dict.fromkeys(body["nodes"]))
        secret = body.get("secret")
        if secret is not None:
            _check_secret(secret, body["image"])
        with transaction.atomic():
            if secret is not None:
                note_use(body["image"], secret)
            outcomes = order(ImageOrder(body["action"]), body["image"], nodes)
            changed = [one.node_name for one in outcomes if one.changed]
            details = {"image": body["image"], "nodes": changed, "reason": body["reason"]}
            audit.record(request, f"image-{body['action']}", target=("image", body["image"]), details=details)
        return Response(ImageOrderedSerializer({"outcomes": outcomes}).data)


def _check_secret(name: str, image: str) -> None:
    """Problem 400 where the server has none of this name for this image."""
    try:
        secret = find(name)
    except SecretMissing:
        raise invalid("secret", Fault.NOT_FOUND) from None
    except SecretUnusable:
        raise invalid("secret", Fault.INVALID) from None
    if not secret.is_for(image):
        message = _("This secret is for %(registries)s, and the image lies elsewhere.")
        where = {"registries": ", ".join(secret.registries)}
        raise invalid("secret", Fault.INVALID, message=message, **where)


def days_of(query: dict[str, Any]) -> int:
    """The days that are asked for, as far as starts are kept."""
    kept = active_policy().images.history_days
    return min(int(query.get("days", kept)), kept)


def _found(image_id: int) -> Image:
    image = Image.objects.filter(pk=image_id).first()
    if image is None:
        raise not_found()
    return image


def _documents(rows: list[Image], days: int) -> list[dict[str, Any]]:
    names = [row.name for row in rows]
    history, counts = history_of(names, days=days), counts_of(names)
    none = {"starts": 0, "hits": 0, "pull_ms": None}
    return [
        {"id": row.pk, "name": row.name, "size_mib": row.size_mib}
        | history.get(row.name, none)
        | counts[row.name]
        for row in rows
    ]


class ImagePushesView(APIView):
    """What nodes fetch ahead of demand, oldest wish first."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(
        operation_id="image_pushes",
        parameters=[ImagePushQuerySerializer, *PAGE_PARAMETERS],
        responses=page_of(ImagePushSerializer),
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, ImagePushQuerySerializer, paged=True)
        named = {"node_id": query.pop("node")} if "node" in query else {}
        rows = ImagePush.objects.filter(**query, **named).select_related("node")
        pages, found = _paged(rows, request)
        return pages.get_paginated_response(ImagePushSerializer(found, many=True).data)


def _paged(rows: QuerySet[Any], request: Request) -> tuple[CursorPages, list[Any]]:
    pages = CursorPages()
    pages.ordering = "id"
    return pages, pages.paginate_queryset(rows, request) or []

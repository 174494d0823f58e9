"""Images: where containers found them, how long the others waited, and what is fetched ahead of demand."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.base.api import PAGE_PARAMETERS, CursorPages, StrictSerializer, page_of, read_query
from controlplane.policy.active import active_policy
from inventory.images.starts import history_of
from inventory.models import Image, ImagePush, PushState


class PullTimesSerializer(serializers.Serializer):
    """Milliseconds that the fetching of an image took before a start, over the starts that had to wait for it."""

    mean = serializers.IntegerField()
    p50 = serializers.IntegerField()
    p95 = serializers.IntegerField()
    p99 = serializers.IntegerField()


class ImageSerializer(serializers.Serializer):
    """One image with its history: `hits` of its `starts` found it on the node."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    size_mib = serializers.IntegerField(allow_null=True)
    starts = serializers.IntegerField()
    hits = serializers.IntegerField()
    pull_ms = PullTimesSerializer(allow_null=True)


class ImagePushSerializer(serializers.Serializer):
    """An image that a node fetches ahead of demand, fetched, or removes again."""

    id = serializers.IntegerField()
    node = serializers.IntegerField(source="node_id")
    node_name = serializers.CharField(source="node.name")
    image = serializers.CharField()
    stage = serializers.ChoiceField(choices=PushState.choices)
    wanted_at = serializers.DateTimeField()
    asked_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    ms = serializers.IntegerField(allow_null=True)
    failures = serializers.IntegerField()
    problem = serializers.CharField(allow_blank=True)


class ImageQuerySerializer(StrictSerializer):
    """Filter of images; `search` looks into the name."""

    search = serializers.CharField(max_length=320, required=False)


class ImagePushQuerySerializer(StrictSerializer):
    """Filters of what is fetched ahead."""

    stage = serializers.ChoiceField(choices=PushState.choices, required=False)
    node = serializers.IntegerField(required=False)


class ImagesView(APIView):
    """Images that nodes told of, with the history of the days that the policy keeps."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(
        operation_id="images",
        parameters=[ImageQuerySerializer, *PAGE_PARAMETERS],
        responses=page_of(ImageSerializer),
    )
    def get(self, request: Request) -> Response:
        search = read_query(request, ImageQuerySerializer, paged=True).get("search")
        rows = Image.objects.filter(name__icontains=search) if search else Image.objects.all()
        pages, found = _paged(rows, request)
        history = history_of([row.name for row in found], days=active_policy().images.history_days)
        none = {"starts": 0, "hits": 0, "pull_ms": None}
        documents = [
            {"id": row.pk, "name": row.name, "size_mib": row.size_mib, **history.get(row.name, none)}
            for row in found
        ]
        return pages.get_paginated_response(ImageSerializer(documents, many=True).data)


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

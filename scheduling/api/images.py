"""What images cost the jobs that waited for them."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.base.api import read_query
from inventory.api.images import DaysSerializer, days_of
from scheduling.selectors.images import summary


class ImageWaitStatsSerializer(serializers.Serializer):
    """Seconds, over the jobs with an image that started in these days."""

    count = serializers.IntegerField()
    mean = serializers.FloatField(allow_null=True)
    p50 = serializers.FloatField(allow_null=True)
    p95 = serializers.FloatField(allow_null=True)
    p99 = serializers.FloatField(allow_null=True)


class ImagesSummarySerializer(serializers.Serializer):
    """`hits` of `starts` found their image on the node; `pull_s` is the part of the whole wait `wait_s` that went into
    fetching images, `pull_percent` its share in all of them together.
    """

    days = serializers.IntegerField()
    starts = serializers.IntegerField()
    hits = serializers.IntegerField()
    pull_s = ImageWaitStatsSerializer()
    wait_s = ImageWaitStatsSerializer()
    pull_percent = serializers.FloatField(allow_null=True)


class ImagesSummaryView(APIView):
    """Hit rate of images, and what fetching them cost, over the whole cluster."""

    permission_classes = [permission_for(Action.OVERVIEW_READ)]

    @extend_schema(
        operation_id="images_summary", parameters=[DaysSerializer], responses=ImagesSummarySerializer
    )
    def get(self, request: Request) -> Response:
        days = days_of(read_query(request, DaysSerializer))
        return Response(ImagesSummarySerializer(summary(days)).data)

"""The cluster as scheduling sees it: map, overview, queues, cycles, and what a device could take."""

from __future__ import annotations

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.accounts.scoping import signed_in
from controlplane.base.api import PAGE_PARAMETERS, not_modified, page, page_of
from controlplane.base.problems import not_found
from scheduling.api.cluster_serializers import (
    CycleSerializer,
    FitsSerializer,
    MapSerializer,
    OverviewSerializer,
    QueueSerializer,
)
from scheduling.models import Cycle
from scheduling.selectors.fits import fits
from scheduling.selectors.live import live_view
from scheduling.selectors.map_document import map_document
from scheduling.selectors.overview import overview
from scheduling.selectors.shares import capacity_of, queue_views


class MapView(APIView):
    """Every node and device in one compact document; `columns` names the members of the rows."""

    permission_classes = [permission_for(Action.MAP_READ)]

    @extend_schema(operation_id="map", responses=MapSerializer)
    def get(self, request: Request) -> HttpResponseBase:
        document = map_document(signed_in(request))
        return not_modified(request, document.etag) or HttpResponse(
            document.stamped(), content_type="application/json", headers={"ETag": document.etag}
        )


class OverviewView(APIView):
    """The cluster in one answer."""

    permission_classes = [permission_for(Action.OVERVIEW_READ)]

    @extend_schema(operation_id="overview", responses=OverviewSerializer)
    def get(self, request: Request) -> Response:
        return Response(OverviewSerializer(overview(signed_in(request))).data)


class QueuesView(APIView):
    """All queues with their shares, most important first."""

    permission_classes = [permission_for(Action.QUEUE_READ)]

    @extend_schema(operation_id="queues", responses=QueueSerializer(many=True))
    def get(self, request: Request) -> Response:
        capacity = capacity_of(live_view(pending=False).state)
        return Response(QueueSerializer(queue_views(capacity), many=True).data)


class CyclesView(APIView):
    """The finished scheduling cycles that looked at jobs, newest first."""

    permission_classes = [permission_for(Action.CYCLE_READ)]

    @extend_schema(operation_id="cycles", parameters=PAGE_PARAMETERS, responses=page_of(CycleSerializer))
    def get(self, request: Request) -> Response:
        return page(request, Cycle.objects.filter(finished_at__isnull=False), serializer=CycleSerializer)


class FitsView(APIView):
    """What one device could take at most, and which waiting jobs could use it now."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(operation_id="device_fits", responses=FitsSerializer)
    def get(self, request: Request, device_id: int) -> Response:
        live = live_view()
        if device_id not in live.state.device.id:
            raise not_found()
        return Response(FitsSerializer(fits(live, device_id, signed_in(request))).data)

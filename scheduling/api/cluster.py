"""The cluster as scheduling sees it: map, overview, queues, cycles, and what a device could take."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.accounts.scoping import signed_in, visible_to
from controlplane.base.api import PAGE_PARAMETERS, etag_of, not_modified, page, page_of, with_etag
from controlplane.base.problems import not_found
from queues.models import Job
from scheduling.api.cluster_serializers import (
    CycleSerializer,
    FitsSerializer,
    MapSerializer,
    OverviewSerializer,
    QueueSerializer,
)
from scheduling.engine.explain import DeviceFit, runnable_here, what_fits
from scheduling.models import Cycle
from scheduling.selectors.live import Live, live_view
from scheduling.selectors.overview import overview
from scheduling.selectors.resource_map import resource_map, stamped
from scheduling.selectors.shares import capacity_of, queue_views

MOST_FITTING_JOBS = 50


class MapView(APIView):
    """Every node and device in one compact document; `columns` names the members of the rows."""

    permission_classes = [permission_for(Action.MAP_READ)]

    @extend_schema(operation_id="map", responses=MapSerializer)
    def get(self, request: Request) -> Response:
        document = resource_map()
        etag = etag_of("map", document)
        return not_modified(request, etag) or with_etag(Response(stamped(document)), etag)


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
        fit, ids = _fits(live_view(), device_id)
        jobs = (
            visible_to(signed_in(request), Job.objects.filter(pk__in=ids)).select_related("queue").in_bulk()
        )
        found = [{"id": pk, "name": jobs[pk].name, "queue": jobs[pk].queue.name} for pk in ids if pk in jobs]
        largest = {"alone_mib": fit.alone_mib, "shared_mib": fit.shared_mib}
        code = None if fit.code is None else fit.code.value
        return Response(
            FitsSerializer({"largest": largest, "code": code, "jobs": found[:MOST_FITTING_JOBS]}).data
        )


def _fits(live: Live, device_id: int) -> tuple[DeviceFit, tuple[int, ...]]:
    if device_id not in live.state.device.id:
        raise not_found()
    policy = live.policy.engine
    fit = what_fits(live.state, device_id, num=policy.precheck_num, den=policy.precheck_den)
    return fit, runnable_here(live.state, device_id, live.pending, policy)

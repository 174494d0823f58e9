"""Devices: list, detail, and what operators do to them."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import audit
from controlplane.accounts.models import User
from controlplane.accounts.permissions import Action, permission_for, permissions_by_method
from controlplane.accounts.scoping import signed_in
from controlplane.base.api import PAGE_PARAMETERS, CursorPages, page, page_of, read_body, read_query
from controlplane.base.problems import not_found
from inventory import operations
from inventory.api.serializers import (
    DeviceEventSerializer,
    DeviceModelQuerySerializer,
    DeviceModelsSerializer,
    DeviceQuerySerializer,
    DeviceSerializer,
    LinkQuerySerializer,
    NodeLinkSerializer,
    ReasonSerializer,
)
from inventory.device_models import device_models
from inventory.models import Device
from inventory.selectors import device_documents, device_events, device_rows, link_rows


class DevicesView(APIView):
    """All devices, oldest first, also missing ones."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(
        operation_id="devices",
        parameters=[DeviceQuerySerializer, *PAGE_PARAMETERS],
        responses=page_of(DeviceSerializer),
    )
    def get(self, request: Request) -> Response:
        rows = device_rows(**read_query(request, DeviceQuerySerializer, paged=True))
        pages = CursorPages()
        pages.ordering = "id"
        found: list[Any] = pages.paginate_queryset(rows, request) or []
        documents = device_documents(found, signed_in(request))
        return pages.get_paginated_response(DeviceSerializer(documents, many=True).data)


class DeviceView(APIView):
    """One device; one that left for good can be removed."""

    permission_classes = [permissions_by_method(GET=Action.NODE_READ, DELETE=Action.DEVICE_OPERATE)]

    @extend_schema(operation_id="device", responses=DeviceSerializer)
    def get(self, request: Request, device_id: int) -> Response:
        return Response(_document(device_id, signed_in(request)))

    @extend_schema(operation_id="device_remove", responses={204: None})
    def delete(self, request: Request, device_id: int) -> Response:
        device = Device.objects.select_related("node").filter(pk=device_id).first()
        if device is None:
            raise not_found()
        with transaction.atomic():
            details = {"node": device.node.name, "identity": device.identity, "model": device.model}
            audit.record(request, "device-remove", target=device, details=details)
            operations.forget_device(device)
        return Response(status=204)


def _document(device_id: int, user: User) -> dict[str, Any]:
    documents = device_documents(device_rows().filter(pk=device_id), user)
    if not documents:
        raise not_found()
    return dict(DeviceSerializer(documents[0]).data)


class DeviceEventsView(APIView):
    """How a device's health changed, newest first."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(
        operation_id="device_events", parameters=PAGE_PARAMETERS, responses=page_of(DeviceEventSerializer)
    )
    def get(self, request: Request, device_id: int) -> Response:
        if not Device.objects.filter(pk=device_id).exists():
            raise not_found()
        return page(request, device_events(device_id), serializer=DeviceEventSerializer)


class LinksView(APIView):
    """Links between devices, oldest first."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(
        operation_id="links",
        parameters=[LinkQuerySerializer, *PAGE_PARAMETERS],
        responses=page_of(NodeLinkSerializer),
    )
    def get(self, request: Request) -> Response:
        rows = link_rows(**read_query(request, LinkQuerySerializer, paged=True))
        return page(request, rows, serializer=NodeLinkSerializer, ordering="id")


class DeviceModelsView(APIView):
    """All device models that are known or here; few enough for one answer."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(
        operation_id="device_models",
        parameters=[DeviceModelQuerySerializer],
        responses=DeviceModelsSerializer,
    )
    def get(self, request: Request) -> Response:
        found = device_models(**read_query(request, DeviceModelQuerySerializer))
        return Response(DeviceModelsSerializer({"results": found}).data)


class _DeviceOperationView(APIView):
    """One operation; the answer is the device as it now stands."""

    permission_classes = [permission_for(Action.DEVICE_OPERATE)]
    operation = ""

    def post(self, request: Request, device_id: int) -> Response:
        reason = read_body(request, ReasonSerializer)["reason"]
        device = Device.objects.filter(pk=device_id).first()
        if device is None:
            raise not_found()
        with transaction.atomic():
            if self.operation == "release":
                operations.release_device(device, reason=reason, actor=signed_in(request).username)
            else:
                operations.cordon_device(device, cordoned=self.operation == "cordon")
            audit.record(request, f"device-{self.operation}", target=device, details={"reason": reason})
        return Response(_document(device_id, signed_in(request)))


def device_operation_view(operation: str) -> type[APIView]:
    """The view of cordon, uncordon or release."""
    described = extend_schema(
        operation_id=f"device_{operation}", request=ReasonSerializer, responses=DeviceSerializer
    )
    view = type(f"Device{operation.title()}View", (_DeviceOperationView,), {"operation": operation})
    return extend_schema_view(post=described)(view)

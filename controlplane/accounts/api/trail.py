"""The audit trail."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.api.serializers import AuditQuerySerializer, AuditSerializer
from controlplane.accounts.models import AuditEntry
from controlplane.accounts.permissions import Action, permission_for
from controlplane.base.api import PAGE_PARAMETERS, page, page_of, read_query


class AuditView(APIView):
    """Who changed what, newest first."""

    permission_classes = [permission_for(Action.AUDIT_READ)]

    @extend_schema(
        operation_id="audit",
        parameters=[AuditQuerySerializer, *PAGE_PARAMETERS],
        responses=page_of(AuditSerializer),
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, AuditQuerySerializer, paged=True)
        if "actor" in query:
            query["actor_name"] = query.pop("actor")
        return page(request, AuditEntry.objects.filter(**query), serializer=AuditSerializer)

"""Running jobs with what they use of what they booked."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.accounts.scoping import signed_in, visible_to
from controlplane.base.api import PAGE_PARAMETERS, CursorPages, StrictSerializer, page_of, read_query
from queues.models import Job, JobStatus
from scheduling.api.jobs import filtered
from scheduling.selectors.jobs import with_people
from scheduling.selectors.use import IN_PLACE, job_uses


class UseQuerySerializer(StrictSerializer):
    """Filters."""

    queue = serializers.CharField(max_length=50, required=False)
    team = serializers.CharField(max_length=50, required=False)
    owner = serializers.CharField(max_length=150, required=False)


class JobUseSerializer(serializers.Serializer):
    """One running job. A figure of which any part is unknown, or older than 2 minutes, is null. `device_use_pct` is the
    mean of its devices, which with `shares_devices` others use, too.
    """

    id = serializers.IntegerField()
    name = serializers.CharField()
    status = serializers.ChoiceField(choices=JobStatus.choices)
    queue = serializers.CharField()
    team = serializers.CharField()
    owner = serializers.CharField()
    attempt = serializers.IntegerField()
    nodes = serializers.ListField(child=serializers.CharField())
    running_s = serializers.IntegerField(allow_null=True)
    cores = serializers.IntegerField()
    cpu_used_milli = serializers.IntegerField(allow_null=True)
    host_memory_booked_mib = serializers.IntegerField()
    host_memory_used_mib = serializers.IntegerField(allow_null=True)
    devices = serializers.IntegerField()
    shares_devices = serializers.BooleanField()
    device_use_pct = serializers.IntegerField(allow_null=True)
    device_memory_booked_mib = serializers.IntegerField()
    device_memory_used_mib = serializers.IntegerField(allow_null=True)


class JobUsesView(APIView):
    """The jobs with a place that the caller may see, newest first, with what they use."""

    permission_classes = [permission_for(Action.JOB_READ)]

    @extend_schema(
        operation_id="job_uses",
        parameters=[UseQuerySerializer, *PAGE_PARAMETERS],
        responses=page_of(JobUseSerializer),
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, UseQuerySerializer, paged=True)
        jobs = filtered(visible_to(signed_in(request), Job.objects.filter(status__in=IN_PLACE)), query)
        pages = CursorPages()
        rows = pages.paginate_queryset(with_people(jobs), request) or []
        return pages.get_paginated_response(JobUseSerializer(job_uses(rows), many=True).data)

"""Arrays of jobs: one row each, with counts of their tasks; the tasks are jobs, found by `/jobs?array=`."""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for, require
from controlplane.accounts.scoping import signed_in, visible_to
from controlplane.base.api import (
    PAGE_PARAMETERS,
    CursorPages,
    StrictSerializer,
    page_of,
    read_body,
    read_query,
)
from controlplane.base.problems import not_found
from queues.models import LIVE_STATUSES, Job, JobArray, JobStatus
from scheduling.acting import cancel_array
from scheduling.selectors.arrays import array_views


class CountsSerializer(serializers.Serializer):
    """How many tasks stand where."""

    def get_fields(self) -> dict[str, serializers.Field]:
        return {status.value: serializers.IntegerField() for status in JobStatus}


class JobArraySerializer(serializers.Serializer):
    """One array; `at_once` null: all its tasks may be under way at once. `over`: no task is live any more."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    queue = serializers.CharField()
    team = serializers.CharField()
    owner = serializers.CharField()
    tasks = serializers.IntegerField()
    at_once = serializers.IntegerField(allow_null=True)
    submitted_at = serializers.DateTimeField()
    counts = CountsSerializer()
    over = serializers.BooleanField()


class ArrayQuerySerializer(StrictSerializer):
    """Filters of the list."""

    queue = serializers.CharField(max_length=50, required=False)
    team = serializers.CharField(max_length=50, required=False)
    owner = serializers.CharField(max_length=150, required=False)
    search = serializers.CharField(max_length=200, required=False, help_text="Part of the name.")
    live = serializers.BooleanField(required=False, help_text="Only those with live tasks, or without.")


class NothingSerializer(StrictSerializer):
    """A body without fields."""


def _visible(request: Request) -> QuerySet[JobArray]:
    arrays = visible_to(signed_in(request), JobArray.objects.all())
    return arrays.select_related("queue", "team", "owner")


def _filtered(arrays: QuerySet[JobArray], query: dict[str, object]) -> QuerySet[JobArray]:
    columns = {"queue": "queue__name", "team": "team__slug", "owner": "owner__username"}
    for name, column in {**columns, "search": "name__icontains"}.items():
        if query.get(name):
            arrays = arrays.filter(**{column: query[name]})
    if "live" in query:
        live = Job.objects.filter(array__isnull=False, status__in=LIVE_STATUSES).values("array_id")
        arrays = arrays.filter(pk__in=live) if query["live"] else arrays.exclude(pk__in=live)
    return arrays


class ArraysView(APIView):
    """The arrays that the caller may see, newest first."""

    permission_classes = [permission_for(Action.JOB_READ)]

    @extend_schema(
        operation_id="job_arrays",
        parameters=[ArrayQuerySerializer, *PAGE_PARAMETERS],
        responses=page_of(JobArraySerializer),
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, ArrayQuerySerializer, paged=True)
        pages = CursorPages()
        rows = pages.paginate_queryset(_filtered(_visible(request), query), request) or []
        return pages.get_paginated_response(JobArraySerializer(array_views(rows), many=True).data)


def _answer(request: Request, array_id: int) -> Response:
    array = _visible(request).filter(pk=array_id).first()
    if array is None:
        raise not_found()
    return Response(JobArraySerializer(array_views([array])[0]).data)


class ArrayView(APIView):
    """One array."""

    permission_classes = [permission_for(Action.JOB_READ)]

    @extend_schema(operation_id="job_array", responses=JobArraySerializer)
    def get(self, request: Request, array_id: int) -> Response:
        return _answer(request, array_id)


class CancelArrayView(APIView):
    """End all tasks of an array for good; harmless when they are over."""

    permission_classes = [permission_for(Action.JOB_CANCEL)]

    @extend_schema(operation_id="job_array_cancel", request=NothingSerializer, responses=JobArraySerializer)
    def post(self, request: Request, array_id: int) -> Response:
        array = _visible(request).filter(pk=array_id).first()
        if array is None:
            raise not_found()
        require(signed_in(request), Action.JOB_CANCEL, team=array.team, owner=array.owner)
        read_body(request, NothingSerializer)
        cancel_array(request, array, actor=signed_in(request).username)
        return _answer(request, array_id)

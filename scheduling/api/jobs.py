"""Jobs: submit, list, read, explain."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.accounts.scoping import signed_in, visible_to
from controlplane.base.api import (
    PAGE_PARAMETERS,
    CursorPages,
    StrictSerializer,
    page_of,
    read_query,
)
from controlplane.base.problems import Fault, invalid, not_found
from controlplane.base.strict import whole_number
from queues.conditions import LARGEST_ID
from queues.models import Job, JobStatus
from queues.submission import Submission, accept, submit
from scheduling.api.requests import JOB_REQUEST
from scheduling.api.serializers import AttemptSerializer, DryRunSerializer, ExplainSerializer, JobSerializer
from scheduling.selectors.dryrun import dry_run
from scheduling.selectors.explanations import explain_job
from scheduling.selectors.job_names import MOST_WITHIN, RECENT, named
from scheduling.selectors.jobs import job_placements, job_view, job_views, with_people


def find_job(request: Request, job_id: int) -> Job:
    """A job that the caller may see; 404 also for one of a foreign team."""
    job = with_people(visible_to(signed_in(request), Job.objects.filter(pk=job_id))).first()
    if job is None:
        raise not_found()
    return job


class JobQuerySerializer(StrictSerializer):
    """Filters of the job list."""

    status = serializers.MultipleChoiceField(choices=JobStatus.choices, required=False)
    queue = serializers.CharField(max_length=50, required=False)
    team = serializers.CharField(max_length=50, required=False)
    owner = serializers.CharField(max_length=150, required=False)
    search = serializers.CharField(
        max_length=200,
        required=False,
        help_text=f"An id, how the name begins, or part of the name of one of the newest {RECENT} jobs, of which the "
        f"newest {MOST_WITHIN} are found.",
    )
    array = serializers.CharField(
        max_length=20, required=False, help_text="The tasks of this array; `none`: jobs that belong to none."
    )

    def validate_array(self, text: str) -> int | None:
        """An id, or None for jobs of no array."""
        if text == "none":
            return None
        return whole_number("array", text, low=1, high=LARGEST_ID)


class JobsView(APIView):
    """The jobs that the caller may see, newest first."""

    permission_classes = [permission_for(Action.JOB_READ)]

    @extend_schema(
        operation_id="jobs",
        parameters=[JobQuerySerializer, *PAGE_PARAMETERS],
        responses=page_of(JobSerializer),
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, JobQuerySerializer, paged=True)
        jobs = filtered(visible_to(signed_in(request), Job.objects.all()), query)
        pages = CursorPages()
        rows = pages.paginate_queryset(with_people(jobs), request) or []
        return pages.get_paginated_response(JobSerializer(job_views(rows), many=True).data)


def filtered(jobs: QuerySet[Job], query: dict[str, Any]) -> QuerySet[Job]:
    """The jobs that a validated JobQuerySerializer asks for."""
    if query.get("status"):
        jobs = jobs.filter(status__in=query["status"])
    for name, column in (("queue", "queue__name"), ("team", "team__slug"), ("owner", "owner__username")):
        if name in query:
            jobs = jobs.filter(**{column: query[name]})
    if "array" in query:
        jobs = jobs.filter(array=query["array"])
    return named(jobs, query["search"]) if query.get("search") else jobs


class SubmitView(APIView):
    """Submit a job, or see what would become of it."""

    permission_classes = [permission_for(Action.JOB_SUBMIT)]

    @extend_schema(
        operation_id="job_submit",
        parameters=[
            OpenApiParameter("dry_run", {"type": "integer", "enum": [0, 1]}, description="1: store nothing."),
            OpenApiParameter(
                "Idempotency-Key", str, OpenApiParameter.HEADER, description="Repeats make one job."
            ),
        ],
        request={"application/json": JOB_REQUEST},
        responses={201: JobSerializer, 200: OpenApiResponse(DryRunSerializer, description="Dry run")},
    )
    def post(self, request: Request) -> Response:
        submission = Submission(signed_in(request), request.data, request.headers.get("Idempotency-Key"))
        if _wants_dry_run(request):
            found = dry_run(accept(submission), signed_in(request))
            return Response(DryRunSerializer(found).data)
        job = submit(submission).job
        return Response(
            JobSerializer(job_view(with_people(Job.objects.filter(pk=job.pk)).get())).data, status=201
        )


def _wants_dry_run(request: Request) -> bool:
    unknown = set(request.query_params) - {"dry_run"}
    if unknown:
        raise invalid(min(unknown), Fault.UNKNOWN_FIELD)
    value = request.query_params.get("dry_run", "0")
    if value not in ("0", "1"):
        raise invalid("dry_run", Fault.CHOICE, options="0, 1")
    return value == "1"


class JobView(APIView):
    """One job."""

    permission_classes = [permission_for(Action.JOB_READ)]

    @extend_schema(operation_id="job", responses=JobSerializer)
    def get(self, request: Request, job_id: int) -> Response:
        return Response(JobSerializer(job_view(find_job(request, job_id))).data)


class ExplainView(APIView):
    """Why a job waits, or why it went where it is."""

    permission_classes = [permission_for(Action.JOB_READ)]

    @extend_schema(operation_id="job_explain", responses=ExplainSerializer)
    def get(self, request: Request, job_id: int) -> Response:
        found = explain_job(find_job(request, job_id), signed_in(request))
        return Response(ExplainSerializer(found).data)


class PlacementsView(APIView):
    """All attempts of a job, first to last."""

    permission_classes = [permission_for(Action.JOB_READ)]

    @extend_schema(operation_id="job_placements", responses=AttemptSerializer(many=True))
    def get(self, request: Request, job_id: int) -> Response:
        job = find_job(request, job_id)
        return Response(AttemptSerializer(job_placements(job.pk), many=True).data)

"""Templates of a team: listed, made, changed and removed by its members; each only their own, leads all."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.api.teams import find_team
from controlplane.accounts.permissions import Action, permissions_by_method, require
from controlplane.accounts.scoping import signed_in, visible_to
from controlplane.base.api import (
    IF_MATCH,
    PAGE_PARAMETERS,
    StrictSerializer,
    check_if_match,
    etag_of,
    page,
    page_of,
    read_body,
    read_query,
    with_etag,
)
from controlplane.base.problems import Fault, Problem, invalid, not_found
from queues.models import JobTemplate
from queues.templates import LONGEST_NAME, drop_template, edit_template, make_template


class JobTemplateSerializer(serializers.Serializer):
    """A named form of a request; `spec` is as it was written. `owner` null: the account is gone."""

    id = serializers.IntegerField()
    team = serializers.CharField(source="team.slug")
    name = serializers.CharField()
    description = serializers.CharField()
    spec = serializers.DictField()
    owner = serializers.CharField(source="owner.username", allow_null=True, default=None)
    changed_at = serializers.DateTimeField()


class TemplateEditSerializer(StrictSerializer):
    """What may change; `spec` is a request, of which anything but the team may be missing."""

    name = serializers.CharField(max_length=LONGEST_NAME, required=False)
    description = serializers.CharField(max_length=500, allow_blank=True, required=False)
    spec = serializers.DictField(required=False)


class TemplateMakeSerializer(StrictSerializer):
    """A new template."""

    team = serializers.CharField(max_length=50)
    name = serializers.CharField(max_length=LONGEST_NAME)
    description = serializers.CharField(max_length=500, allow_blank=True, default="")
    spec = serializers.DictField()


class TemplateQuerySerializer(StrictSerializer):
    """Filters of the list."""

    team = serializers.CharField(max_length=50, required=False)
    name = serializers.CharField(max_length=LONGEST_NAME, required=False, help_text="The whole name.")


class TemplatesView(APIView):
    """The templates of the teams that the caller may see, newest first."""

    permission_classes = [permissions_by_method(GET=Action.JOB_READ, POST=Action.TEMPLATE_EDIT)]

    @extend_schema(
        operation_id="job_templates",
        parameters=[TemplateQuerySerializer, *PAGE_PARAMETERS],
        responses=page_of(JobTemplateSerializer),
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, TemplateQuerySerializer, paged=True)
        found = _seen(request)
        for name, column in (("team", "team__slug"), ("name", "name")):
            found = found.filter(**{column: query[name]}) if name in query else found
        return page(request, found, serializer=JobTemplateSerializer)

    @extend_schema(
        operation_id="job_template_make",
        request=TemplateMakeSerializer,
        responses={201: JobTemplateSerializer},
    )
    def post(self, request: Request) -> Response:
        body, user = read_body(request, TemplateMakeSerializer), signed_in(request)
        try:
            team = find_team(request, body["team"])
        except Problem:
            raise invalid("team", Fault.NOT_FOUND) from None
        require(user, Action.TEMPLATE_EDIT, team=team, owner=user)
        fields = {name: body[name] for name in ("name", "description", "spec")}
        return _answer(make_template(request, user, team, **fields), status=201)


class TemplateView(APIView):
    """One template."""

    permission_classes = [
        permissions_by_method(GET=Action.JOB_READ, PATCH=Action.TEMPLATE_EDIT, DELETE=Action.TEMPLATE_EDIT)
    ]

    @extend_schema(operation_id="job_template", responses=JobTemplateSerializer)
    def get(self, request: Request, template_id: int) -> Response:
        return _answer(_find(request, template_id))

    @extend_schema(
        operation_id="job_template_edit",
        parameters=[IF_MATCH],
        request=TemplateEditSerializer,
        responses=JobTemplateSerializer,
    )
    def patch(self, request: Request, template_id: int) -> Response:
        template = _own(request, template_id)
        body = read_body(request, TemplateEditSerializer)
        row = edit_template(request, template, body, check=lambda seen: check_if_match(request, _etag(seen)))
        return _answer(row)

    @extend_schema(operation_id="job_template_drop", responses={204: None})
    def delete(self, request: Request, template_id: int) -> Response:
        drop_template(request, _own(request, template_id))
        return Response(status=204)


def _seen(request: Request) -> QuerySet[JobTemplate]:
    return visible_to(signed_in(request), JobTemplate.objects.all()).select_related("team", "owner")


def _find(request: Request, template_id: int) -> JobTemplate:
    template = _seen(request).filter(pk=template_id).first()
    if template is None:
        raise not_found()
    return template


def _own(request: Request, template_id: int) -> JobTemplate:
    template = _find(request, template_id)
    require(signed_in(request), Action.TEMPLATE_EDIT, team=template.team, owner=template.owner)
    return template


def _etag(template: JobTemplate) -> str:
    return etag_of("template", template.pk, template.changed_at.isoformat())


def _answer(template: JobTemplate, **options: Any) -> Response:
    return with_etag(Response(JobTemplateSerializer(template).data, **options), _etag(template))

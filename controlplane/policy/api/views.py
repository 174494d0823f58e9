"""Versions of the policy: listed, read, and a new one made active."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for, permissions_by_method
from controlplane.accounts.scoping import signed_in
from controlplane.base.api import PAGE_PARAMETERS, LinesField, StrictSerializer, page, page_of, read_body
from controlplane.base.problems import Fault, FieldError, Problem, not_found
from controlplane.policy.models import PolicyVersion
from controlplane.policy.reading import LARGEST_BYTES, PolicyError
from controlplane.policy.service import activate


class PolicySummarySerializer(serializers.Serializer):
    """One version without its text."""

    number = serializers.IntegerField()
    author = serializers.CharField(source="author_name")
    reason = serializers.CharField()
    created_at = serializers.DateTimeField()
    active = serializers.BooleanField()


class PolicySerializer(PolicySummarySerializer):
    """One version with its YAML text as written."""

    document = serializers.CharField()


class PolicyMakeSerializer(StrictSerializer):
    """A new version: YAML text and why."""

    document = LinesField(max_length=LARGEST_BYTES, trim_whitespace=False)
    reason = serializers.CharField(max_length=500)


class PoliciesView(APIView):
    """All versions, newest first."""

    permission_classes = [permissions_by_method(GET=Action.POLICY_READ, POST=Action.POLICY_ACTIVATE)]

    @extend_schema(
        operation_id="policies", parameters=PAGE_PARAMETERS, responses=page_of(PolicySummarySerializer)
    )
    def get(self, request: Request) -> Response:
        versions = PolicyVersion.objects.defer("document")
        return page(request, versions, serializer=PolicySummarySerializer, ordering="-number")

    @extend_schema(
        operation_id="policy_activate", request=PolicyMakeSerializer, responses={201: PolicySerializer}
    )
    def post(self, request: Request) -> Response:
        body = read_body(request, PolicyMakeSerializer)
        try:
            version = activate(body["document"], author=signed_in(request), reason=body["reason"])
        except PolicyError as error:
            raise _problem(error) from None
        return Response(PolicySerializer(version).data, status=201)


class ActivePolicyView(APIView):
    """The version in force."""

    permission_classes = [permission_for(Action.POLICY_READ)]

    @extend_schema(operation_id="policy_active", responses=PolicySerializer)
    def get(self, request: Request) -> Response:
        version = PolicyVersion.objects.filter(active=True).first()
        if version is None:
            raise not_found()
        return Response(PolicySerializer(version).data)


def _problem(error: PolicyError) -> Problem:
    params = {"line": error.line, "field": error.field, "reason": error.reason}
    return Problem(400, "invalid", params=params, errors=[FieldError("document", Fault.POLICY, str(error))])

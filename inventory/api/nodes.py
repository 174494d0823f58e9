"""Nodes: list, detail, and what operators do to them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import audit
from controlplane.accounts.permissions import Action, permission_for, permissions_by_method, require
from controlplane.accounts.scoping import signed_in
from controlplane.base import clock
from controlplane.base.api import (
    IF_MATCH,
    PAGE_PARAMETERS,
    CursorPages,
    check_if_match,
    etag_of,
    page_of,
    read_body,
    read_query,
    with_etag,
)
from controlplane.base.problems import Fault, invalid, not_found
from inventory import operations
from inventory.api.serializers import (
    DrainSerializer,
    EnrolmentTokenMakeSerializer,
    EnrolmentTokenSerializer,
    LabelsSerializer,
    NodeQuerySerializer,
    NodeSerializer,
    NodeSummarySerializer,
    OwnLabelsSerializer,
    ReasonSerializer,
)
from inventory.authority import pinned
from inventory.enrolment_tokens import make_token
from inventory.models import Node
from inventory.selectors import node_detail, node_rows, node_summary


class NodesView(APIView):
    """All nodes, oldest first."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(
        operation_id="nodes",
        parameters=[NodeQuerySerializer, *PAGE_PARAMETERS],
        responses=page_of(NodeSummarySerializer),
    )
    def get(self, request: Request) -> Response:
        rows = node_rows(**read_query(request, NodeQuerySerializer, paged=True))
        pages = CursorPages()
        pages.ordering = "id"
        found: list[Any] = pages.paginate_queryset(rows, request) or []
        documents = [node_summary(node) for node in found]
        return pages.get_paginated_response(NodeSummarySerializer(documents, many=True).data)


class NodeView(APIView):
    """One node with its CPUs, devices, links and placements."""

    permission_classes = [permission_for(Action.NODE_READ)]

    @extend_schema(operation_id="node", responses=NodeSerializer)
    def get(self, request: Request, node_id: int) -> Response:
        document = node_detail(node_id, signed_in(request))
        if document is None:
            raise not_found()
        return Response(NodeSerializer(document).data)


OPERATIONS: Mapping[str, Callable[..., Node]] = {
    "release": operations.release_node,
    "obey": operations.obey_node,
}
ACTIONS: Mapping[str, Action] = {"obey": Action.NODE_OBEY}


BODIES: Mapping[str, type[ReasonSerializer]] = {"drain": DrainSerializer}


class _NodeOperationView(APIView):
    """One operation; the answer is the node as it now stands."""

    operation = ""

    def post(self, request: Request, node_id: int) -> Response:
        body = read_body(request, BODIES.get(self.operation, ReasonSerializer))
        node = _found(node_id)
        with transaction.atomic():
            operate: Callable[..., Node] = OPERATIONS.get(self.operation, self._change_state)
            operate(node, **_as_options(body))
            audit.record(request, f"node-{self.operation}", target=node, details=_as_details(node, body))
        return _summary(node_id)

    def _change_state(self, node: Node, **options: Any) -> Node:
        return operations.change_node_state(node, self.operation, **options)


def _as_options(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of an operation in the words of the function that does it."""
    options = {"reason": body["reason"]}
    deadline: datetime | None = body.get("deadline")
    if deadline is not None and deadline <= clock.now():
        raise invalid("deadline", Fault.INVALID, message=_("The deadline must lie in the future."))
    return options | ({"drain_deadline": deadline} if "deadline" in body else {})


def _as_details(node: Node, body: Mapping[str, Any]) -> dict[str, Any]:
    deadline: datetime | None = body.get("deadline")
    given = {} if deadline is None else {"deadline": deadline.isoformat()}
    return {"name": node.name, "reason": body["reason"], **given}


def _found(node_id: int) -> Node:
    node = Node.objects.filter(pk=node_id).first()
    if node is None:
        raise not_found()
    return node


def _summary(node_id: int) -> Response:
    return Response(NodeSummarySerializer(node_summary(node_rows().get(pk=node_id))).data)


def node_operation_view(operation: str) -> type[APIView]:
    """The view of cordon, uncordon, drain, maintenance, release or obey."""
    body = BODIES.get(operation, ReasonSerializer)
    described = extend_schema(operation_id=f"node_{operation}", request=body, responses=NodeSummarySerializer)
    permission = permission_for(ACTIONS.get(operation, Action.NODE_OPERATE))
    members = {"operation": operation, "permission_classes": [permission]}
    view = type(f"Node{operation.title()}View", (_NodeOperationView,), members)
    return extend_schema_view(post=described)(view)


class NodeLabelsView(APIView):
    """The labels that operators give a node. With If-Match they replace those that the editor has seen, or none."""

    permission_classes = [permissions_by_method(GET=Action.NODE_READ, PUT=Action.NODE_OPERATE)]

    @extend_schema(operation_id="node_labels", responses=OwnLabelsSerializer)
    def get(self, request: Request, node_id: int) -> Response:
        labels = _found(node_id).own_labels
        return with_etag(Response(OwnLabelsSerializer({"labels": labels}).data), _labels_etag(labels))

    @extend_schema(
        operation_id="node_labels_set",
        parameters=[IF_MATCH],
        request=LabelsSerializer,
        responses=NodeSummarySerializer,
    )
    def put(self, request: Request, node_id: int) -> Response:
        body = read_body(request, LabelsSerializer)
        node, labels = _found(node_id), body["labels"]
        with transaction.atomic():
            before = operations.label_node(
                node, labels, check=lambda seen: check_if_match(request, _labels_etag(seen))
            )
            details = {"before": before, "after": labels, "reason": body["reason"]}
            audit.record(request, "node-labels", target=node, details={"name": node.name, **details})
        return with_etag(_summary(node_id), _labels_etag(labels))


def _labels_etag(labels: Mapping[str, str]) -> str:
    return etag_of(json.dumps(labels, sort_keys=True))


class EnrolmentTokensView(APIView):
    """One-time rights to enrol a node."""

    permission_classes = [permission_for(Action.NODE_ENROL)]

    @extend_schema(
        operation_id="enrolment_token_create",
        request=EnrolmentTokenMakeSerializer,
        responses={201: EnrolmentTokenSerializer},
    )
    def post(self, request: Request) -> Response:
        body = read_body(request, EnrolmentTokenMakeSerializer)
        if body.get("node") is not None:
            require(request.user, Action.NODE_TAKEOVER)
        replaces = _replaced_node(body.get("node"))
        with transaction.atomic():
            made = make_token(
                creator=signed_in(request),
                life=timedelta(hours=body["expires_in_hours"]),
                node_set=body.get("node_set"),
                replaces=replaces,
            )
            details = {"node_set": body.get("node_set"), "replaces": body.get("node")}
            audit.record(request, "enrolment-token-create", target=made.token, details=details)
        secret = pinned(made.secret)
        document = {
            "token": secret,
            "command": _command(secret),
            "expires_at": made.token.expires_at,
        }
        return Response(EnrolmentTokenSerializer(document).data, status=201)


def _replaced_node(node_id: int | None) -> Node | None:
    if node_id is None:
        return None
    node = Node.objects.filter(pk=node_id).first()
    if node is None:
        raise invalid("node", Fault.NOT_FOUND, message=_("There is no such node."))
    return node


def _command(secret: str) -> str:
    """What to type on the new node; the token goes through a private file, since arguments show in process lists."""
    write = f"(umask 077 && printf %s {shlex.quote(secret)} > enrolment.token)"
    return (
        f"{write} && headrace-agent run --server {shlex.quote(settings.ORIGIN)} --token-file enrolment.token"
    )

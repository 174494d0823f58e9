"""Nodes without an agent: the ways to them over SSH, and the keys that the server signs in with."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import audit
from controlplane.accounts.permissions import Action, permission_for
from controlplane.accounts.scoping import signed_in
from controlplane.base.api import PAGE_PARAMETERS, CursorPages, StrictSerializer, page_of, read_body
from controlplane.base.problems import Problem, not_found
from inventory.models import RemoteHost, RemoteProblem
from inventory.remote import entries, hosts, keys
from inventory.remote.problems import problem_text

ADDRESS = r"^[A-Za-z0-9]([A-Za-z0-9.:_-]{0,251}[A-Za-z0-9])?$"
USER = r"^[a-z_][a-z0-9_.-]{0,62}$"
KEY = f"^{keys.NAME.pattern}$"


class AddressSerializer(StrictSerializer):
    """Where an sshd listens."""

    address = serializers.RegexField(ADDRESS, max_length=253)
    port = serializers.IntegerField(min_value=1, max_value=65535, default=22)


class HostKeySerializer(serializers.Serializer):
    """A public host key and the fingerprint that `ssh-keygen -lf` shows of it on the node."""

    host_key = serializers.CharField()
    fingerprint = serializers.CharField()


class ConfirmSerializer(StrictSerializer):
    """The host key, type and base64, that a person compared with the node's own."""

    host_key = serializers.CharField(max_length=8192)


class RemoteHostMakeSerializer(AddressSerializer):
    """A way to a node. `key` names one of the server's SSH keys; `host_key` is what the scan shows, once a person
    compared its fingerprint with the node's own: no other will be accepted.
    """

    user = serializers.RegexField(USER, max_length=64)
    key = serializers.RegexField(KEY, max_length=64)
    host_key = serializers.CharField(max_length=8192)
    node_set = serializers.CharField(max_length=100, required=False, allow_null=True)
    fetches_images = serializers.BooleanField(required=False)


class RemoteHostChangeSerializer(StrictSerializer):
    """What may be changed of a way to a node."""

    fetches_images = serializers.BooleanField()


class RemoteHostSerializer(serializers.Serializer):
    """A way to a node and how the last look went; `problem` is empty where it gave a report, `node` is null until one
    did for the first time. Nothing is ever changed on the node unless it `fetches_images` ahead of demand.
    """

    id = serializers.IntegerField()
    address = serializers.CharField()
    port = serializers.IntegerField()
    user = serializers.CharField()
    key = serializers.CharField()
    fingerprint = serializers.CharField()
    node = serializers.IntegerField(allow_null=True)
    fetches_images = serializers.BooleanField()
    tried_at = serializers.DateTimeField(allow_null=True)
    answered_at = serializers.DateTimeField(allow_null=True)
    failures = serializers.IntegerField()
    problem = serializers.ChoiceField(choices=RemoteProblem.values, allow_blank=True)
    problem_text = serializers.CharField(allow_blank=True)
    problem_detail = serializers.CharField(allow_blank=True)


class SshKeyMakeSerializer(StrictSerializer):
    """The name of a new key."""

    name = serializers.RegexField(KEY, max_length=64)


class SshKeySerializer(serializers.Serializer):
    """The public half of one of the server's keys, a line for the node's authorized_keys; null for one that cannot be
    used.
    """

    name = serializers.CharField()
    public_key = serializers.CharField(allow_null=True)


class SshKeysSerializer(serializers.Serializer):
    """All keys by name."""

    results = SshKeySerializer(many=True)


class RemoteHostsView(APIView):
    """All ways to nodes without an agent, oldest first."""

    permission_classes = [permission_for(Action.NODE_ENROL)]

    @extend_schema(
        operation_id="remote_hosts", parameters=[*PAGE_PARAMETERS], responses=page_of(RemoteHostSerializer)
    )
    def get(self, request: Request) -> Response:
        pages = CursorPages()
        pages.ordering = "id"
        found: list[Any] = pages.paginate_queryset(RemoteHost.objects.all(), request) or []
        documents = [document(host) for host in found]
        return pages.get_paginated_response(RemoteHostSerializer(documents, many=True).data)

    @extend_schema(
        operation_id="remote_host_add",
        request=RemoteHostMakeSerializer,
        responses={201: RemoteHostSerializer},
    )
    def post(self, request: Request) -> Response:
        body = read_body(request, RemoteHostMakeSerializer)
        with transaction.atomic():
            host = entries.add(signed_in(request), body)
            details = document(host)
            told = ("address", "port", "user", "key", "fingerprint", "fetches_images")
            seen = {name: details[name] for name in told}
            audit.record(request, "remote-host-add", target=host, details=seen)
        return Response(RemoteHostSerializer(document(host)).data, status=201)


class RemoteHostView(APIView):
    """One way to a node."""

    permission_classes = [permission_for(Action.NODE_ENROL)]

    @extend_schema(operation_id="remote_host", responses=RemoteHostSerializer)
    def get(self, request: Request, host_id: int) -> Response:
        return Response(RemoteHostSerializer(document(_found(host_id))).data)

    @extend_schema(
        operation_id="remote_host_change",
        request=RemoteHostChangeSerializer,
        responses=RemoteHostSerializer,
    )
    def patch(self, request: Request, host_id: int) -> Response:
        host = _found(host_id)
        fetches = read_body(request, RemoteHostChangeSerializer)["fetches_images"]
        with transaction.atomic():
            hosts.let_fetch(host, fetches_images=fetches)
            details = {"address": host.address, "fetches_images": fetches}
            audit.record(request, "remote-host-change", target=host, details=details)
        return Response(RemoteHostSerializer(document(host)).data)

    @extend_schema(operation_id="remote_host_remove", request=None, responses={204: None})
    def delete(self, request: Request, host_id: int) -> Response:
        host = _found(host_id)
        with transaction.atomic():
            details = {"address": host.address, "port": host.port, "node": host.node_id}
            audit.record(request, "remote-host-remove", target=host, details=details)
            entries.remove(host)
        return Response(status=204)


class RemoteHostKeyView(APIView):
    """The host key of a node that was reinstalled, confirmed anew."""

    permission_classes = [permission_for(Action.NODE_ENROL)]

    @extend_schema(
        operation_id="remote_host_confirm", request=ConfirmSerializer, responses=RemoteHostSerializer
    )
    def put(self, request: Request, host_id: int) -> Response:
        host = _found(host_id)
        body = read_body(request, ConfirmSerializer)
        with transaction.atomic():
            entries.confirm(host, body["host_key"])
            host.refresh_from_db()
            details = {"address": host.address, "fingerprint": document(host)["fingerprint"]}
            audit.record(request, "remote-host-confirm", target=host, details=details)
        return Response(RemoteHostSerializer(document(host)).data)


class HostKeyScanView(APIView):
    """The host key that is shown at an address. Nothing is sent there and nothing is kept."""

    permission_classes = [permission_for(Action.NODE_ENROL)]

    @extend_schema(
        operation_id="remote_host_scan", request=AddressSerializer, responses={200: HostKeySerializer}
    )
    def post(self, request: Request) -> Response:
        body = read_body(request, AddressSerializer)
        return Response(HostKeySerializer(entries.scan(body["address"], body["port"])).data)


class SshKeysView(APIView):
    """The server's own keys: their public halves go into the nodes' authorized_keys."""

    permission_classes = [permission_for(Action.NODE_ENROL)]

    @extend_schema(operation_id="ssh_keys", responses=SshKeysSerializer)
    def get(self, request: Request) -> Response:
        found = [{"name": name, "public_key": keys.public_half(name)} for name in keys.names()]
        return Response(SshKeysSerializer({"results": found}).data)

    @extend_schema(
        operation_id="ssh_key_make", request=SshKeyMakeSerializer, responses={201: SshKeySerializer}
    )
    def post(self, request: Request) -> Response:
        name = read_body(request, SshKeyMakeSerializer)["name"]
        with transaction.atomic():
            try:
                line = keys.make(name)
            except FileExistsError:
                raise Problem(
                    409, "ssh-key-exists", message=_("The server has an SSH key of this name already.")
                ) from None
            audit.record(request, "ssh-key-make", target=("ssh-key", name), details={"public_key": line})
        return Response(SshKeySerializer({"name": name, "public_key": line}).data, status=201)


def document(host: RemoteHost) -> dict[str, Any]:
    """One way to a node, in the language now active."""
    shown = ("id", "address", "port", "user", "key", "fetches_images", "tried_at", "answered_at", "failures")
    return {
        **{name: getattr(host, name) for name in (*shown, "problem")},
        "fingerprint": keys.fingerprint(keys.parse_host_key(host.host_key)),
        "node": host.node_id,
        "problem_text": problem_text(host.problem),
        "problem_detail": host.problem_detail,
    }


def _found(host_id: int) -> RemoteHost:
    host = RemoteHost.objects.filter(pk=host_id).first()
    if host is None:
        raise not_found()
    return host

"""How a node without an agent is reached over SSH, and how the last look at it went."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from controlplane.base import clock
from inventory.models.node import Node, NodeSet


class RemoteProblem(models.TextChoices):
    """Why the last look at a node without an agent gave no report."""

    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed-out"
    NOT_SSH = "not-ssh"
    HOST_KEY_CHANGED = "host-key-changed"
    KEY_MISSING = "key-missing"
    KEY_UNUSABLE = "key-unusable"
    KEY_REFUSED = "key-refused"
    CONNECTION_LOST = "connection-lost"
    TOO_MUCH_OUTPUT = "too-much-output"
    NOT_UNDERSTOOD = "not-understood"
    NO_MACHINE_ID = "no-machine-id"
    MACHINE_CHANGED = "machine-changed"
    SAME_MACHINE = "same-machine"
    HAS_AGENT = "has-agent"


class RemoteHost(models.Model):
    """A way to a node without an agent. `key` names a file in the server's folder of SSH keys, `host_key` is the public
    key (type and base64) that a person confirmed; no other is accepted.

    Whoever looks sets `claim` and a `due_at` by which it is surely done: another look before that is refused, and what
    a holder of an older claim brings is dropped. Only where `fetches_images` does anything change on the node: images
    are fetched there ahead of demand. `memory` is what the reader of outputs wants to know the next time,
    `paused` the tools (with times in a row and until when, in milliseconds) that hung and are left alone for a while.
    """

    address = models.CharField(max_length=253)
    port = models.PositiveIntegerField(default=22)
    user = models.CharField(max_length=64)
    key = models.CharField(max_length=64)
    host_key = models.TextField()
    node_set = models.ForeignKey(NodeSet, null=True, on_delete=models.SET_NULL, related_name="+")
    node = models.OneToOneField(Node, null=True, on_delete=models.SET_NULL, related_name="remote")
    created_at = models.DateTimeField(default=clock.now)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    fetches_images = models.BooleanField(default=False, db_default=False)
    due_at = models.DateTimeField(default=clock.now, db_index=True)
    claim = models.CharField(max_length=32, blank=True)
    tried_at = models.DateTimeField(null=True)
    answered_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=20, choices=RemoteProblem, blank=True)
    problem_detail = models.CharField(max_length=500, blank=True)
    host_read_at = models.DateTimeField(null=True)
    memory = models.TextField(blank=True)
    paused = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["address", "port"], name="remote_host_once"),
            models.CheckConstraint(
                condition=models.Q(port__gte=1, port__lte=65535), name="remote_host_port_possible"
            ),
        ]

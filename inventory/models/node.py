"""Nodes: identity, facts, operator state, credentials, last contact and last reading."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from controlplane.base import clock


class NodeState(models.TextChoices):
    """Where a node stands; SILENT and LOST come from missing reports, QUARANTINED from a clone."""

    ENROLLED = "enrolled"
    READY = "ready"
    CORDONED = "cordoned"
    DRAINING = "draining"
    MAINTENANCE = "maintenance"
    SILENT = "silent"
    LOST = "lost"
    QUARANTINED = "quarantined"


class NodeSet(models.Model):
    """A named group of nodes (sub-cluster)."""

    name = models.CharField(max_length=100, unique=True)


class Node(models.Model):
    """One machine, known by its machine id. `facts` is agent.protocol.Facts as JSON without devices and links.

    `revision` grows with every change that scheduling may see; heartbeats and readings never touch this row. `labels`
    are those of the agent (in `facts`: `agent_labels`) with `own_labels`, which operators set, over them. What still
    runs at `drain_deadline` on a draining node is moved.
    """

    machine_id = models.CharField(max_length=128, unique=True)
    name = models.CharField(max_length=255)
    state = models.CharField(max_length=12, choices=NodeState, default=NodeState.ENROLLED)
    state_reason = models.CharField(max_length=500, blank=True)
    state_since = models.DateTimeField(default=clock.now)
    drain_deadline = models.DateTimeField(null=True)
    state_before_silence = models.CharField(max_length=12, choices=NodeState, null=True)
    node_set = models.ForeignKey(NodeSet, null=True, on_delete=models.SET_NULL, related_name="nodes")
    labels = models.JSONField(default=dict)
    own_labels = models.JSONField(default=dict)
    observe_only = models.BooleanField(default=False)
    isolates_users = models.BooleanField(default=False)
    simulated = models.BooleanField(default=False)
    cpu_model = models.CharField(max_length=200, null=True)
    cpu_count = models.PositiveIntegerField(null=True)
    memory_mib = models.BigIntegerField(null=True)
    agent_version = models.CharField(max_length=50, blank=True)
    facts = models.JSONField(default=dict)
    facts_digest = models.CharField(max_length=128, blank=True)
    facts_at = models.DateTimeField(null=True)
    enrolled_at = models.DateTimeField(default=clock.now)
    revision = models.BigIntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(fields=["name"], name="node_name"),
            models.Index(fields=["state"], name="node_state"),
        ]


class NodeCredential(models.Model):
    """A node's token, hashed (SHA-256 hex of a 256-bit random secret)."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="credentials")
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=clock.now)
    revoked_at = models.DateTimeField(null=True)


class EnrolmentToken(models.Model):
    """A one-time right to enrol; with `replaces`, an approval to take over that silent node's identity."""

    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=clock.now)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    expires_at = models.DateTimeField()
    node_set = models.ForeignKey(NodeSet, null=True, on_delete=models.SET_NULL)
    replaces = models.ForeignKey(Node, null=True, on_delete=models.CASCADE, related_name="+")
    used_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(Node, null=True, on_delete=models.SET_NULL, related_name="+")


class NodeContact(models.Model):
    """Last contact of a node by the server's clock; written on every report. `epoch` is what the agent last obeyed,
    `late_seq` the number of a report far below `seq` that nothing followed yet. `report_digest` and `state_digest`
    are digests of what the last report said that changed nothing, and of all that it could have changed.
    """

    node = models.OneToOneField(Node, on_delete=models.CASCADE, primary_key=True, related_name="contact")
    received_at = models.DateTimeField(null=True)
    checks_at = models.DateTimeField(null=True)
    boot_id = models.CharField(max_length=64, blank=True)
    seq = models.BigIntegerField(default=0)
    late_seq = models.BigIntegerField(null=True)
    epoch = models.BigIntegerField(default=0)
    address = models.GenericIPAddressField(null=True)
    clock_offset_us = models.BigIntegerField(null=True)
    clock_uncertainty_us = models.BigIntegerField(null=True)
    clock_alarm = models.BooleanField(default=False)
    report_digest = models.CharField(max_length=64, blank=True)
    state_digest = models.CharField(max_length=32, blank=True)


class RetiredBoot(models.Model):
    """A boot id that a node used before its present one; seen again, two live machines share one identity."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="retired_boots")
    boot_id = models.CharField(max_length=64)
    retired_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["node", "boot_id"], name="retired_boot_once")]


class NodeReading(models.Model):
    """Latest reading of a host; unknown is null."""

    node = models.OneToOneField(Node, on_delete=models.CASCADE, primary_key=True, related_name="reading")
    at = models.DateTimeField()
    cpu_used_milli = models.BigIntegerField(null=True)
    memory_used_mib = models.BigIntegerField(null=True)
    load1_milli = models.BigIntegerField(null=True)
    power_mw = models.BigIntegerField(null=True)

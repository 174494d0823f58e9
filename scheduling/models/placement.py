"""Placements and what they book; capacity is guarded when rows are inserted, and rows of dead placements are
deleted.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from controlplane.base import clock
from inventory.models import Device, Node
from queues.models import Job


class Phase(models.TextChoices):
    """How far the system got with a placement."""

    ASSIGNED = "assigned"
    PREPARING = "preparing"
    RUNNING = "running"
    CHECKPOINTING = "checkpointing"
    STOPPING = "stopping"
    RELEASED = "released"
    LOST = "lost"


DEAD_PHASES = (Phase.RELEASED, Phase.LOST)
LIVE_PHASES = tuple(phase for phase in Phase if phase not in DEAD_PHASES)
# What runs or is about to; what else lives is on its way out.
STARTED_PHASES = (Phase.ASSIGNED, Phase.PREPARING, Phase.RUNNING)


class Placement(models.Model):
    """One attempt of one job, or of one replica of it, on one node.

    `fence` is the time of assignment in Unix milliseconds: with the id it names one assignment for ever,
    also when a restored backup hands out the same id again; answers of the agent with another fence
    change nothing. `device_milli` and `cpus` say what it books, also when it ended. `borrowed` holds capacity beyond
    the cap of its queue. `yields_to` is the job that it was asked to leave for; until `spared_until` it is asked no
    more. `log_bytes` is what is stored, `log_total_bytes` what the agent says the ended attempt wrote. Of a gang each
    replica keeps how it ended (`ending` is a queues.derive.Ending) on what `failed_devices`, and when it made the
    checkpoint that was asked for.
    """

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="placements")
    attempt = models.PositiveIntegerField()
    replica = models.PositiveIntegerField(default=0)
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="placements")
    phase = models.CharField(max_length=15, choices=Phase, default=Phase.ASSIGNED)
    fence = models.BigIntegerField()
    host_memory_mib = models.BigIntegerField(default=0)
    read_bandwidth_mib_s = models.BigIntegerField(default=0)
    device_milli = models.PositiveIntegerField(default=0)
    cpus = models.JSONField(default=list)
    loader_cpus = models.JSONField(default=list)
    borrowed = models.BooleanField(default=False)
    stop_reason = models.CharField(max_length=50, blank=True)
    yields_to = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="victims")
    spared_until = models.DateTimeField(null=True)
    assigned_at = models.DateTimeField(default=clock.now)
    preparing_at = models.DateTimeField(null=True)
    running_at = models.DateTimeField(null=True)
    stopping_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    uid = models.BigIntegerField(null=True)
    pid = models.BigIntegerField(null=True)
    adopted = models.BooleanField(default=False)
    exit_code = models.IntegerField(null=True)
    exit_signal = models.IntegerField(null=True)
    exit_reason = models.CharField(max_length=20, blank=True)
    exit_message = models.CharField(max_length=1000, blank=True)
    ending = models.CharField(max_length=15, blank=True, default="")
    failed_devices = models.JSONField(default=list)
    saved_at = models.DateTimeField(null=True)
    log_bytes = models.BigIntegerField(default=0)
    log_total_bytes = models.BigIntegerField(null=True)
    log_truncated = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "attempt", "replica"], name="placement_once_per_attempt"),
            models.UniqueConstraint(
                fields=["job", "replica"],
                condition=Q(phase__in=LIVE_PHASES),
                name="placement_one_live",
            ),
            models.CheckConstraint(
                condition=Q(host_memory_mib__gte=0) & Q(read_bandwidth_mib_s__gte=0),
                name="placement_nonnegative",
            ),
        ]
        indexes = [
            models.Index(fields=["node"], condition=Q(phase__in=LIVE_PHASES), name="placement_live_by_node"),
            models.Index(fields=["ended_at"], condition=Q(ended_at__isnull=False), name="placement_ended"),
        ]


class Slice(models.Model):
    """A booked share of a device. The whole device is 1000 milli, and any slice at least 1, so whole and
    shared exclude one another by arithmetic.
    """

    placement = models.ForeignKey(Placement, on_delete=models.CASCADE, related_name="slices")
    device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="slices")
    memory_mib = models.BigIntegerField()
    compute_milli = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["placement", "device"], name="slice_once"),
            models.UniqueConstraint(
                fields=["device"], condition=Q(compute_milli=1000), name="slice_whole_once"
            ),
            models.CheckConstraint(
                condition=Q(memory_mib__gte=0) & Q(compute_milli__gte=1) & Q(compute_milli__lte=1000),
                name="slice_range",
            ),
        ]


class CoreBooking(models.Model):
    """One logical CPU of one node held by one placement."""

    placement = models.ForeignKey(Placement, on_delete=models.CASCADE, related_name="core_bookings")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="core_bookings")
    cpu = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["node", "cpu"], name="core_once")]


class Hold(models.Model):
    """Capacity of a node kept for one job while its victims leave; invisible to others, not counted as booked. `place`
    is the engine's Reservation as JSON.
    """

    beneficiary = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="holds")
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="holds")
    replica = models.PositiveIntegerField(default=0)
    place = models.JSONField()
    until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["beneficiary", "replica"], name="hold_once")]

"""Accelerators: identity, facts, health, links and last reading."""

from __future__ import annotations

from django.db import models

from controlplane.base import clock
from inventory.models.node import Node


class DeviceHealth(models.TextChoices):
    """Health by the checks; HEALTHY and SUSPECT take new jobs and count as capacity."""

    UNKNOWN = "unknown"
    HEALTHY = "healthy"
    SUSPECT = "suspect"
    QUARANTINED = "quarantined"
    RECOVERED = "recovered"
    MISSING = "missing"


class Device(models.Model):
    """One accelerator, known within its node by `identity` (UUID, else PCI bus id).

    A slice of a partitioned one (MIG, vNPU) is a device with a `parent`; `compute_milli` is its part of that, and
    slices of one `memory_group` share one memory of `memory_total_mib`. `fatal` says that a fatal check ended its
    trust: what runs on it is moved. `flapping` says that it failed too often lately.
    """

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="devices")
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="partitions")
    identity = models.CharField(max_length=128)
    uuid = models.CharField(max_length=128, null=True)
    pci_bus_id = models.CharField(max_length=32, null=True)
    index = models.PositiveIntegerField()
    vendor = models.CharField(max_length=20)
    model = models.CharField(max_length=200, null=True)
    memory_total_mib = models.BigIntegerField(null=True)
    memory_reserved_mib = models.BigIntegerField(null=True)
    compute_units = models.PositiveIntegerField(null=True)
    compute_milli = models.PositiveIntegerField(null=True)
    memory_group = models.PositiveIntegerField(null=True)
    numa_node = models.IntegerField(null=True)
    cpu_affinity = models.JSONField(null=True)
    driver_version = models.CharField(max_length=100, null=True)
    power_limit_w = models.PositiveIntegerField(null=True)
    cordoned = models.BooleanField(default=False)
    health = models.CharField(max_length=12, choices=DeviceHealth, default=DeviceHealth.UNKNOWN)
    health_before_missing = models.CharField(max_length=12, choices=DeviceHealth, null=True)
    health_since = models.DateTimeField(null=True)
    health_reason = models.CharField(max_length=200, blank=True)
    health_evidence = models.TextField(blank=True)
    failed_checks = models.PositiveIntegerField(default=0)
    good_checks = models.PositiveIntegerField(default=0)
    unknown_checks = models.PositiveIntegerField(default=0)
    fatal = models.BooleanField(default=False)
    flapping = models.BooleanField(default=False)
    foreign_mib = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["node", "identity"], name="device_identity"),
            models.CheckConstraint(
                condition=models.Q(memory_total_mib=None) | models.Q(memory_total_mib__gte=0),
                name="device_memory_nonnegative",
            ),
            models.CheckConstraint(condition=models.Q(foreign_mib__gte=0), name="device_foreign_nonnegative"),
        ]


class DeviceEvent(models.Model):
    """One change of a device's health with its cause and raw evidence, kept as history."""

    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(default=clock.now)
    from_health = models.CharField(max_length=12, choices=DeviceHealth)
    to_health = models.CharField(max_length=12, choices=DeviceHealth)
    reason = models.CharField(max_length=200, blank=True)
    evidence = models.TextField(blank=True)
    actor = models.CharField(max_length=150, blank=True)

    class Meta:
        indexes = [models.Index(fields=["device", "-at"], name="device_event_recent")]


class DeviceLink(models.Model):
    """A link between two devices of one node, first < second by id."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="links")
    first = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20)
    lanes = models.PositiveIntegerField(null=True)
    bandwidth_mb_s = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="link_once"),
            models.CheckConstraint(condition=models.Q(first__lt=models.F("second")), name="link_ordered"),
        ]


class DeviceReading(models.Model):
    """Latest reading of a device; unknown is null.

    `unbooked_mib` is the use that no booking covered at that time.
    """

    device = models.OneToOneField(Device, on_delete=models.CASCADE, primary_key=True, related_name="reading")
    at = models.DateTimeField()
    memory_used_mib = models.BigIntegerField(null=True)
    utilization_pct = models.PositiveSmallIntegerField(null=True)
    temperature_c = models.SmallIntegerField(null=True)
    power_mw = models.BigIntegerField(null=True)
    unbooked_mib = models.BigIntegerField(null=True)

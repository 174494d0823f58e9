"""The shapes of requests and answers about nodes and devices."""

from __future__ import annotations

import re

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from agent.protocol import Vendor
from controlplane.base.api import StrictSerializer
from inventory.memory_limits import MemoryLimit
from inventory.models import DeviceHealth, NodeState, RemoteProblem

LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,126}[A-Za-z0-9])?", re.ASCII)
MAX_LABELS = 64
MEMORY_LIMITS = [(limit.value, limit.value) for limit in MemoryLimit]
VENDORS = [(vendor.value, vendor.value) for vendor in Vendor]


class NodeSummarySerializer(serializers.Serializer):
    """One node. Unknown is null; `devices` counts those that are there. `agentless`: it is watched over SSH, and no job
    runs there.
    """

    id = serializers.IntegerField()
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=NodeState.choices)
    state_reason = serializers.CharField(allow_blank=True)
    state_since = serializers.DateTimeField()
    node_set = serializers.CharField(allow_null=True)
    cpu_model = serializers.CharField(allow_null=True)
    cpu_count = serializers.IntegerField(allow_null=True)
    memory_mib = serializers.IntegerField(allow_null=True)
    devices = serializers.IntegerField()
    device_models = serializers.ListField(child=serializers.CharField())
    drain_deadline = serializers.DateTimeField(allow_null=True)
    last_report_at = serializers.DateTimeField(allow_null=True)
    clock_offset_ms = serializers.FloatField(allow_null=True)
    clock_uncertainty_ms = serializers.FloatField(allow_null=True)
    observe_only = serializers.BooleanField()
    agentless = serializers.BooleanField()
    isolates_users = serializers.BooleanField()
    simulated = serializers.BooleanField()
    agent_version = serializers.CharField(allow_blank=True)
    labels = serializers.DictField(child=serializers.CharField())


class CatalogueSerializer(serializers.Serializer):
    """What the maker says about a model; TFLOPS are dense peaks by precision."""

    name = serializers.CharField()
    tdp_w = serializers.IntegerField(allow_null=True)
    tflops = serializers.DictField(child=serializers.FloatField())
    interconnect = serializers.CharField(allow_null=True)
    source = serializers.CharField()  # type: ignore[assignment]


class DeviceReadingSerializer(serializers.Serializer):
    """The latest reading of a device."""

    at = serializers.DateTimeField()
    memory_used_mib = serializers.IntegerField(allow_null=True)
    utilization_pct = serializers.IntegerField(allow_null=True)
    temperature_c = serializers.IntegerField(allow_null=True)
    power_mw = serializers.IntegerField(allow_null=True)


class DeviceBookedSerializer(serializers.Serializer):
    """Sums of the slices on a device."""

    memory_mib = serializers.IntegerField()
    compute_milli = serializers.IntegerField()


class DevicePlacementSerializer(serializers.Serializer):
    """One slice of a device; the name of a foreign team's job is null. `memory_limit`: `hardware` keeps the job within
    its memory, or what it uses is only `watched`.
    """

    id = serializers.IntegerField()
    job = serializers.IntegerField()
    job_name = serializers.CharField(allow_null=True)
    memory_mib = serializers.IntegerField()
    compute_milli = serializers.IntegerField()
    memory_limit = serializers.ChoiceField(choices=MEMORY_LIMITS)


class DeviceSerializer(serializers.Serializer):
    """One accelerator, or with a `parent` a slice of one: `compute_milli` is its part of that, and slices of one
    `memory_group` share the same memory. A device with slices takes no jobs beside them. Unknown is null.
    """

    id = serializers.IntegerField()
    parent = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]
    node = serializers.IntegerField()
    node_name = serializers.CharField()
    index = serializers.IntegerField()
    identity = serializers.CharField()
    uuid = serializers.CharField(allow_null=True)
    pci_bus_id = serializers.CharField(allow_null=True)
    vendor = serializers.ChoiceField(choices=VENDORS)
    model = serializers.CharField(allow_null=True)
    memory_total_mib = serializers.IntegerField(allow_null=True)
    memory_reserved_mib = serializers.IntegerField(allow_null=True)
    compute_units = serializers.IntegerField(allow_null=True)
    compute_milli = serializers.IntegerField(allow_null=True)
    memory_group = serializers.IntegerField(allow_null=True)
    driver_version = serializers.CharField(allow_null=True)
    numa_node = serializers.IntegerField(allow_null=True)
    cpu_affinity = serializers.ListField(child=serializers.IntegerField(), allow_null=True)
    power_limit_w = serializers.IntegerField(allow_null=True)
    health = serializers.ChoiceField(choices=DeviceHealth.choices)
    health_since = serializers.DateTimeField(allow_null=True)
    health_reason = serializers.CharField(allow_blank=True)
    health_evidence = serializers.CharField(allow_blank=True)
    flapping = serializers.BooleanField()
    cordoned = serializers.BooleanField()
    foreign_mib = serializers.IntegerField()
    catalogue = CatalogueSerializer(allow_null=True)
    booked = DeviceBookedSerializer()
    reading = DeviceReadingSerializer(allow_null=True)
    placements = DevicePlacementSerializer(many=True)


class CpuSerializer(serializers.Serializer):
    """One logical CPU and who holds it. Unknown is null."""

    id = serializers.IntegerField()
    core = serializers.IntegerField(allow_null=True)
    socket = serializers.IntegerField(allow_null=True)
    numa = serializers.IntegerField(allow_null=True)
    max_mhz = serializers.IntegerField(allow_null=True)
    online = serializers.BooleanField()
    reserved = serializers.BooleanField()
    placement = serializers.IntegerField(allow_null=True)
    job = serializers.IntegerField(allow_null=True)


class NumaSerializer(serializers.Serializer):
    """One NUMA node; `distances` in the order of the list."""

    id = serializers.IntegerField(allow_null=True)
    cpus = serializers.ListField(child=serializers.IntegerField())
    memory_mib = serializers.IntegerField(allow_null=True)
    distances = serializers.ListField(child=serializers.IntegerField(allow_null=True))


class MountSerializer(serializers.Serializer):
    """A mount point."""

    path = serializers.CharField(allow_null=True)
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    fs_type = serializers.CharField(allow_null=True)
    total_mib = serializers.IntegerField(allow_null=True)


class RuntimeSerializer(serializers.Serializer):
    """A container runtime."""

    name = serializers.CharField(allow_null=True)
    version = serializers.CharField(allow_null=True)


class LinkSerializer(serializers.Serializer):
    """A link between two devices, by id."""

    a = serializers.IntegerField()
    b = serializers.IntegerField()
    kind = serializers.CharField()
    lanes = serializers.IntegerField(allow_null=True)
    bandwidth_mb_s = serializers.IntegerField(allow_null=True)


class NodeReadingSerializer(serializers.Serializer):
    """The latest reading of a host."""

    at = serializers.DateTimeField()
    cpu_used_milli = serializers.IntegerField(allow_null=True)
    memory_used_mib = serializers.IntegerField(allow_null=True)
    load1_milli = serializers.IntegerField(allow_null=True)
    power_mw = serializers.IntegerField(allow_null=True)


class NodeBookedSerializer(serializers.Serializer):
    """Sums of the bookings of a host."""

    cores = serializers.IntegerField()
    memory_mib = serializers.IntegerField()


class SliceSerializer(serializers.Serializer):
    """A booked share of a device."""

    device = serializers.IntegerField()
    memory_mib = serializers.IntegerField()
    compute_milli = serializers.IntegerField()


class NodePlacementSerializer(serializers.Serializer):
    """One live placement; the name of a foreign team's job is null."""

    id = serializers.IntegerField()
    job = serializers.IntegerField()
    job_name = serializers.CharField(allow_null=True)
    attempt = serializers.IntegerField()
    phase = serializers.CharField()
    cpus = serializers.ListField(child=serializers.IntegerField())
    slices = SliceSerializer(many=True)


class StoredImageSerializer(serializers.Serializer):
    """A container image that is on the node."""

    name = serializers.CharField()
    digest = serializers.CharField(allow_null=True)
    size_mib = serializers.IntegerField(allow_null=True)


class RemoteWatchSerializer(serializers.Serializer):
    """How a node without an agent is watched over SSH; `problem` is empty where the last look went well."""

    id = serializers.IntegerField()
    address = serializers.CharField()
    port = serializers.IntegerField()
    tried_at = serializers.DateTimeField(allow_null=True)
    answered_at = serializers.DateTimeField(allow_null=True)
    problem = serializers.ChoiceField(choices=RemoteProblem.values, allow_blank=True)
    problem_text = serializers.CharField(allow_blank=True)
    problem_detail = serializers.CharField(allow_blank=True)


class NodeSerializer(NodeSummarySerializer):
    """Everything about one node; here `devices` are the devices themselves."""

    arch = serializers.CharField(allow_null=True)
    os = serializers.CharField(allow_null=True)
    kernel = serializers.CharField(allow_null=True)
    cpus = CpuSerializer(many=True)
    numa = NumaSerializer(many=True)
    mounts = MountSerializer(many=True)
    runtimes = RuntimeSerializer(many=True)
    devices = DeviceSerializer(many=True)  # type: ignore[assignment]
    links = LinkSerializer(many=True)
    images = serializers.ListField(child=serializers.CharField())
    stored_images = StoredImageSerializer(many=True)
    own_labels = serializers.DictField(child=serializers.CharField())
    datasets = serializers.ListField(child=serializers.CharField())
    reading = NodeReadingSerializer(allow_null=True)
    remote = RemoteWatchSerializer(allow_null=True)
    booked = NodeBookedSerializer()
    placements = NodePlacementSerializer(many=True)
    warnings = serializers.ListField(child=serializers.CharField())


class NodeQuerySerializer(StrictSerializer):
    """Filters of nodes; `search` looks into the name, or takes a whole machine id."""

    state = serializers.ChoiceField(choices=NodeState.choices, required=False)
    node_set = serializers.CharField(max_length=100, required=False)
    search = serializers.CharField(max_length=128, required=False)


class DeviceQuerySerializer(StrictSerializer):
    """Filters of devices."""

    node = serializers.IntegerField(min_value=1, required=False)
    model = serializers.CharField(max_length=200, required=False)
    health = serializers.ChoiceField(choices=DeviceHealth.choices, required=False)
    vendor = serializers.ChoiceField(choices=VENDORS, required=False)


class ReasonSerializer(StrictSerializer):
    """Why an operator does something."""

    reason = serializers.CharField(max_length=500, allow_blank=True, default="")


class DrainSerializer(ReasonSerializer):
    """Without a `deadline` running jobs may finish; what still runs then is moved."""

    deadline = serializers.DateTimeField(required=False, allow_null=True, default=None)


class OwnLabelsSerializer(serializers.Serializer):
    """All labels that operators gave a node."""

    labels = serializers.DictField(child=serializers.CharField())


class LabelsSerializer(ReasonSerializer):
    """All labels that operators give a node; they stand over those that its agent reports."""

    labels = serializers.DictField(child=serializers.CharField(max_length=300, allow_blank=True))

    def validate_labels(self, labels: dict[str, str]) -> dict[str, str]:
        wrong = next((name for name in labels if not LABEL.fullmatch(name)), None)
        if wrong is not None:
            raise serializers.ValidationError(
                _('"%(key)s" is no name of a label: letters, digits and . _ / - only.') % {"key": wrong}
            )
        if len(labels) > MAX_LABELS:
            raise serializers.ValidationError(_("At most %(limit)s labels.") % {"limit": MAX_LABELS})
        return labels


class DeviceEventSerializer(serializers.Serializer):
    """One change of a device's health with its cause and the raw evidence; `actor` is the person behind it, if any."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    from_health = serializers.ChoiceField(choices=DeviceHealth.choices)
    to_health = serializers.ChoiceField(choices=DeviceHealth.choices)
    reason = serializers.CharField(allow_blank=True)
    evidence = serializers.CharField(allow_blank=True)
    actor = serializers.CharField(allow_blank=True)


class LinkQuerySerializer(StrictSerializer):
    """Filters of links; `device` finds those at either end."""

    node = serializers.IntegerField(min_value=1, required=False)
    device = serializers.IntegerField(min_value=1, required=False)
    kind = serializers.CharField(max_length=20, required=False)


class NodeLinkSerializer(LinkSerializer):
    """A link with its node."""

    id = serializers.IntegerField()
    node = serializers.IntegerField(source="node_id")
    a = serializers.IntegerField(source="first_id")
    b = serializers.IntegerField(source="second_id")


class DeviceModelQuerySerializer(StrictSerializer):
    """Filters of models; `present` keeps those of which the cluster has devices."""

    vendor = serializers.ChoiceField(choices=VENDORS, required=False)
    present = serializers.BooleanField(required=False, default=False)


class DeviceModelSerializer(CatalogueSerializer):
    """One model of the catalogue, or (without a `source`) one that only devices here tell of, with what these report.

    `names` are what drivers call it; `devices` counts those of the cluster, slices left out.
    """

    vendor = serializers.ChoiceField(choices=VENDORS)
    names = serializers.ListField(child=serializers.CharField())
    memory_mib = serializers.IntegerField(allow_null=True)
    compute_units = serializers.IntegerField(allow_null=True)
    source = serializers.CharField(allow_null=True)
    devices = serializers.IntegerField()


class DeviceModelsSerializer(serializers.Serializer):
    """All models, by vendor and name."""

    results = DeviceModelSerializer(many=True)


class EnrolmentTokenMakeSerializer(StrictSerializer):
    """`node` approves that the machine of this silent node enrols again without its old token; admins only."""

    node_set = serializers.CharField(max_length=100, required=False, allow_null=True)
    expires_in_hours = serializers.IntegerField(min_value=1, max_value=24 * 30, default=24)
    node = serializers.IntegerField(min_value=1, required=False, allow_null=True)


class EnrolmentTokenSerializer(serializers.Serializer):
    """A one-time token, shown once, with the command that uses it."""

    token = serializers.CharField()
    command = serializers.CharField()
    expires_at = serializers.DateTimeField()

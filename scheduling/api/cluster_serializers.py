"""The shapes of answers about the cluster."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from inventory.models import DeviceHealth, NodeState


class WaitStatsSerializer(serializers.Serializer):
    """Seconds that jobs started in the last 24 hours had waited."""

    count = serializers.IntegerField()
    mean = serializers.FloatField(allow_null=True)
    p50 = serializers.FloatField(allow_null=True)
    p95 = serializers.FloatField(allow_null=True)
    p99 = serializers.FloatField(allow_null=True)


class QueueSerializer(serializers.Serializer):
    """One queue with its share of the schedulable capacity, in milli-device, and for its jobs without devices in
    milli-core. `borrowed` is the part of what is booked that goes back on demand; `model_caps` are in per cent of the
    devices of a model.
    """

    id = serializers.IntegerField()
    name = serializers.CharField()
    priority = serializers.IntegerField()
    quota_percent = serializers.FloatField(allow_null=True)
    model_caps = serializers.DictField(child=serializers.FloatField())
    preemptable = serializers.BooleanField()
    borrow = serializers.BooleanField()
    closed = serializers.BooleanField()
    paused = serializers.BooleanField()
    pending = serializers.IntegerField()
    starting = serializers.IntegerField()
    running = serializers.IntegerField()
    booked_device_milli = serializers.IntegerField()
    booked_core_milli = serializers.IntegerField()
    borrowed_device_milli = serializers.IntegerField()
    borrowed_core_milli = serializers.IntegerField()
    capacity_device_milli = serializers.IntegerField()
    capacity_core_milli = serializers.IntegerField()
    cap_device_milli = serializers.IntegerField(allow_null=True)
    cap_core_milli = serializers.IntegerField(allow_null=True)
    wait_s = WaitStatsSerializer()


class MarksSerializer(serializers.Serializer):
    """Mean and percentiles in per cent."""

    mean = serializers.FloatField(allow_null=True)
    p50 = serializers.FloatField(allow_null=True)
    p95 = serializers.FloatField(allow_null=True)
    p99 = serializers.FloatField(allow_null=True)


NodeCountsSerializer = type(
    "NodeCountsSerializer",
    (serializers.Serializer,),
    {"total": serializers.IntegerField(), **{state.value: serializers.IntegerField() for state in NodeState}},
)
DeviceCountsSerializer = type(
    "DeviceCountsSerializer",
    (serializers.Serializer,),
    {
        "total": serializers.IntegerField(),
        "schedulable": serializers.IntegerField(),
        **{health.value: serializers.IntegerField() for health in DeviceHealth},
    },
)


class AcceleratorsSerializer(serializers.Serializer):
    """Use of the schedulable accelerators."""

    booked_percent = serializers.FloatField(allow_null=True)
    measured_percent = MarksSerializer(allow_null=True)


@extend_schema_serializer(component_name="CpuUse")
class CpuSerializer(serializers.Serializer):
    """Use of the cores that take jobs."""

    booked_percent = serializers.FloatField(allow_null=True)
    measured_percent = serializers.FloatField(allow_null=True)
    cores = serializers.IntegerField()
    booked_cores = serializers.IntegerField()


class MemorySerializer(serializers.Serializer):
    """Use of the memory of ready nodes, in MiB."""

    booked_percent = serializers.FloatField(allow_null=True)
    measured_percent = serializers.FloatField(allow_null=True)
    total_mib = serializers.IntegerField()
    booked_mib = serializers.IntegerField()
    used_mib = serializers.IntegerField(allow_null=True)


class JobCountsSerializer(serializers.Serializer):
    """Jobs that the caller may see."""

    pending = serializers.IntegerField()
    starting = serializers.IntegerField()
    running = serializers.IntegerField()
    held = serializers.IntegerField()
    finished_24h = serializers.IntegerField()
    failed_24h = serializers.IntegerField()


class QueueLineSerializer(serializers.Serializer):
    """One queue in short."""

    name = serializers.CharField()
    pending = serializers.IntegerField()
    running = serializers.IntegerField()
    wait_s = WaitStatsSerializer()


class WaitingSerializer(serializers.Serializer):
    """How many jobs wait for one dominant reason."""

    code = serializers.CharField()
    count = serializers.IntegerField()


class AlertCountsSerializer(serializers.Serializer):
    """Open alerts. Those that are silenced are counted apart and in none of the others."""

    open = serializers.IntegerField()
    critical = serializers.IntegerField()
    acknowledged = serializers.IntegerField()
    silenced = serializers.IntegerField()


class LastCycleSerializer(serializers.Serializer):
    """The last cycle that looked at jobs: of the `considered` ones it `placed` some, the others keep `waiting`."""

    at = serializers.DateTimeField()
    wall_ms = serializers.IntegerField()
    considered = serializers.IntegerField()
    placed = serializers.IntegerField()
    waiting = serializers.IntegerField()


class CycleSerializer(LastCycleSerializer):
    """One cycle. `refused` counts kinds of requests, of which many jobs may wait; `stale` choices that were dropped
    because something had changed meanwhile.
    """

    id = serializers.IntegerField()
    at = serializers.DateTimeField(source="started_at")
    cpu_ms = serializers.IntegerField()
    refused = serializers.IntegerField()
    stale = serializers.IntegerField()


class OverviewSerializer(serializers.Serializer):
    """The cluster in one answer."""

    at = serializers.DateTimeField()
    nodes = NodeCountsSerializer()
    devices = DeviceCountsSerializer()
    accelerators = AcceleratorsSerializer()
    cpu = CpuSerializer()
    memory = MemorySerializer()
    power_w = serializers.IntegerField(allow_null=True)
    jobs = JobCountsSerializer()
    queues = QueueLineSerializer(many=True)
    waiting = WaitingSerializer(many=True)
    alerts = AlertCountsSerializer()
    cycle = LastCycleSerializer(allow_null=True)


class MapGroupSerializer(serializers.Serializer):
    """Nodes of one node set with one device model."""

    node_set = serializers.CharField(allow_null=True)
    model = serializers.CharField(allow_null=True)
    nodes = serializers.ListField(child=serializers.IntegerField())


class MapColumnsSerializer(serializers.Serializer):
    """Names of the members of rows, in order."""

    nodes = serializers.ListField(child=serializers.CharField())
    devices = serializers.ListField(child=serializers.CharField())


class MapSerializer(serializers.Serializer):
    """The resource map."""

    at = serializers.DateTimeField()
    groups = MapGroupSerializer(many=True)
    nodes = serializers.ListField(child=serializers.ListField(child=serializers.JSONField()))
    models = serializers.ListField(child=serializers.CharField())
    queues = serializers.ListField(child=serializers.CharField())
    teams = serializers.ListField(child=serializers.CharField())
    columns = MapColumnsSerializer()


class FittingJobSerializer(serializers.Serializer):
    """A waiting job that could start on the device."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    queue = serializers.CharField()


class LargestSerializer(serializers.Serializer):
    """The largest request that fits: of the device's memory alone on it and beside others and of its compute, and of
    the cores and memory that its node has left; memory is null when its size is unknown.
    """

    alone_mib = serializers.IntegerField(allow_null=True)
    shared_mib = serializers.IntegerField(allow_null=True)
    compute_milli = serializers.IntegerField()
    cores = serializers.IntegerField()
    host_memory_mib = serializers.IntegerField(allow_null=True)


class FitsSerializer(serializers.Serializer):
    """What one device could take now; `code` and `text` say why it takes nothing. `jobs` are the first 50 of
    `jobs_total`, in order of service.
    """

    largest = LargestSerializer()
    code = serializers.CharField(allow_null=True)
    text = serializers.CharField(allow_null=True)
    jobs = FittingJobSerializer(many=True)
    jobs_total = serializers.IntegerField()

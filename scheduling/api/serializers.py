"""The shapes of answers about jobs; they document the API and check every answer against it."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from inventory.api.serializers import MEMORY_LIMITS
from queues.conditions import AfterEnd, LateAction
from queues.derive import RETRIED
from queues.models import ExitClass, Intent, JobStatus
from scheduling.engine.types import CapKind
from scheduling.estimates import Basis
from scheduling.models import Phase


class NodeNameSerializer(serializers.Serializer):
    """A node by id and name."""

    id = serializers.IntegerField()
    name = serializers.CharField()


class SentenceSerializer(serializers.Serializer):
    """A statement as code, numbers, and text in the caller's language."""

    code = serializers.CharField()
    params = serializers.DictField()
    text = serializers.CharField()


class WaitsSerializer(serializers.Serializer):
    """Milliseconds spent in each step of waiting, over all attempts; null where no such step was seen."""

    held = serializers.IntegerField(allow_null=True)
    pending = serializers.IntegerField()
    image_pull = serializers.IntegerField(allow_null=True)
    start = serializers.IntegerField()


class DevicePartSerializer(serializers.Serializer):
    """A booked share of one device; 1000 milli is the whole. `memory_limit`: `hardware` keeps the job within it,
    or what it uses is only `watched`.
    """

    id = serializers.IntegerField()
    index = serializers.IntegerField()
    model = serializers.CharField(allow_null=True)
    memory_mib = serializers.IntegerField()
    compute_milli = serializers.IntegerField()
    memory_limit = serializers.ChoiceField(choices=MEMORY_LIMITS)


class ResourcesSerializer(serializers.Serializer):
    """What a job books, in normal form: memory in MiB."""

    devices = serializers.IntegerField()
    device_models = serializers.ListField(child=serializers.CharField())
    device_memory = serializers.IntegerField(allow_null=True)
    device_compute_milli = serializers.IntegerField(allow_null=True)
    cores = serializers.IntegerField()
    memory = serializers.IntegerField(allow_null=True)
    read_bandwidth_mib_s = serializers.IntegerField(allow_null=True)
    splittable = serializers.BooleanField()
    shareable = serializers.BooleanField()


class CheckpointSpecSerializer(serializers.Serializer):
    """How a job is asked for a checkpoint."""

    signal = serializers.ChoiceField(choices=["USR1", "USR2", "HUP", "INT"], allow_null=True)
    command = serializers.ListField(child=serializers.CharField())
    timeout_s = serializers.IntegerField()
    on_memory_pressure = serializers.BooleanField(allow_null=True)


class AfterSerializer(serializers.Serializer):
    """A job that must end first, and how."""

    job = serializers.IntegerField()
    ends = serializers.ChoiceField(choices=[end.value for end in AfterEnd])


class ArraySpecSerializer(serializers.Serializer):
    """So many tasks, so many of them under way at most."""

    tasks = serializers.IntegerField()
    at_once = serializers.IntegerField(allow_null=True)


class JobSpecSerializer(serializers.Serializer):
    """A request in normal form; sent again it reads the same."""

    name = serializers.CharField()
    team = serializers.CharField(allow_null=True)
    queue = serializers.CharField()
    command = serializers.ListField(child=serializers.CharField())
    env = serializers.DictField(child=serializers.CharField())
    working_dir = serializers.CharField(allow_null=True)
    resources = ResourcesSerializer()
    replicas = serializers.IntegerField()
    cpu_class = serializers.ChoiceField(choices=["auto", "compute", "data"])
    node_labels = serializers.DictField(child=serializers.CharField())
    node_sets = serializers.ListField(child=serializers.CharField())
    datasets = serializers.ListField(child=serializers.CharField())
    priority = serializers.IntegerField()
    max_retries = serializers.IntegerField()
    time_limit_s = serializers.IntegerField(allow_null=True)
    strict_single = serializers.BooleanField()
    image = serializers.CharField(allow_null=True)
    image_secret = serializers.CharField(allow_null=True)
    shared_memory = serializers.IntegerField(allow_null=True)
    mounts = serializers.ListField(child=serializers.CharField())
    network = serializers.ChoiceField(choices=["bridge", "host", "none"], allow_null=True)
    checkpoint = CheckpointSpecSerializer(allow_null=True)
    after = AfterSerializer(many=True)
    array = ArraySpecSerializer(allow_null=True)
    retry_on = serializers.ListField(child=serializers.ChoiceField(choices=sorted(RETRIED)))
    back_off_s = serializers.IntegerField()
    on_hold = serializers.BooleanField()
    deferrable = serializers.BooleanField()
    latest_start = serializers.DateTimeField(allow_null=True)
    latest_finish = serializers.DateTimeField(allow_null=True)
    on_late = serializers.ChoiceField(choices=[action.value for action in LateAction])


class ArrayTaskSerializer(serializers.Serializer):
    """Which task of an array a job is; indexes begin at 0."""

    id = serializers.IntegerField()
    index = serializers.IntegerField()
    tasks = serializers.IntegerField()


class JobSerializer(serializers.Serializer):
    """One job."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    status = serializers.ChoiceField(choices=JobStatus.choices)
    intent = serializers.ChoiceField(choices=Intent.choices)
    queue = serializers.CharField()
    team = serializers.CharField()
    owner = serializers.CharField()
    template = serializers.CharField(allow_null=True)
    priority = serializers.IntegerField()
    attempt = serializers.IntegerField()
    submitted_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    waits_ms = WaitsSerializer()
    exit_code = serializers.IntegerField(allow_null=True)
    exit_signal = serializers.IntegerField(allow_null=True)
    exit_class = serializers.ChoiceField(choices=ExitClass.choices, allow_null=True)
    exit_message = serializers.CharField(allow_null=True)
    spec = JobSpecSerializer()
    node = NodeNameSerializer(allow_null=True)
    cpus = serializers.ListField(child=serializers.IntegerField(), allow_null=True)
    devices = DevicePartSerializer(many=True)
    uid = serializers.IntegerField(allow_null=True)
    reason = SentenceSerializer(allow_null=True)
    array = ArrayTaskSerializer(allow_null=True)


class AttemptSerializer(serializers.Serializer):
    """One placement of a job, or of one replica of it; replicas begin at 0."""

    id = serializers.IntegerField()
    attempt = serializers.IntegerField()
    replica = serializers.IntegerField()
    node = NodeNameSerializer()
    devices = DevicePartSerializer(many=True)
    phase = serializers.ChoiceField(choices=Phase.choices)
    cpus = serializers.ListField(child=serializers.IntegerField())
    loader_cpus = serializers.ListField(child=serializers.IntegerField())
    host_memory_mib = serializers.IntegerField()
    uid = serializers.IntegerField(allow_null=True)
    pid = serializers.IntegerField(allow_null=True)
    adopted = serializers.BooleanField()
    assigned_at = serializers.DateTimeField()
    preparing_at = serializers.DateTimeField(allow_null=True)
    running_at = serializers.DateTimeField(allow_null=True)
    stopping_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    exit_code = serializers.IntegerField(allow_null=True)
    exit_signal = serializers.IntegerField(allow_null=True)
    exit_reason = serializers.CharField(allow_null=True)
    exit_message = serializers.CharField(allow_null=True)
    log_bytes = serializers.IntegerField()
    log_truncated = serializers.BooleanField()


class TermSerializer(serializers.Serializer):
    """One term of a score, in parts per million."""

    term = serializers.CharField()
    value_ppm = serializers.IntegerField()
    weight_ppm = serializers.IntegerField()
    contribution_ppm = serializers.IntegerField()


class CandidateSerializer(serializers.Serializer):
    """A node that could have taken the job."""

    node = serializers.IntegerField()
    node_name = serializers.CharField()
    score_ppm = serializers.IntegerField(allow_null=True)
    terms = TermSerializer(many=True)


class NearSerializer(CandidateSerializer):
    """A node that came near, with what it lacked in `unit`; `available` is null when nobody knows it."""

    code = serializers.CharField()
    needed = serializers.IntegerField()
    available = serializers.IntegerField(allow_null=True)
    unit = serializers.CharField(allow_null=True)
    pieces = serializers.ListField(child=serializers.IntegerField())


class FunnelSerializer(serializers.Serializer):
    """One filter: how many nodes it removed, and how many it left."""

    code = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the API's word is also an attribute of fields
    removed = serializers.IntegerField()
    left = serializers.IntegerField()


class ChangeSerializer(serializers.Serializer):
    """A change of the request after which it would start at once; `field` with dots."""

    field = serializers.CharField()
    to = serializers.JSONField(allow_null=True)
    text = serializers.CharField()
    node_name = serializers.CharField()

    def get_fields(self) -> dict[str, Any]:
        """`from` is a word of the language, so it cannot be declared like the others."""
        fields = super().get_fields()
        return {"field": fields.pop("field"), "from": serializers.JSONField(allow_null=True), **fields}


class DecisionSerializer(serializers.Serializer):
    """The score sheet of a placement; `tie` says by which rule it came before a runner-up of the same score."""

    score_ppm = serializers.IntegerField()
    terms = TermSerializer(many=True)
    node = NodeNameSerializer()
    devices = DevicePartSerializer(many=True)
    cpus = serializers.ListField(child=serializers.IntegerField())
    loader_cpus = serializers.ListField(child=serializers.IntegerField())
    candidates = serializers.IntegerField()
    runners_up = CandidateSerializer(many=True)
    tie = SentenceSerializer(allow_null=True)
    isolates_users = serializers.BooleanField()
    host_memory_limit = serializers.ChoiceField(
        choices=MEMORY_LIMITS,
        allow_null=True,
        help_text="What keeps the job within its host memory on that node, as the node tells now; null: unknown.",
    )


class PictureDeviceSerializer(serializers.Serializer):
    """Memory of one device of the nearest node, in MiB."""

    index = serializers.IntegerField()
    total_mib = serializers.IntegerField(allow_null=True)
    booked_mib = serializers.IntegerField()
    used_mib = serializers.IntegerField(allow_null=True)
    free_mib = serializers.IntegerField()


class PictureSerializer(serializers.Serializer):
    """The request beside the free memory of the nearest node."""

    node_name = serializers.CharField()
    request_mib = serializers.IntegerField()
    safety_mib = serializers.IntegerField()
    devices = PictureDeviceSerializer(many=True)


class NamedJobSerializer(serializers.Serializer):
    """A job by number; its name is null when the caller may not see it."""

    job = serializers.IntegerField()
    name = serializers.CharField(allow_null=True)


class HolderSerializer(serializers.Serializer):
    """A job that holds part of what a cap allows; the name of one of a foreign team is null."""

    job = serializers.IntegerField()
    name = serializers.CharField(allow_null=True)
    milli = serializers.IntegerField()


class CapSerializer(serializers.Serializer):
    """The cap of a queue, the quota of a team or the share of a member that keeps a job waiting, in milli-device (of a
    model) or milli-core, and the jobs that hold most of it: the first 10 of `holders_total`.
    """

    kind = serializers.ChoiceField(choices=[kind.value for kind in CapKind])
    queue = serializers.CharField()
    team = serializers.CharField(allow_null=True)
    owner = serializers.CharField(allow_null=True)
    model = serializers.CharField(allow_null=True)
    unit = serializers.ChoiceField(choices=["device-milli", "core-milli"])
    cap_milli = serializers.IntegerField()
    held_milli = serializers.IntegerField()
    asked_milli = serializers.IntegerField()
    holders = HolderSerializer(many=True)
    holders_total = serializers.IntegerField()


class WhySerializer(serializers.Serializer):
    """A reason: why a job waits, or why it is not known when it could start."""

    code = serializers.CharField()
    text = serializers.CharField()


class EstimateSerializer(serializers.Serializer):
    """When a waiting job would start if nothing else came: once the jobs `after_jobs` ended on that node, some of which
    may still wait themselves, served before it. `basis` says where their expected ends are from. With `is_earliest` not
    all jobs before it could be counted: it may be later.
    """

    at = serializers.DateTimeField()
    is_earliest = serializers.BooleanField()
    basis = serializers.ChoiceField(choices=[basis.value for basis in Basis])
    node = serializers.IntegerField()
    node_name = serializers.CharField()
    after_jobs = NamedJobSerializer(many=True)


class LineSerializer(serializers.Serializer):
    """The place in the order of service among all waiting jobs, from 1, and what put the job before it there."""

    place = serializers.IntegerField()
    waiting = serializers.IntegerField()
    sentence = SentenceSerializer()


class ReservationSerializer(serializers.Serializer):
    """Where and when a job that has waited long should start; others run there until then only."""

    at = serializers.DateTimeField()
    nodes = NodeNameSerializer(many=True)


class ExplainSerializer(serializers.Serializer):
    """Why a job waits, or why it went where it is. One that waits for room has an `estimate` of its start, or
    `start_unknown` says why not.
    """

    status = serializers.ChoiceField(choices=JobStatus.choices)
    decided_at = serializers.DateTimeField(allow_null=True)
    since = serializers.DateTimeField(allow_null=True)
    cycle = serializers.IntegerField(allow_null=True)
    sentence = SentenceSerializer(allow_null=True)
    funnel = FunnelSerializer(many=True)
    near = NearSerializer(many=True)
    changes = ChangeSerializer(many=True)
    decision = DecisionSerializer(allow_null=True)
    picture = PictureSerializer(allow_null=True)
    estimate = EstimateSerializer(allow_null=True)
    start_unknown = WhySerializer(allow_null=True)
    cap = CapSerializer(allow_null=True)
    line = LineSerializer(allow_null=True)
    reservation = ReservationSerializer(allow_null=True)


class DryPlacementSerializer(CandidateSerializer):
    """Where a job would go now, of several replicas the first; `nodes` are those of all."""

    nodes = NodeNameSerializer(many=True)
    devices = DevicePartSerializer(many=True)
    cpus = serializers.ListField(child=serializers.IntegerField())
    loader_cpus = serializers.ListField(child=serializers.IntegerField())
    candidates = serializers.IntegerField()
    runners_up = CandidateSerializer(many=True)
    tie = SentenceSerializer(allow_null=True)


class DryArraySerializer(serializers.Serializer):
    """How many tasks of an array would start now; `considered` of them were looked at: as many as may be under way at
    once, at most 1000.
    """

    tasks = serializers.IntegerField()
    considered = serializers.IntegerField()
    starting = serializers.IntegerField()
    sentence = SentenceSerializer()


class DryTakeoverSerializer(serializers.Serializer):
    """Where a job that finds no place would get one, and the jobs that would be asked to leave for it."""

    nodes = NodeNameSerializer(many=True)
    stops = NamedJobSerializer(many=True)


class DryRunSerializer(serializers.Serializer):
    """What a submission would lead to now: of a job, or of the first task of an array. A refusal with status `held`:
    it would not wait for a place yet; with a `takeover`: it starts once others have left.
    """

    placement = DryPlacementSerializer(allow_null=True)
    refusal = ExplainSerializer(allow_null=True)
    takeover = DryTakeoverSerializer(allow_null=True)
    array = DryArraySerializer(allow_null=True)
    spec = JobSpecSerializer()


class LogSerializer(serializers.Serializer):
    """A part of a log; control characters but line ends and tabs are escaped. `complete`: nothing follows."""

    attempt = serializers.IntegerField()
    offset = serializers.IntegerField()
    next_offset = serializers.IntegerField()
    text = serializers.CharField(allow_blank=True)
    truncated = serializers.BooleanField()
    complete = serializers.BooleanField()

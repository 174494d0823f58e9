"""The policy document as frozen structs. Fields are the YAML keys with _ for -; shares and weights are in ppm."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Annotated

import msgspec

PPM = 1_000_000

Percent = Annotated[int, msgspec.Meta(ge=0, le=100)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=50, pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?\Z")]
ResourceKey = Annotated[
    str, msgspec.Meta(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9./_-]*\Z")
]
Watts = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]
TimeOfDay = Annotated[str, msgspec.Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]\Z")]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    """Base of all sections: unknown keys are refused."""


class FilterType(StrEnum):
    """What a resource key of a job request stands for."""

    VGPU = "vgpu"
    ACCELERATOR = "accelerator"


class PrecheckScope(StrEnum):
    """Which placements the memory pre-check is for."""

    SHARED = "shared"


class CheckpointTimeout(StrEnum):
    """What becomes of a victim that does not confirm its checkpoint in time."""

    KEEP = "keep"
    STOP = "stop"


class ResourceFilter(Section, frozen=True):
    """A resource key accepted in job requests: an amount of device memory, or a model out of `values`."""

    type: FilterType
    key: ResourceKey
    granularity: str | None = None
    values: tuple[ResourceKey, ...] = ()


class QueueSpec(Section, frozen=True):
    """One queue. `quota_ppm` is its cap as a share of the schedulable capacity; None is no cap. `model_caps_ppm` are
    caps on its share of the devices of single models, by name as in requests.

    `splittable` and `shareable` are what is presumed of jobs that do not say it; None is as the defaults have it for
    a queue of this name.
    """

    name: Name
    priority: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
    quota_ppm: Annotated[int, msgspec.Meta(ge=0, le=PPM)] | None = msgspec.field(name="quota", default=None)
    model_caps_ppm: dict[ResourceKey, Annotated[int, msgspec.Meta(ge=0, le=PPM)]] = msgspec.field(
        name="model-caps", default_factory=dict
    )
    preemptable: bool = False
    borrow: bool = False
    splittable: bool | None = None
    shareable: bool | None = None


class RunTimePatience(Section, frozen=True):
    """A job is served as if it had been submitted `times` its expected run time later, at most `most_s`; one whose run
    time nobody knows counts as `unknown_s`. With 0 times age alone decides.
    """

    times: Annotated[int, msgspec.Meta(ge=0, le=1000)]
    most_s: Annotated[int, msgspec.Meta(ge=0, le=366 * 86_400)]
    unknown_s: Annotated[int, msgspec.Meta(ge=0, le=366 * 86_400)]


class QueuePolicy(Section, frozen=True):
    """The queues in the order written."""

    queues: Annotated[tuple[QueueSpec, ...], msgspec.Meta(min_length=1, max_length=100)]
    fair_share_half_life_days: Positive
    run_time_patience: RunTimePatience


class ScoringWeights(Section, frozen=True):
    """Weights of the score terms in ppm, as written: not normalised."""

    resource_fit: Annotated[int, msgspec.Meta(ge=0)]
    affinity: Annotated[int, msgspec.Meta(ge=0)]
    topology: Annotated[int, msgspec.Meta(ge=0)]
    balance: Annotated[int, msgspec.Meta(ge=0)]
    fragmentation_penalty: Annotated[int, msgspec.Meta(ge=10_000)]
    power: Annotated[int, msgspec.Meta(ge=0)]

    def by_term(self) -> dict[str, int]:
        """Weights by the term's name in the document, for example {"resource-fit": 350000}."""
        return {field.encode_name: getattr(self, field.name) for field in msgspec.structs.fields(self)}


class MemoryPrecheck(Section, frozen=True):
    """A shared slice goes only where the free memory is at least `factor` x the request."""

    factor: Decimal
    scope: PrecheckScope

    @property
    def ratio(self) -> tuple[int, int]:
        """The factor exactly, as numerator and denominator: 1.2 is (6, 5)."""
        return Fraction(self.factor).as_integer_ratio()


class CpuPolicy(Section, frozen=True):
    """The CPU side of placements. Jobs are always bound to their cores: `bind_core` can only say so."""

    bind_core: bool
    isolate_data_loader: bool
    high_bandwidth_nodesets: tuple[str, ...]


class Health(Section, frozen=True):
    """When devices and nodes stop and start to take jobs."""

    report_interval_s: Annotated[int, msgspec.Meta(ge=1, le=600)]
    failed_checks: Positive
    unknown_checks: Positive
    good_checks: Positive
    auto_release: bool
    flaps: Positive
    flap_window_s: Positive
    silent_after_s: Positive
    lost_after_s: Positive
    mass_silence_percent: Percent
    clock_offset_alert_ms: Positive


class Cycle(Section, frozen=True):
    """What the scheduler keeps between its looks."""

    node_state_refresh_s: Annotated[int, msgspec.Meta(ge=1, le=3600)]
    # How long a job waits until it is promised a place.
    reserve_after_s: Annotated[int, msgspec.Meta(ge=0, le=31 * 86_400)]


class Preemption(Section, frozen=True):
    """How a victim is asked to leave."""

    grace_s: Positive
    on_checkpoint_timeout: CheckpointTimeout
    min_run_s: Annotated[int, msgspec.Meta(ge=0)]
    idle_device_percent: Percent


class ValleyWindow(Section, frozen=True):
    """When deferrable jobs run."""

    from_: TimeOfDay = msgspec.field(name="from")
    to: TimeOfDay
    time_zone: str
    early_below_percent: Percent
    early_after_s: Positive


class PowerHours(Section, frozen=True):
    """Another cap in the hours from (inclusive) to (exclusive), over midnight where `to` is earlier."""

    from_: TimeOfDay = msgspec.field(name="from")
    to: TimeOfDay
    cap_w: Watts | None


class Power(Section, frozen=True):
    """What all nodes together may draw; None is no cap. Hours go by the clocks of the time zone."""

    cap_w: Watts | None
    time_zone: str
    hours: Annotated[tuple[PowerHours, ...], msgspec.Meta(max_length=48)]


class AlertMetric(StrEnum):
    """What a rule watches; percentages are of the device's or node's own capacity or power limit."""

    DEVICE_TEMPERATURE = "device-temperature-c"
    DEVICE_MEMORY = "device-memory-percent"
    DEVICE_UTILIZATION = "device-utilization-percent"
    DEVICE_POWER = "device-power-percent"
    NODE_CPU = "node-cpu-percent"
    NODE_MEMORY = "node-memory-percent"

    @property
    def of_device(self) -> bool:
        """Whether it is read of devices; else of nodes."""
        return self.value.startswith("device-")


class AlertSeverity(StrEnum):
    """How urgent what a rule finds is."""

    WARNING = "warning"
    CRITICAL = "critical"


class AlertRule(Section, frozen=True):
    """An alert where a reading stays above or below a limit for `for_s`; it clears at `clear` (None: at the limit).

    Node sets and models narrow it; none is all.
    """

    name: Name
    metric: AlertMetric
    above: Annotated[int, msgspec.Meta(ge=-100, le=1000)] | None = None
    below: Annotated[int, msgspec.Meta(ge=-100, le=1000)] | None = None
    clear: Annotated[int, msgspec.Meta(ge=-100, le=1000)] | None = None
    for_s: Annotated[int, msgspec.Meta(ge=0, le=604_800)] = 0
    severity: AlertSeverity = AlertSeverity.WARNING
    node_sets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


class MemoryGuard(Section, frozen=True):
    """Above which share of its booking a job raises an alert, until `clear_percent` points below; growth all
    through the window that would fill the booking within the time is a leak. `suspend` what can make a checkpoint
    before the limit.
    """

    shared_percent: Percent
    whole_percent: Percent
    host_percent: Percent
    clear_percent: Percent
    leak_window_s: Positive
    leak_within_s: Positive
    suspend: bool


class ImageWarming(Section, frozen=True):
    """Which images are fetched ahead of demand: of waiting jobs, and those that started `least_starts` times in the
    history, on `copies` nodes; `at_once` nodes fetch at the same time, all together `mib_per_hour`.
    """

    enabled: bool
    copies: Positive
    at_once: Positive
    mib_per_hour: Positive
    history_days: Positive
    least_starts: Positive
    refresh_hours: Positive
    prune_after_days: Positive


class IdleRule(Section, frozen=True):
    """When an unused device is a finding."""

    below_percent: Percent
    consecutive_hours: Positive
    from_: TimeOfDay = msgspec.field(name="from")
    to: TimeOfDay
    weekends: bool


class Tuning(Section, frozen=True):
    """Guarded changes of weights."""

    watch_days: Positive


class Canary(Section, frozen=True):
    """Length of the two stages of a canary."""

    observe_days: Positive
    act_days: Positive


class Retention(Section, frozen=True):
    """How long is kept what nobody needs for ever. Jobs, their events and their score sheets stay. Of recorded
    decisions the newest are kept, bounded by their number and size.

    Readings are kept raw, then summed up by the minute, then by the hour; partitions are dropped, so a little more
    than that is there.
    """

    raw_readings_hours: Annotated[int, msgspec.Meta(ge=1, le=168)]
    minute_readings_days: Annotated[int, msgspec.Meta(ge=1, le=400)]
    hour_readings_days: Annotated[int, msgspec.Meta(ge=1, le=4000)]
    logs_days: Positive
    checkpoints_days: Positive
    cycles_days: Positive
    stale_decisions_days: Positive
    idempotency_keys_days: Positive
    cleared_alerts_days: Positive
    audit_days: Positive
    recordings: Positive
    recordings_mib: Positive


class PolicyDocument(Section, frozen=True):
    """The whole document, complete with defaults."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    resource_filters: tuple[ResourceFilter, ...]
    queue_policy: QueuePolicy
    scoring_weights: ScoringWeights
    memory_precheck: MemoryPrecheck
    cpu_policy: CpuPolicy
    health: Health
    cycle: Cycle
    preemption: Preemption
    valley_window: ValleyWindow
    power: Power
    alert_rules: Annotated[tuple[AlertRule, ...], msgspec.Meta(max_length=100)]
    memory_guard: MemoryGuard
    images: ImageWarming
    idle_rule: IdleRule
    tuning: Tuning
    canary: Canary
    retention: Retention

"""What a document may not say although every field of it is right for itself."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _

from controlplane.policy.document import AlertMetric, AlertRule, PolicyDocument, Retention
from controlplane.policy.hours import is_time_zone, minutes_between

Path_ = tuple[str | int, ...]


def contradictions(document: PolicyDocument) -> Iterator[tuple[Path_, str]]:
    """Path and reason of each."""
    seen: set[str] = set()
    for i, queue in enumerate(document.queue_policy.queues):
        if queue.name in seen:
            yield ("queue-policy", "queues", i, "name"), _("There are two queues with this name.")
        if queue.borrow and not queue.preemptable:
            yield (
                ("queue-policy", "queues", i, "borrow"),
                _("Only a preemptable queue may borrow: it must give back."),
            )
        seen.add(queue.name)
    keys: set[str] = set()
    for i, resource in enumerate(document.resource_filters):
        if resource.key in keys:
            yield ("resource-filters", i, "key"), _("There are two filters with this key.")
        if resource.granularity not in (None, "MiB"):
            yield ("resource-filters", i, "granularity"), _("Only MiB is known.")
        keys.add(resource.key)
    if not 1 <= document.memory_precheck.factor <= 10:
        yield ("memory-precheck", "factor"), _("Must be from 1 to 10.")
    if not document.cpu_policy.bind_core:
        yield ("cpu-policy", "bind-core"), _("Only true is known: jobs are always bound to their cores.")
    if document.health.lost_after_s <= document.health.silent_after_s:
        yield ("health", "lost-after-s"), _("Must be larger than silent-after-s.")
    if document.health.silent_after_s <= document.health.report_interval_s:
        yield ("health", "silent-after-s"), _("Must be larger than report-interval-s.")
    yield from _time_contradictions(document)
    yield from _alert_contradictions(document)
    yield from _retention_contradictions(document.retention)


def _retention_contradictions(kept: Retention) -> Iterator[tuple[Path_, str]]:
    if kept.raw_readings_hours > 24 * kept.minute_readings_days:
        # A late reading makes its minute and hour anew, out of what must still be there.
        yield ("retention", "raw-readings-hours"), _("Must not be longer than minute-readings-days.")
    if kept.minute_readings_days > kept.hour_readings_days:
        yield ("retention", "minute-readings-days"), _("Must not be longer than hour-readings-days.")


def _time_contradictions(document: PolicyDocument) -> Iterator[tuple[Path_, str]]:
    zones = {"valley-window": document.valley_window.time_zone, "power": document.power.time_zone}
    for section, zone in zones.items():
        if not is_time_zone(zone):
            yield (section, "time-zone"), _("There is no such time zone.")
    taken: set[int] = set()
    for i, hours in enumerate(document.power.hours):
        minutes = minutes_between(hours.from_, hours.to)
        if not minutes:
            yield ("power", "hours", i, "to"), _("Must differ from `from`.")
        if taken & minutes:
            yield ("power", "hours", i, "from"), _("These hours overlap earlier ones.")
        taken |= minutes


def _alert_contradictions(document: PolicyDocument) -> Iterator[tuple[Path_, str]]:
    names: set[str] = set()
    for i, rule in enumerate(document.alert_rules):
        path = ("alert-rules", i)
        if rule.name in names:
            yield (*path, "name"), _("There are two rules with this name.")
        if (rule.above is None) == (rule.below is None):
            yield path, _("Must have either `above` or `below`.")
        if rule.clear is not None and rule.above is not None and rule.clear > rule.above:
            yield (*path, "clear"), _("Must not lie above the limit `above`.")
        if rule.clear is not None and rule.below is not None and rule.clear < rule.below:
            yield (*path, "clear"), _("Must not lie below the limit `below`.")
        if rule.models and not rule.metric.of_device:
            yield (*path, "models"), _("Only metrics of devices can be narrowed by model.")
        for side, reason in (*_idle_limits(rule), *_empty_names(rule)):
            yield (*path, side), reason
        names.add(rule.name)


def _idle_limits(rule: AlertRule) -> Iterator[tuple[str, str]]:
    """Limits that a share cannot reach, or that it is always beyond."""
    if rule.metric is AlertMetric.DEVICE_TEMPERATURE:
        return
    # Only a device's draw may be more than its limit.
    highest = None if rule.metric is AlertMetric.DEVICE_POWER else 100
    never, always = _("No reading is ever beyond this limit."), _("Every reading is beyond this limit.")
    if rule.above is not None and rule.above < 0:
        yield "above", always
    if rule.above is not None and highest is not None and rule.above >= highest:
        yield "above", never
    if rule.below is not None and rule.below <= 0:
        yield "below", never
    if rule.below is not None and highest is not None and rule.below > highest:
        yield "below", always
    if rule.clear is not None and (rule.clear < 0 or (highest is not None and rule.clear > highest)):
        yield "clear", _("No reading ever gets back to this.")


def _empty_names(rule: AlertRule) -> Iterator[tuple[str, str]]:
    """Lists with a name that nothing has."""
    for field, names in (("models", rule.models), ("node-sets", rule.node_sets)):
        if not all(name.strip() for name in names):
            yield field, _("Names must not be empty.")

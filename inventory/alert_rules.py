"""Rules of the policy over the latest readings: who is beyond a limit, who is back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import F, Q, QuerySet

from controlplane.alerts.breaches import forget_rules, note_breaches, open_subjects
from controlplane.base import clock
from controlplane.policy.document import AlertMetric, AlertRule
from inventory.models import Device, DeviceHealth, DeviceReading, Node, NodeReading
from inventory.wiring import UPWARD

# A rule speaks of what is, not of what was when somebody last looked.
FRESH = timedelta(seconds=60)
# A rule that finds half the cluster needs no more rows to be understood.
MOST = 1_000


@dataclass(frozen=True, slots=True)
class _Gauge:
    """A metric in its unit is `part` x `num` / `den`, or that of `part` x `num` / `whole`."""

    part: str
    whole: str | None = None
    num: int = 1
    den: int = 1


_GAUGES = {
    AlertMetric.DEVICE_TEMPERATURE: _Gauge("temperature_c"),
    AlertMetric.DEVICE_MEMORY: _Gauge("memory_used_mib", "device__memory_total_mib", 100),
    AlertMetric.DEVICE_UTILIZATION: _Gauge("utilization_pct"),
    AlertMetric.DEVICE_POWER: _Gauge("power_mw", "device__power_limit_w", 1, 10),
    AlertMetric.NODE_CPU: _Gauge("cpu_used_milli", "node__cpu_count", 1, 10),
    AlertMetric.NODE_MEMORY: _Gauge("memory_used_mib", "node__memory_mib", 100),
}


def watch(rules: Sequence[AlertRule]) -> int:
    """One look at all rules; returns the number of alerts raised. A twin at the same time does no harm."""
    forget_rules([rule.name for rule in rules])
    return sum(_watch(rule) for rule in rules)


def _watch(rule: AlertRule) -> int:
    of_device = rule.metric.of_device
    kind = "device" if of_device else "node"
    rows = _fresh(rule)
    limit = rule.above if rule.above is not None else rule.below
    clear = limit if rule.clear is None else rule.clear
    assert limit is not None and clear is not None, "the policy was read"
    beyond = rows.filter(_compared(rule, "gt" if rule.above is not None else "lt", limit)).order_by("pk")[
        :MOST
    ]
    back = rows.filter(_compared(rule, "lte" if rule.above is not None else "gte", clear))
    standing = open_subjects(rule, kind)
    ruled = set(_ruled(rule).filter(pk__in=standing).values_list("pk", flat=True))
    return note_breaches(
        rule,
        subject_type=kind,
        beyond={row["pk"]: _told(rule, row, limit) for row in beyond},
        back={row["pk"] for row in back.filter(pk__in=standing)} | (standing - ruled),
    )


def _ruled(rule: AlertRule) -> QuerySet[Any]:
    """What the rule speaks of at all, read lately or not."""
    of_device = rule.metric.of_device
    rows: QuerySet[Any] = (
        Device.objects.exclude(health=DeviceHealth.MISSING) if of_device else Node.objects.all()
    )
    if rule.node_sets:
        rows = rows.filter(**{f"{'node__' if of_device else ''}node_set__name__in": rule.node_sets})
    return rows.filter(model__in=_models(rule.models)) if rule.models else rows


def _models(names: Sequence[str]) -> list[str]:
    """The models that devices report and that these names stand for, as they would in a job."""
    serves = UPWARD.serves
    reported = Device.objects.exclude(model=None).order_by().values_list("model", flat=True).distinct()
    return [
        model
        for model in reported
        if model is not None
        and (model in names or (serves is not None and any(serves(name, model) for name in names)))
    ]


def _compared(rule: AlertRule, how: str, limit: int) -> Q:
    """The metric against a limit, multiplied out so that nothing is rounded; unknown compares with nothing."""
    gauge = _GAUGES[rule.metric]
    if gauge.whole is None:
        return Q(**{f"{gauge.part}__{how}": limit})
    return Q(**{f"scaled__{how}": F(gauge.whole) * (limit * gauge.den), f"{gauge.whole}__gt": 0})


def _fresh(rule: AlertRule) -> Any:
    """Rows of what was read lately where the rule looks."""
    of_device = rule.metric.of_device
    gauge = _GAUGES[rule.metric]
    columns = {"scaled": F(gauge.part) * gauge.num, "whole": F(gauge.whole or gauge.part)}
    rows: QuerySet[Any] = (DeviceReading if of_device else NodeReading).objects.filter(
        at__gte=clock.now() - FRESH, pk__in=_ruled(rule)
    )
    node = "device__node__" if of_device else "node__"
    if of_device:
        columns |= {"index": F("device__index"), "node": F("device__node_id")}
    return rows.values("pk", **columns, name=F(f"{node}name"))


def _told(rule: AlertRule, row: dict[str, Any], limit: int) -> dict[str, Any]:
    """What the alert says: the value in the metric's unit when the rule found it, and the limit."""
    gauge = _GAUGES[rule.metric]
    value = row["scaled"] if gauge.whole is None else row["scaled"] // (row["whole"] * gauge.den)
    named = {key: row[key] for key in row if key in ("name", "node", "index")}
    return {**named, "value": value, "limit": limit}

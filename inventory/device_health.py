"""The only writer of device health: applies observations to rows, with history and alerts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from agent.protocol import Check, CheckResult
from controlplane.alerts.models import Severity
from controlplane.alerts.service import clear_alert, raise_alert
from controlplane.base import clock
from controlplane.base.texts import LINES
from controlplane.policy.document import Health as HealthPolicy
from inventory.cleaning import text
from inventory.health import TAKES_JOBS, HealthState, Observation, Thresholds, step
from inventory.identifiers import normal_identity
from inventory.models import Device, DeviceEvent, DeviceHealth
from inventory.revisions import node_changed, node_shown
from inventory.wiring import UPWARD

MAX_EVIDENCE = 20_000
MAX_CHECKS = 1024
GOOD = (DeviceHealth.HEALTHY, DeviceHealth.RECOVERED)
FLAPPING = "device-flapping"
_ALERTS: dict[DeviceHealth, tuple[str, Severity]] = {
    DeviceHealth.QUARANTINED: ("device-quarantined", Severity.CRITICAL),
    DeviceHealth.RECOVERED: ("device-recovered", Severity.WARNING),
    DeviceHealth.UNKNOWN: ("device-unreadable", Severity.WARNING),
    DeviceHealth.MISSING: ("device-missing", Severity.CRITICAL),
}
_RESULTS = {
    CheckResult.OK: Observation.OK,
    CheckResult.FAILED: Observation.FAILED,
    CheckResult.FATAL: Observation.FATAL,
    CheckResult.UNKNOWN: Observation.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One observation of one device with its reason and raw evidence, and who caused it when a person did.

    `inherited` marks what a slice shares with its device: nobody is alerted of it twice.
    """

    observation: Observation
    reason: str = ""
    evidence: str = ""
    actor: str = ""
    inherited: bool = False


def thresholds_of(policy: HealthPolicy) -> Thresholds:
    """The thresholds of the policy in force."""
    return Thresholds(
        failed=policy.failed_checks,
        good=policy.good_checks,
        unknown=policy.unknown_checks,
        auto_release=policy.auto_release,
        flaps=policy.flaps,
        flap_window_s=policy.flap_window_s,
    )


def observe_checks(devices: Iterable[Device], checks: Sequence[Check], thresholds: Thresholds) -> None:
    """One round of checks of a node's devices.

    A known device that no check names counts as unknown; the worst of several checks counts. A slice that no check
    names stands as its device does.
    """
    by_identity: dict[str, Check] = {}
    for check in checks[:MAX_CHECKS]:
        identity = normal_identity(check.device)
        known = by_identity.get(identity)
        if known is None or check.result.severity > known.result.severity:
            by_identity[identity] = check
    by_id = {device.pk: device for device in devices}
    seen = {device: _seen(device, by_id.get(device.parent_id or 0), by_identity) for device in by_id.values()}
    apply_observations(seen, thresholds)


def _seen(device: Device, parent: Device | None, checks: Mapping[str, Check]) -> Seen:
    check = _check_of(device, checks)
    inherited = check is None and parent is not None
    if parent is not None and check is None:
        check = _check_of(parent, checks)
    if check is None:
        return Seen(Observation.UNKNOWN, "no-check", inherited=inherited)
    return Seen(_RESULTS[check.result], check.code, check.evidence, inherited=inherited)


def _check_of(device: Device, checks: Mapping[str, Check]) -> Check | None:
    names = [name for name in (device.identity, device.pci_bus_id) if name]
    return next((checks[name] for name in names if name in checks), None)


def observe_nothing(devices: Iterable[Device], thresholds: Thresholds, *, reason: str) -> None:
    """A round in which checks were due and none came."""
    seen = {
        device: Seen(Observation.UNKNOWN, reason, inherited=device.parent_id is not None)
        for device in devices
    }
    apply_observations(seen, thresholds)


def apply_observations(seen: Mapping[Device, Seen], thresholds: Thresholds) -> None:
    """Writes what changed; a row that another transaction moved meanwhile is left to the next check.

    No good check releases a device that is flapping: only a person does.
    """
    steady = replace(thresholds, auto_release=False)
    for device, one in seen.items():
        before = state_of(device)
        after = step(before, one.observation, steady if device.flapping else thresholds)
        if after != before and _write(device, before, after, one):
            _announce(device, before.health, after.health, one)
            if before.health in GOOD and after.health not in GOOD:
                _notice_flapping(device, thresholds)


def state_of(device: Device) -> HealthState:
    """The part of the row that the state machine reads."""
    missing_from = device.health_before_missing
    return HealthState(
        health=DeviceHealth(device.health),
        failed=device.failed_checks,
        good=device.good_checks,
        unknown=device.unknown_checks,
        before_missing=DeviceHealth(missing_from) if missing_from else None,
        fatal=device.fatal,
    )


def inherited_health(parent: Device) -> dict[str, object]:
    """The health columns of a slice that is new on this device."""
    return _columns(state_of(parent)) | {
        "health_reason": parent.health_reason,
        "health_evidence": parent.health_evidence,
    }


def _columns(state: HealthState) -> dict[str, object]:
    return {
        "health": state.health,
        "failed_checks": state.failed,
        "good_checks": state.good,
        "unknown_checks": state.unknown,
        "health_before_missing": state.before_missing,
        "fatal": state.fatal,
    }


def _write(device: Device, before: HealthState, after: HealthState, seen: Seen) -> bool:
    columns = _columns(after)
    if after.health != before.health:
        columns |= {"health_since": clock.now(), "health_reason": text(seen.reason, 200) or ""}
    if seen.evidence and seen.observation in (Observation.FAILED, Observation.FATAL, Observation.UNKNOWN):
        columns["health_evidence"] = text(seen.evidence, MAX_EVIDENCE, allowed=LINES) or ""
    if not Device.objects.filter(pk=device.pk, **_columns(before)).update(**columns):
        return False
    for name, value in columns.items():
        setattr(device, name, value)
    return True


def _announce(device: Device, before: DeviceHealth, after: DeviceHealth, seen: Seen) -> None:
    if before == after:
        return
    now = clock.now()
    DeviceEvent.objects.create(
        device=device,
        at=now,
        from_health=before,
        to_health=after,
        reason=text(seen.reason, 200) or "",
        evidence=text(seen.evidence, MAX_EVIDENCE, allowed=LINES) or "",
        actor=seen.actor,
    )
    _alert(device, before, after, seen)
    if (before in TAKES_JOBS) != (after in TAKES_JOBS) or DeviceHealth.SUSPECT in (before, after):
        node_changed(device.node_id)
    else:
        node_shown(device.node_id)


def _alert(device: Device, before: DeviceHealth, after: DeviceHealth, seen: Seen) -> None:
    if before in _ALERTS:
        clear_alert(_ALERTS[before][0], subject_type="device", subject_id=device.pk)
    if after in _ALERTS and not seen.inherited and not _is_dissolved(device, after):
        code, severity = _ALERTS[after]
        details = {**whose(device), "reason": text(seen.reason, 200)}
        raise_alert(code, severity, subject_type="device", subject_id=device.pk, details=details)


def whose(device: Device) -> dict[str, Any]:
    """What people call a device in an alert; of a slice also the index of its device. A query for what was not read
    with it.
    """
    found = {"node": device.node_id, "name": device.node.name, "index": device.index}
    return found if device.parent is None else {**found, "parent_index": device.parent.index}


def _is_dissolved(device: Device, after: DeviceHealth) -> bool:
    """A slice that is gone is no loss unless somebody holds it: its device was cut anew."""
    if device.parent_id is None or after is not DeviceHealth.MISSING:
        return False
    return UPWARD.booked is None or device.pk not in UPWARD.booked([device.pk])


def _notice_flapping(device: Device, thresholds: Thresholds) -> None:
    since = clock.now() - timedelta(seconds=thresholds.flap_window_s)
    times = _falls(since).filter(device=device).count()
    if times < thresholds.flaps:
        return
    Device.objects.filter(pk=device.pk).update(flapping=True)
    device.flapping = True
    if device.parent_id is None:
        details = {**whose(device), "times": times}
        raise_alert(FLAPPING, Severity.WARNING, subject_type="device", subject_id=device.pk, details=details)
    node_shown(device.node_id)


def _falls(since: datetime) -> QuerySet[DeviceEvent]:
    """Times at which devices left good health."""
    return DeviceEvent.objects.filter(at__gt=since, from_health__in=GOOD).exclude(to_health__in=GOOD)


def note_calm(thresholds: Thresholds) -> int:
    """Devices that stayed in good health for a whole window are no longer flapping; how many. One query when there
    is none.
    """
    since = clock.now() - timedelta(seconds=thresholds.flap_window_s)
    flapping = Device.objects.filter(flapping=True)
    calm = list(flapping.exclude(pk__in=_falls(since).values("device")).order_by("pk"))
    for device in calm:
        with transaction.atomic():
            Device.objects.filter(pk=device.pk).update(flapping=False)
            clear_alert(FLAPPING, subject_type="device", subject_id=device.pk)
            node_shown(device.node_id)
    return len(calm)

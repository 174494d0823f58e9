"""Raising, acknowledging and clearing alerts; the only writer of Alert rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import QuerySet

from controlplane.alerts.models import Alert, Severity
from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit

_NOBODY = {"acknowledged_at": None, "acknowledged_by": "", "note": ""}


def raise_alert(
    code: str,
    severity: Severity,
    *,
    subject_type: str,
    subject_id: object,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Open an alert, or refresh severity and details of the open one. Safe in parallel."""
    key = {"code": code, "subject_type": subject_type, "subject_id": str(subject_id)}
    fresh = Alert(**key, severity=severity, details=dict(details or {}))
    # ON CONFLICT instead of look-then-insert: two reporters of the same fact must not fail each other's transaction.
    before = Alert.objects.filter(**key, cleared_at=None).exists()
    if not before:
        Alert.objects.bulk_create([fresh], ignore_conflicts=True)
    open_one = Alert.objects.filter(**key, cleared_at=None)
    if severity == Severity.CRITICAL:
        # Who took up a warning has not seen that it became worse.
        open_one.exclude(severity=severity).update(**_NOBODY)
    changed = open_one.exclude(severity=severity, details=fresh.details).update(
        severity=severity, details=fresh.details
    )
    if changed or not before:
        after_commit(Topic.HINT, ("alerts",))


def clear_alert(code: str, *, subject_type: str, subject_id: object) -> bool:
    """Close the open alert about this subject; True when there was one."""
    key = {"code": code, "subject_type": subject_type, "subject_id": str(subject_id)}
    return _changed(Alert.objects.filter(**key, cleared_at=None).update(cleared_at=clock.now()))


def forget_subject(subject_type: str, subject_ids: Iterable[object]) -> None:
    """Clear all that is open about subjects that are no more."""
    gone = Alert.objects.filter(subject_type=subject_type, subject_id__in=[str(one) for one in subject_ids])
    _changed(gone.filter(cleared_at=None).update(cleared_at=clock.now()))


def acknowledge(alert: Alert, *, by: str, note: str) -> bool:
    """Somebody takes up an open alert; False when it is cleared or somebody has it already."""
    return bool(acknowledge_all(Alert.objects.filter(pk=alert.pk), by=by, note=note))


def acknowledge_all(alerts: QuerySet[Alert], *, by: str, note: str) -> int:
    """The same for those of them that are open and that nobody has; how many these were."""
    free = alerts.filter(cleared_at=None, acknowledged_at=None)
    taken = free.update(acknowledged_at=clock.now(), acknowledged_by=by, note=note)
    _changed(taken)
    return taken


def unacknowledge(alert: Alert) -> bool:
    """Nobody has it; False when so it was."""
    return _changed(Alert.objects.filter(pk=alert.pk).exclude(acknowledged_at=None).update(**_NOBODY))


def _changed(rows: int) -> bool:
    if rows:
        after_commit(Topic.HINT, ("alerts",))
    return bool(rows)

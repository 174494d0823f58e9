"""Raising and clearing alerts; the only writer of Alert rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controlplane.alerts.models import Alert, Severity
from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit


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
    changed = (
        Alert.objects.filter(**key, cleared_at=None)
        .exclude(severity=severity, details=fresh.details)
        .update(severity=severity, details=fresh.details)
    )
    if changed or not before:
        after_commit(Topic.HINT, ("alerts",))


def clear_alert(code: str, *, subject_type: str, subject_id: object) -> bool:
    """Close the open alert about this subject; True when there was one."""
    key = {"code": code, "subject_type": subject_type, "subject_id": str(subject_id)}
    cleared = Alert.objects.filter(**key, cleared_at=None).update(cleared_at=clock.now())
    if cleared:
        after_commit(Topic.HINT, ("alerts",))
    return bool(cleared)

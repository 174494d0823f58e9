"""How long readings have been beyond the limits of rules; the only writer of Breach rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction

from controlplane.alerts.models import Alert, Breach, Severity
from controlplane.alerts.service import clear_alert, raise_alert
from controlplane.base import clock
from controlplane.policy.document import AlertRule

PREFIX = "rule:"


def note_breaches(
    rule: AlertRule, *, subject_type: str, beyond: Mapping[int, Mapping[str, Any]], back: Collection[int]
) -> int:
    """Judges one look: `beyond` says of each subject past the limit what the alert shall say, `back` who is past
    `clear`. Returns the alerts raised. Who is neither keeps an open alert, but its time begins anew.
    """
    now, code = clock.now(), PREFIX + rule.name
    with transaction.atomic():
        Breach.objects.filter(rule=rule.name).exclude(subject_id__in=list(beyond)).delete()
        fresh = [Breach(rule=rule.name, subject_id=subject, since=now) for subject in beyond]
        Breach.objects.bulk_create(fresh, ignore_conflicts=True)
        since = dict(Breach.objects.filter(rule=rule.name).values_list("subject_id", "since"))
        due = {subject for subject in beyond if now - since[subject] >= timedelta(seconds=rule.for_s)}
        raised = due - _open(code)
        for subject in sorted(raised):
            raise_alert(
                code, Severity(rule.severity.value), subject_type=subject_type, subject_id=subject,
                details={**beyond[subject], "rule": rule.name, "metric": rule.metric.value},
            )  # fmt: skip
        for subject in back:
            clear_alert(code, subject_type=subject_type, subject_id=subject)
    return len(raised)


def open_subjects(rule: AlertRule) -> set[int]:
    """The subjects of which this rule has an open alert."""
    return _open(PREFIX + rule.name)


def forget_rules(names: Collection[str]) -> None:
    """Clears what rules raised that are no more among `names`."""
    Breach.objects.exclude(rule__in=names).delete()
    stray = Alert.objects.filter(code__startswith=PREFIX, cleared_at=None).exclude(
        code__in=[PREFIX + name for name in names]
    )
    for alert in stray:
        clear_alert(alert.code, subject_type=alert.subject_type, subject_id=alert.subject_id)


def _open(code: str) -> set[int]:
    rows = Alert.objects.filter(code=code, cleared_at=None).values_list("subject_id", flat=True)
    return {int(subject) for subject in rows}

"""How long readings have been beyond the limits of rules; the only writer of Breach rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from controlplane.alerts.models import Alert, Breach, Severity
from controlplane.alerts.service import clear_alert, raise_alert
from controlplane.base import clock
from controlplane.policy.document import AlertRule

PREFIX = "rule:"


def note_breaches(
    rule: AlertRule, *, subject_type: str, beyond: Mapping[int, Mapping[str, Any]], back: Collection[int]
) -> int:
    """Judges one look: `beyond` says of each subject past the limit what the alert shall say, `back` who is past
    `clear` or none of the rule's business any more. Returns the alerts raised. Who is neither keeps an open alert, but
    its time begins anew.
    """
    now, code = clock.now(), PREFIX + rule.name
    with transaction.atomic():
        known = Breach.objects.filter(rule=rule.name)
        known.exclude(subject_type=subject_type, subject_id__in=list(beyond)).delete()
        fresh = [
            Breach(rule=rule.name, subject_type=subject_type, subject_id=subject, since=now)
            for subject in beyond
        ]
        Breach.objects.bulk_create(fresh, ignore_conflicts=True)
        # A twin with other readings may have removed a row just now: then its time begins now.
        since = dict(known.values_list("subject_id", "since"))
        limit = timedelta(seconds=rule.for_s)
        due = {subject for subject in beyond if now - since.get(subject, now) >= limit}
        raised = due - open_subjects(rule, subject_type)
        for subject in sorted(raised):
            raise_alert(
                code, Severity(rule.severity.value), subject_type=subject_type, subject_id=subject,
                details={**beyond[subject], "rule": rule.name, "metric": rule.metric.value},
            )  # fmt: skip
        for subject in back:
            clear_alert(code, subject_type=subject_type, subject_id=subject)
        # The rule had a metric of something else before.
        _clear(Alert.objects.filter(code=code).exclude(subject_type=subject_type))
    return len(raised)


def open_subjects(rule: AlertRule, subject_type: str) -> set[int]:
    """The subjects of which this rule has an open alert."""
    alerts = Alert.objects.filter(code=PREFIX + rule.name, subject_type=subject_type, cleared_at=None)
    return {int(subject) for subject in alerts.values_list("subject_id", flat=True)}


def forget_rules(names: Collection[str]) -> None:
    """Clears what rules raised that are no more among `names`."""
    Breach.objects.exclude(rule__in=names).delete()
    codes = [PREFIX + name for name in names]
    _clear(Alert.objects.filter(code__startswith=PREFIX).exclude(code__in=codes))


def _clear(alerts: QuerySet[Alert]) -> None:
    for alert in alerts.filter(cleared_at=None):
        clear_alert(alert.code, subject_type=alert.subject_type, subject_id=alert.subject_id)
